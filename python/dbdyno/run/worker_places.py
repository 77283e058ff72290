"""The places of a trial's workers: this machine, or load machines."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import Worker

# Lead time of a phase, enough for every process of this machine to receive it.
_NOTICE_NS = 20_000_000


class Coordinated(Protocol):
    """A worker whose phases start at given times. Iterate over its events; the worker ends with the iteration."""

    timed_out: bool
    """Whether it exceeded its time limit."""

    def __iter__(self) -> Iterator[ReceivedEvent]:
        """Yield the events. Raises WorkerFailed."""

    def send(self, line: str) -> None:
        """Send it a line."""

    def stop(self) -> None:
        """Ask it to end its window now."""

    def kill(self) -> None:
        """Kill it."""


class WorkerHost(Protocol):
    """A place where workers run."""

    def worker(self, number: int, plan: WorkerPlan[Any], timeout_s: float | None, padding: int) -> Coordinated:
        """Start worker ``number``. For the other parameters see :class:`dbdyno.runtime.worker.Worker`.

        Raises WorkerFailed.
        """

    def moments(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Return a common start time of a phase in the near future, by each worker's clock.

        In nanoseconds of a monotonic clock, by worker number. Workers that have ended are left out.
        """


class Here:
    """The local machine, whose processes share one clock."""

    def __init__(self, under: Callable[[int], Sequence[str]] = lambda _: ()) -> None:
        """``under``: see :class:`dbdyno.runtime.worker.Worker`."""
        self._under = under

    def worker(self, number: int, plan: WorkerPlan[Any], timeout_s: float | None, padding: int) -> Worker:
        """Start a child of this process."""
        return Worker(plan, timeout_s, padding, self._under(number), coordinated=True)

    def moments(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Return the same time for all workers."""
        return dict.fromkeys(numbers, time.monotonic_ns() + _NOTICE_NS)
