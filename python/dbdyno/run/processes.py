"""A trial whose clients are processes of their own: a worker for each, which begin and end each phase together."""

import json
import queue
import threading
import time
from collections.abc import Iterator

from dbdyno.results.merging import merge_intervals, merge_results
from dbdyno.worker import Event, Worker, WorkerFailed

# Between saying when a phase starts and its start: time enough for every process to hear of it.
_NOTICE_S = 0.02


class Processes:
    """The workers of a trial, used like one: iterate for their events, put together; they are gone at its end."""

    def __init__(self, plan: Event, timeout_s: float | None = None, padding: int = 0) -> None:
        """Start a worker for each client of a trial's plan. The rest is as for :class:`dbdyno.worker.Worker`."""
        self._workers: list[Worker] = []
        try:
            for each in parts(plan):
                self._workers.append(Worker(each, timeout_s, padding, led=True))
        except BaseException:
            self.kill()
            raise

    @property
    def timed_out(self) -> bool:
        """Whether one did not end in time."""
        return any(worker.timed_out for worker in self._workers)

    def stop(self) -> None:
        """Ask all to end their windows now."""
        for worker in self._workers:
            worker.stop()

    def kill(self) -> None:
        """End all at once."""
        for worker in self._workers:
            worker.kill()

    def __iter__(self) -> Iterator[Event]:
        """Give ``phase``, ``interval`` and ``result`` as one worker does. Raises WorkerFailed as the first of them."""
        heard: queue.Queue[tuple[int, Event | WorkerFailed | None]] = queue.Queue()
        listeners = [
            threading.Thread(target=_listen, args=(number, worker, heard), daemon=True)
            for number, worker in enumerate(self._workers)
        ]
        for listener in listeners:
            listener.start()
        try:
            yield from self._events(heard)
        finally:
            self.kill()
            for listener in listeners:
                listener.join()

    def _events(self, heard: "queue.Queue[tuple[int, Event | WorkerFailed | None]]") -> Iterator[Event]:
        at_work = set(range(len(self._workers)))
        ready: dict[str, int] = {}
        intervals: dict[int, dict[int, Event]] = {}
        results: dict[int, Event] = {}
        failure: WorkerFailed | None = None
        while at_work:
            number, event = heard.get()
            if event is None:
                at_work.discard(number)
            elif isinstance(event, WorkerFailed):
                # The others wait for one that is gone, or will be found to have measured something else.
                failure = failure or event
                at_work.discard(number)
                self.kill()
            elif event["event"] == "ready":
                phase = event["phase"]
                ready[phase] = ready.get(phase, 0) + 1
                if ready[phase] == len(self._workers):
                    yield {"event": "phase", "phase": phase}
                    self._start()
            elif event["event"] == "interval":
                intervals.setdefault(event["index"], {})[number] = event
            elif event["event"] == "result":
                results[number] = event
            for index in sorted(intervals):
                if at_work - results.keys() <= intervals[index].keys():
                    yield merge_intervals(list(intervals.pop(index).values()))
        if failure is not None:
            raise failure
        yield merge_results([results[number] for number in sorted(results)])

    def _start(self) -> None:
        at = time.monotonic_ns() + int(_NOTICE_S * 1e9)
        for worker in self._workers:
            worker.tell(json.dumps({"start_ns": at}))


def parts(plan: Event) -> list[Event]:
    """Return the plans of a trial's processes, each with one of its clients."""
    task = plan["task"]
    clients = task["clients"]
    first_only = task["record"] | {"waits": False}
    return [
        plan
        | {
            "task": task
            | {
                "clients": 1,
                "part": {"first": number, "of": clients},
                # What the server's sessions wait for is the same whoever looks, and each look costs.
                "record": first_only if number else task["record"],
            }
        }
        for number in range(clients)
    ]


def _listen(number: int, worker: Worker, heard: "queue.Queue[tuple[int, Event | WorkerFailed | None]]") -> None:
    try:
        for event in worker:
            heard.put((number, event))
        heard.put((number, None))
    except WorkerFailed as failure:
        heard.put((number, failure))
    except BaseException as error:  # whatever it is, somebody waits for it
        heard.put((number, WorkerFailed(f"listening to a worker: {error}", "worker")))
        raise
