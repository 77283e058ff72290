"""Where the workers of a trial run that is divided among several: here, or wherever somebody else has them run."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol

from dbdyno.model.events.reading import Heard
from dbdyno.runtime.worker import JsonObject, Worker

# Between saying when a phase starts and its start: time enough for every process of this machine to hear of it.
_NOTICE_NS = 20_000_000


class Coordinated(Protocol):
    """A worker that is told when its phases begin. Iterate for its events; it is gone when the iteration has ended."""

    timed_out: bool
    """Whether it did not end in time."""

    def __iter__(self) -> Iterator[Heard]:
        """Give the events as they come. Raises WorkerFailed."""

    def send(self, line: str) -> None:
        """Write it a line."""

    def stop(self) -> None:
        """Ask it to end its window now."""

    def kill(self) -> None:
        """End it at once."""


class Place(Protocol):
    """Where workers run."""

    def worker(self, number: int, plan: JsonObject, timeout_s: float | None, padding: int) -> Coordinated:
        """Start the worker of a number on its plan; the rest is as for :class:`dbdyno.runtime.worker.Worker`.

        Raises WorkerFailed.
        """

    def moments(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Give one moment, soon, at which a phase is to begin for all of these workers: by the clock that each goes by.

        Nanoseconds of a monotonic clock, by the worker's number. One that is not there any more is left out.
        """


class Here:
    """On one machine with us, whose processes go by one clock."""

    def __init__(self, under: Callable[[int], Sequence[str]] = lambda _: ()) -> None:
        """``under``: gives the program that runs the worker of a number, as for ``Worker``."""
        self._under = under

    def worker(self, number: int, plan: JsonObject, timeout_s: float | None, padding: int) -> Worker:
        """Start a child of this process."""
        return Worker(plan, timeout_s, padding, self._under(number), coordinated=True)

    def moments(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Give the same moment to all."""
        return dict.fromkeys(numbers, time.monotonic_ns() + _NOTICE_NS)
