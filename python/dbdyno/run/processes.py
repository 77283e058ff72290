"""A trial whose clients are processes of their own: a worker for each, which begin and end each phase together."""

from collections.abc import Iterator
from typing import Any

from dbdyno.results.merging import merge_intervals, merge_results
from dbdyno.run.coordinated import CoordinatedWorkers
from dbdyno.worker import Event, WorkerFailed


class Processes:
    """The workers of a trial, used like one: iterate for their events, put together; they are gone at its end."""

    def __init__(self, plan: Event, timeout_s: float | None = None, padding: int = 0) -> None:
        """Start a worker for each client of a trial's plan. The rest is as for :class:`dbdyno.worker.Worker`."""
        plans = parts(plan)
        self._number = len(plans)
        self._coordinated = CoordinatedWorkers(plans, timeout_s, [padding] * len(plans))
        #: What each of them said, as it was said: its ``result`` and its ``intervals``.
        self.said: list[dict[str, Any]] = [{"result": None, "intervals": []} for _ in plans]

    @property
    def timed_out(self) -> bool:
        """Whether one did not end in time."""
        return any(self._coordinated.timed_out(number) for number in range(self._number))

    def stop(self) -> None:
        """Ask all to end their windows now."""
        self._coordinated.stop()

    def kill(self) -> None:
        """End all at once."""
        self._coordinated.kill()

    def __iter__(self) -> Iterator[Event]:
        """Give ``phase``, ``interval`` and ``result`` as one worker does. Raises WorkerFailed as the first of them."""
        intervals: dict[int, dict[int, Event]] = {}
        results: dict[int, Event] = {}
        failure: WorkerFailed | None = None
        for number, event in self._coordinated:
            if isinstance(event, WorkerFailed):
                # The others would be found to have measured something else.
                failure = failure or event
                self.kill()
            elif number is None:
                yield event
            elif event["event"] == "interval":
                self.said[number]["intervals"].append(event)
                intervals.setdefault(event["index"], {})[number] = event
            elif event["event"] == "result":
                self.said[number]["result"] = results[number] = event
            yield from self._whole(intervals, self._coordinated.at_work - results.keys())
        yield from self._whole(intervals, set())
        if failure is not None:
            raise failure
        yield merge_results([results[number] for number in sorted(results)])

    def _whole(self, intervals: dict[int, dict[int, Event]], awaited: set[int]) -> Iterator[Event]:
        """Put together the intervals that all of those have told of who are still to be heard."""
        for index in sorted(intervals):
            if awaited <= intervals[index].keys():
                yield merge_intervals(list(intervals.pop(index).values()))


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
