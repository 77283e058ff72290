"""A queue of jobs in PostgreSQL with procrastinate: `procrastinate_queue.py prepare|run "host=… port=… dbname=…"`."""

import asyncio
import sys
import time

import procrastinate

command, conninfo = sys.argv[1:]
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=conninfo))


@app.task(queue="mails")
async def send(number: int) -> int:
    await asyncio.sleep(0.002)
    return number


async def run() -> None:
    async with app.open_async():
        if command == "prepare":
            await app.schema_manager.apply_schema_async()
            return
        worker = asyncio.create_task(
            app.run_worker_async(queues=["mails"], concurrency=3, install_signal_handlers=False)
        )
        end, number = time.monotonic() + 15, 0
        while time.monotonic() < end:
            await send.defer_async(number=number)
            await asyncio.sleep(0.01)
            number += 1
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        print("transactions:", number)


asyncio.run(run())
