"""A trial whose clients are distributed over several workers, which start and end each phase together."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from dbdyno.analysis.measured.merged_results import merge_intervals, merge_results
from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.plan.tasks import Part, without_analysis
from dbdyno.model.plan.worker_plan import TrialPlan
from dbdyno.run.coordinated_workers import CoordinatedWorkers
from dbdyno.run.worker_places import WorkerHost
from dbdyno.runtime.worker import WorkerFailed


class Processes:
    """The workers of a trial, used like one worker. Iterate over the merged events; the workers end with it."""

    def __init__(
        self,
        plan: TrialPlan,
        sizes: Sequence[int],
        *,
        timeout_s: float | None = None,
        padding: int = 0,
        host: WorkerHost | None = None,
        tell: Callable[[int, Interval], None] | None = None,
    ) -> None:
        """Start workers, each for a part of the plan's clients (``sizes``), at a ``host``, by default this machine.

        ``tell``: is called with each worker's number and intervals. Raises WorkerFailed if a worker cannot be started
        elsewhere.
        """
        plans = parts(plan, sizes)
        self._number = len(plans)
        self._tell = tell
        self._coordinated = CoordinatedWorkers(plans, timeout_s, [padding] * len(plans), host)
        #: Results and intervals of each worker, unchanged.
        self.outputs: list[dict[str, Any]] = [{"result": None, "intervals": []} for _ in plans]

    @property
    def timed_out(self) -> bool:
        """Whether a worker exceeded its time limit."""
        return any(self._coordinated.timed_out(number) for number in range(self._number))

    def stop(self) -> None:
        """Ask all workers to end their windows now."""
        self._coordinated.stop()

    def kill(self) -> None:
        """Kill all workers."""
        self._coordinated.kill()

    def __iter__(self) -> Iterator[ReceivedEvent]:
        """Yield ``phase``, ``interval`` and ``result`` like a single worker. Raises WorkerFailed if one fails."""
        intervals: dict[int, dict[int, Interval]] = {}
        results: dict[int, TrialResult] = {}
        failure: WorkerFailed | None = None
        for number, received in self._coordinated:
            if isinstance(received, WorkerFailed):
                # Without this worker, the others would measure a different load.
                failure = failure or received
                self.kill()
            elif number is None:
                yield received
            elif isinstance(received.event, Interval):
                self.outputs[number]["intervals"].append(received.raw)
                if self._tell is not None:
                    self._tell(number, received.event)
                intervals.setdefault(received.event.index, {})[number] = received.event
            elif isinstance(received.event, TrialResult):
                self.outputs[number]["result"] = received.raw
                results[number] = received.event
            yield from self._whole(intervals, self._coordinated.at_work - results.keys())
        yield from self._whole(intervals, set())
        if failure is not None:
            raise failure
        yield _as_heard(merge_results([results[number] for number in sorted(results)]))

    def _whole(self, intervals: dict[int, dict[int, Interval]], awaited: set[int]) -> Iterator[ReceivedEvent]:
        """Merge the intervals that all running workers have reported."""
        for index in sorted(intervals):
            if awaited <= intervals[index].keys():
                yield _as_heard(merge_intervals(list(intervals.pop(index).values())))


def _as_heard(event: Interval | TrialResult) -> ReceivedEvent:
    return ReceivedEvent(event, event.model_dump(mode="json"))


def parts(plan: TrialPlan, sizes: Sequence[int]) -> list[TrialPlan]:
    """Return the plans of a trial's workers, each with a part of the clients."""
    task = plan.task
    # Only one worker samples the server's sessions and reads estimates: the results are the same for all.
    record, statements = replace(task.record, waits=False), without_analysis(task.statements)
    other = replace(task, record=record, statements=statements)
    return [
        plan.with_task(
            replace(other if number else task, clients=size, part=Part(first=sum(sizes[:number]), of=sum(sizes)))
        )
        for number, size in enumerate(sizes)
    ]
