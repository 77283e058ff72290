"""Record the statements that a program sends to SQLite: run it with a library that reports them.

The library (``crates/sqlite-observer``) replaces SQLite's functions in the program, and in each program that it starts.
Each process connects to a socket in a private directory. A thread reads the reports into memory, so that processes
rarely wait or drop any.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.base.resources import library_path
from dbdyno.trace.header import Header
from dbdyno.trace.journal_writer import JournalWriter
from dbdyno.trace.reports import INTERVAL_S, QUEUE_BYTES, Observer, ReportRecorder, open_recording

SOURCE = "a program"

_READ = 1 << 20
_BACKLOG = 1024
_POLL_S = 0.05
# Processes that outlive the program may report without end.
_LAST_S = 2.0
# Characters that separate the paths in LD_PRELOAD.
_SEPARATORS = ": \t"
# Addresses of sockets have at most 107 bytes.
_PLACE = "/tmp"  # noqa: S108

# Names of SQLite's error codes. Extended codes have longer names.
_ERRORS = (
    "SQLITE_ABORT", "SQLITE_AUTH", "SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_CONSTRAINT", "SQLITE_CORRUPT",
    "SQLITE_EMPTY", "SQLITE_ERROR", "SQLITE_FORMAT", "SQLITE_FULL", "SQLITE_INTERNAL", "SQLITE_INTERRUPT",
    "SQLITE_IOERR", "SQLITE_LOCKED", "SQLITE_MISMATCH", "SQLITE_MISUSE", "SQLITE_NOLFS", "SQLITE_NOMEM",
    "SQLITE_NOTADB", "SQLITE_NOTFOUND", "SQLITE_PERM", "SQLITE_PROTOCOL", "SQLITE_RANGE", "SQLITE_READONLY",
    "SQLITE_SCHEMA", "SQLITE_TOOBIG",
)  # fmt: skip
_ERROR_NAMES = {str(value): name for name, value in vars(sqlite3).items() if name.startswith(_ERRORS)}
_ERROR_AT = 5


class _Reader(threading.Thread):
    """Reads what processes report, until :meth:`end` was called and they have nothing more."""

    def __init__(self, listener: socket.socket, room: int) -> None:
        super().__init__(name="dbdyno-reports", daemon=True)
        self._listener = listener
        self._room = room
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._ends_at: float | None = None
        self.has_ended = False

    def end(self) -> None:
        """End when nothing more is reported, or soon."""
        self._ends_at = time.monotonic() + _LAST_S

    def run(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ, 0)
            try:
                self._serve(ready)
            finally:
                for key in list(ready.get_map().values()):
                    if isinstance(key.fileobj, socket.socket):
                        key.fileobj.close()
                with self._changed:
                    self.has_ended = True
                    self._changed.notify_all()

    def _serve(self, ready: selectors.BaseSelector) -> None:
        processes = 0
        while self._ends_at is None or time.monotonic() < self._ends_at:
            events = ready.select(_POLL_S)
            if not events and self._ends_at is not None:
                return
            for key, _ in events:
                if key.fileobj is self._listener:
                    # Without a free file descriptor, processes wait until others have ended.
                    with contextlib.suppress(OSError):
                        process, _ = self._listener.accept()
                        processes += 1
                        ready.register(process, selectors.EVENT_READ, processes)
                elif isinstance(key.fileobj, socket.socket) and not self._read(key.fileobj, key.data):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()

    def _read(self, process: socket.socket, number: int) -> bool:
        try:
            data = process.recv(_READ)
        except OSError:
            data = b""
        with self._changed:
            # Processes then drop statements, and count them.
            self._changed.wait_for(lambda: self._bytes < self._room)
            self._bytes += len(data)
            self._waiting.append((number, data))
            self._changed.notify_all()
        return bool(data)

    def take(self, timeout_s: float) -> tuple[int, bytes] | None:
        """Return the number of a process and its bytes; empty if it has ended; ``None`` after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self.has_ended, timeout_s)
            if not self._waiting:
                return None
            number, data = self._waiting.popleft()
            self._bytes -= len(data)
            self._changed.notify_all()
            return number, data


class ObservedProgram:
    """A running program that reports its statements. ``directory``: a private one, for the socket."""

    def __init__(self, command: Sequence[str], directory: Path, room: int = QUEUE_BYTES) -> None:
        """Start it. Raises InputError if it can't be run, SystemFailed if the library is missing."""
        library = library_path("sqlite_observer")
        if library is None:
            raise SystemFailed("the library that programs preload is not installed with dbdyno: reinstall the package")
        if set(str(library)) & set(_SEPARATORS):
            library = Path(shutil.copyfile(library, directory / "observer.so"))
        listener = socket.socket(socket.AF_UNIX)
        path = str(directory / "socket")
        listener.bind(path)
        listener.listen(_BACKLOG)
        others = os.environ.get("LD_PRELOAD")
        environment = {"LD_PRELOAD": f"{library}:{others}" if others else str(library), "DBDYNO_STATEMENTS": path}
        try:
            self.process = subprocess.Popen(command, env={**os.environ, **environment})
        except OSError as error:
            listener.close()
            raise InputError(command[0], reason(error), "give a program that can be run") from error
        self._listener = listener
        self._room = room

    def reports(self) -> Iterator[tuple[int, list[Any] | None]]:
        """Yield what processes report until the program ends, with a process's number; ``None``: it has ended.

        The number 0 stands for a pause in all reports.
        """
        reader = _Reader(self._listener, self._room)
        reader.start()
        rests: dict[int, bytes] = {}
        while True:
            found = reader.take(INTERVAL_S / 4)
            if found is None:
                if reader.has_ended:
                    break
                if self.process.poll() is not None:
                    reader.end()
                yield 0, None
                continue
            number, data = found
            *lines, rests[number] = (rests.get(number, b"") + data).split(b"\n")
            for line in lines:
                report = json.loads(line)
                if isinstance(report[0], int) and report[_ERROR_AT] is not None:
                    report[_ERROR_AT] = _ERROR_NAMES.get(report[_ERROR_AT], report[_ERROR_AT])
                yield number, report
            if not data:
                del rests[number]
                yield number, None
        self._listener.close()


def record_program(
    command: Sequence[str], output: Path, observer: Observer[[]], *, keep: bool = False
) -> tuple[Header | None, int]:
    """Run a program, and write its statements as the trace ``output``.

    Returns the trace's header, ``None`` if the program sent no statement, and the program's exit code; negative if a
    signal ended it. Raises InputError, SystemFailed.
    """
    with open_recording(output) as made, tempfile.TemporaryDirectory(prefix="dbdyno-", dir=_PLACE) as directory:
        writer = JournalWriter(made.journal, "sqlite", keep=keep, source=SOURCE, trace=output)
        try:
            program = ObservedProgram(command, Path(directory))
        except OSError as error:
            raise SystemFailed(f"{directory}: {reason(error)}") from error
        observer.started()
        recorders: dict[int, ReportRecorder] = {}
        with _signals_passed_to(program.process):
            for number, report in program.reports():
                if number == 0:
                    for each in recorders.values():
                        each.take(None)
                elif report is None:
                    if number in recorders:
                        made.end(recorders.pop(number))
                else:
                    if number not in recorders:
                        process = f"{os.getpid()}-{number}"
                        recorders[number] = made.add(ReportRecorder(writer, process, observer.problem))
                    recorders[number].take(report)
    return made.header, program.process.wait()


@contextlib.contextmanager
def _signals_passed_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass SIGTERM on to a program. The terminal sends Ctrl-C to both, and the program decides."""

    def terminate(_signal: int, _frame: Any) -> None:
        process.terminate()

    def ignore(_signal: int, _frame: Any) -> None:
        pass

    handlers = {signal.SIGINT: ignore, signal.SIGTERM: terminate}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
