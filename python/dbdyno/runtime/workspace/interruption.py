"""Handle Ctrl-C and SIGTERM during a run."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from dbdyno.base.errors import RunInterrupted


class Stoppable(Protocol):
    """Something that can be stopped: a worker, or several."""

    def stop(self) -> None:
        """Ask it to end now and report its results."""

    def kill(self) -> None:
        """Kill it."""


class KillOnStop:
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


class Interruption:
    """Handles Ctrl-C and SIGTERM during a run: the first signal stops the trial, the second kills it."""

    def __init__(self) -> None:
        """Create it without any signal received."""
        self.signals = 0
        self.worker: Stoppable | None = None

    def __bool__(self) -> bool:
        """Whether a signal has been received."""
        return self.signals > 0

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        self.signals += 1
        if self.worker is not None:
            if self.signals == 1:
                self.worker.stop()
            else:
                self.worker.kill()

    def check(self) -> None:
        """Raise RunInterrupted if a signal has been received."""
        if self:
            raise RunInterrupted("the run was interrupted")

    @contextlib.contextmanager
    def forward_to(self, worker: Stoppable) -> Iterator[None]:
        """Stop or kill ``worker`` on a signal while the context lasts, including a signal received before."""
        self.worker = worker
        try:
            if self:
                worker.stop()
            yield
        finally:
            self.worker = None

    @contextlib.contextmanager
    def handle_signals(self) -> Iterator["Interruption"]:
        """Install the signal handlers while the context lasts; does nothing outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self.handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
