"""Record statements within an application's process: a queue, and a thread that writes a journal.

Only the standard library is imported before the first statement. Recording never raises an exception into the
application, and never waits: if the thread can't keep up, statements are dropped and counted.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import secrets
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno.trace.recorded import Recorded

_MOST_WAITING = 50_000
_INTERVAL_S = 0.5
# Statements of one member of the journal.
_MEMBER = 20_000

_sessions = itertools.count(1)
_recorders: dict[Path, Recorder] = {}
_lock = threading.Lock()


class Recorder:
    """Writes the journal of a process. ``engine``: the name of a database, such as `postgresql`."""

    def __init__(self, path: Path, engine: str, *, keep: bool) -> None:
        self._path = path
        self._engine = engine
        self._keep = keep
        self._waiting: deque[Recorded] = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._writing = threading.Lock()
        self._writer: Any = None
        self._process = ""
        # Errors of the path are the developer's to see; later ones are not.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        self._begin()

    def _begin(self) -> None:
        self._process = f"{os.getpid()}-{secrets.token_hex(4)}"
        threading.Thread(target=self._run, name="dbdyno-trace", daemon=True).start()

    def after_fork(self) -> None:
        """Go on in a child process, whose threads are gone. The parent writes what waited."""
        self._waiting = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._writing = threading.Lock()
        self._begin()

    def record(self, recorded: Recorded) -> None:
        """Hand over an execution."""
        if len(self._waiting) >= _MOST_WAITING:
            self._dropped += 1
        else:
            self._waiting.append(recorded)

    def _run(self) -> None:
        wake = self._wake
        while not wake.wait(_INTERVAL_S):
            self.flush()

    def flush(self) -> None:
        """Write what waits. If that fails, it is dropped and counted."""
        with self._writing:
            while self._waiting or self._dropped:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MEMBER))]
                dropped, self._dropped = self._dropped, 0
                try:
                    self._write(batch, dropped)
                except Exception:
                    self._dropped += dropped + len(batch)
                    return

    def _write(self, batch: Sequence[Recorded], dropped: int) -> None:
        if self._writer is None:
            from dbdyno.trace.journal_writer import JournalWriter

            self._writer = JournalWriter(self._path, self._engine, keep=self._keep)
        # Statements whose rows were read slowly were handed over late.
        self._writer.write(sorted(batch, key=lambda each: each.start_ns), dropped, self._process)


def recorder(path: str | os.PathLike[str], engine: str, *, keep: bool) -> Recorder:
    """Return the recorder of a journal, one per process. Raises OSError if the file can't be written."""
    place = Path(path).absolute()
    with _lock:
        found = _recorders.get(place)
        if found is None:
            found = _recorders[place] = Recorder(place, engine, keep=keep)
        return found


def new_session() -> int:
    """Return a number for a connection."""
    return next(_sessions)


def flush() -> None:
    """Write all that waits, for example before a process is replaced. It is done when a process ends."""
    for each in list(_recorders.values()):
        each.flush()


def _after_fork() -> None:
    for each in _recorders.values():
        with contextlib.suppress(Exception):
            each.after_fork()


atexit.register(flush)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
