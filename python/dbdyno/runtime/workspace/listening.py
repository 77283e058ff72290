"""Ctrl-C and SIGTERM while a run goes on."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from dbdyno.base.errors import RunInterrupted


class AtWork(Protocol):
    """What can be asked to end: a worker, or several."""

    def stop(self) -> None:
        """Ask it to end now, and say what it measured."""

    def kill(self) -> None:
        """End it at once."""


class AtOnce:
    """What is of no use to anybody unfinished: when it is asked to end, it is ended."""

    def __init__(self, kill: Callable[[], None]) -> None:
        """``kill``: ends it at once."""
        self._kill = kill

    def stop(self) -> None:
        """End it at once."""
        self._kill()

    def kill(self) -> None:
        """End it at once."""
        self._kill()


class Interrupted:
    """Hears Ctrl-C and SIGTERM while a run goes on: the first asks the trial to end, the second kills it."""

    def __init__(self) -> None:
        """Nothing heard yet."""
        self.heard = 0
        self.worker: AtWork | None = None

    def __bool__(self) -> bool:
        """Whether one has been heard."""
        return self.heard > 0

    def hear(self, _signal: int, _frame: FrameType | None) -> None:
        """Pass it on to the worker."""
        self.heard += 1
        if self.worker is not None:
            if self.heard == 1:
                self.worker.stop()
            else:
                self.worker.kill()

    def check(self) -> None:
        """Raise RunInterrupted where one has been heard."""
        if self:
            raise RunInterrupted("the run was interrupted")

    @contextlib.contextmanager
    def passing_on_to(self, worker: AtWork) -> Iterator[None]:
        """Pass what is heard on to a worker for as long as the context lasts, and at once what has been heard."""
        self.worker = worker
        try:
            if self:
                worker.stop()
            yield
        finally:
            self.worker = None

    @contextlib.contextmanager
    def listening(self) -> Iterator["Interrupted"]:
        """Hear signals for as long as the context lasts; elsewhere than in the main thread, do nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self.hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
