"""Handle Ctrl-C and SIGTERM during a run."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from dbdyno.base.errors import RunInterrupted


class AtWork(Protocol):
    """Something that can be stopped: a worker, or several."""

    def stop(self) -> None:
        """Ask it to end now and report its results."""

    def kill(self) -> None:
        """Kill it."""


class AtOnce:
    """Something that is killed when it should stop, since its partial results are useless."""

    def __init__(self, kill: Callable[[], None]) -> None:
        """``kill``: called by :meth:`stop` and :meth:`kill`."""
        self._kill = kill

    def stop(self) -> None:
        """Kill it."""
        self._kill()

    def kill(self) -> None:
        """Kill it."""
        self._kill()


class Interrupted:
    """Handles Ctrl-C and SIGTERM during a run: the first signal stops the trial, the second kills it."""

    def __init__(self) -> None:
        """Create it without any signal received."""
        self.heard = 0
        self.worker: AtWork | None = None

    def __bool__(self) -> bool:
        """Whether a signal has been received."""
        return self.heard > 0

    def hear(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        self.heard += 1
        if self.worker is not None:
            if self.heard == 1:
                self.worker.stop()
            else:
                self.worker.kill()

    def check(self) -> None:
        """Raise RunInterrupted if a signal has been received."""
        if self:
            raise RunInterrupted("the run was interrupted")

    @contextlib.contextmanager
    def passing_on_to(self, worker: AtWork) -> Iterator[None]:
        """Stop or kill ``worker`` on a signal while the context lasts, including a signal received before."""
        self.worker = worker
        try:
            if self:
                worker.stop()
            yield
        finally:
            self.worker = None

    @contextlib.contextmanager
    def listening(self) -> Iterator["Interrupted"]:
        """Install the signal handlers while the context lasts; does nothing outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self.hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
