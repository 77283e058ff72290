"""A queue of tasks in SQLite with huey: `huey_queue.py prepare FILE` and `huey_queue.py run FILE`."""

import logging
import sys
import threading
import time

from huey import SqliteHuey

command, file = sys.argv[1:]
queue = SqliteHuey("bench", filename=file, fsync=True)


@queue.task()
def add(a: int, b: int) -> int:
    return a + b


if command == "run":
    logging.disable(logging.CRITICAL)
    consumer = queue.create_consumer(workers=2, initial_delay=0.005, backoff=1.1, max_delay=0.05, periodic=False)
    # Only a main thread may set handlers.
    consumer._set_signal_handlers = lambda: None
    worker = threading.Thread(target=consumer.start, daemon=True)
    worker.start()
    results = []
    end = time.monotonic() + 15
    while time.monotonic() < end:
        results.append(add(len(results), 1))
        time.sleep(0.015)
        if len(results) % 5 == 0:
            results[-5].get(blocking=True, timeout=10)
    consumer.stop()
    print("transactions:", len(results))
