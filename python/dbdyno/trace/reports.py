"""Write the reports of a proxy, or of another observer of statements, to a journal that becomes a trace.

An observer is another process or a library in one (``crates/reports`` has its lines). It reports statements with their
values through a pipe or socket, so that only fingerprints and hashes get to the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, ParamSpec

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.trace.bound_values import UNKNOWN_PARAMETER, UnreadBytes
from dbdyno.trace.header import Header
from dbdyno.trace.journal import SUFFIX, journal_of, read_journal
from dbdyno.trace.journal_writer import JournalWriter
from dbdyno.trace.parquet import TraceWriter
from dbdyno.trace.recorded import Recorded
from dbdyno.trace.values import key_path, known_key, write_key

INTERVAL_S = 0.25
"""Reports are written this often."""

QUEUE_BYTES = 64 << 20
"""Memory for reports that wait to be written."""

# Statements of one member of the journal.
_MEMBER = 20_000

_Told = ParamSpec("_Told")


@dataclass
class Observer(Generic[_Told]):
    """Functions that a recording calls when it has started, and for each problem."""

    started: Callable[_Told, object]
    problem: Callable[[str], None]


class ReportRecorder:
    """Writes the reports of one observer to a journal, at least once per second.

    ``process``: its name in the journal, which numbers sessions per process. ``problem``: called with a problem that
    the user should see.
    """

    def __init__(self, writer: JournalWriter, process: str, problem: Callable[[str], None]) -> None:
        self._writer = writer
        self._process = process
        self._problem = problem
        self._statements: dict[int, tuple[str, Sequence[str], Sequence[int]]] = {}
        self._batch: list[Recorded] = []
        self.dropped = 0
        """Statements that were dropped since the last write."""
        self._written = time.monotonic()
        self.failure = ""
        """Why statements couldn't be written; empty if all were."""

    def take(self, report: list[Any] | None) -> None:
        """Take a report; ``None``: the observer has nothing to report."""
        match report:
            case [str(kind), *rest]:
                self._note(kind, rest)
            case [session, text, start, duration, rows, error, size, parameters, is_open, once]:
                is_shared = isinstance(text, int)
                known, names, types = self._statements.get(text, (None, (), ())) if is_shared else (text, (), ())
                values = None if parameters is None else [_parameter(each) for each in parameters]
                bound = dict(zip(names, values, strict=False)) if names and values is not None else values
                made = Recorded(session, known, bound, start, duration, rows, error, size, is_open, once, types)
                self._batch.append(made)
        if len(self._batch) >= _MEMBER or time.monotonic() - self._written >= INTERVAL_S:
            self.flush()

    def _note(self, kind: str, rest: list[Any]) -> None:
        match kind, rest:
            case "text", [number, text, names, types]:
                self._statements[number] = (text, names, types)
            case "forget", []:
                self._statements.clear()
            case "dropped", [count]:
                self.dropped += count
            case "problem", [problem]:
                self._problem(problem)

    def flush(self) -> None:
        """Write what waits. If that fails, it is dropped and counted."""
        self._written = time.monotonic()
        if not self._batch and not self.dropped:
            return
        self._batch.sort(key=lambda each: each.start_ns)
        batch, self._batch = self._batch, []
        dropped, self.dropped = self.dropped, 0
        try:
            self._writer.write(batch, dropped, self._process)
        except OSError as error:
            if not self.failure:
                self._problem(f"statements can't be written, and are dropped: {reason(error)}")
            self.failure = reason(error)
            self.dropped += dropped + len(batch)


@dataclass
class OpenRecording:
    """A recording in progress. ``recorders``: of running observers; ``dropped``, ``failure``: of ended ones.

    ``header``: of the trace, when the recording has ended; ``None`` if it contains no statement.
    """

    journal: Path
    recorders: list[ReportRecorder] = field(default_factory=list)
    dropped: int = 0
    failure: str = ""
    header: Header | None = None

    def add(self, recorder: ReportRecorder) -> ReportRecorder:
        """Add the recorder of an observer."""
        self.recorders.append(recorder)
        return recorder

    def end(self, recorder: ReportRecorder) -> None:
        """Write what an observer has reported, which has ended."""
        recorder.flush()
        self.dropped += recorder.dropped
        self.failure = self.failure or recorder.failure
        self.recorders.remove(recorder)


@contextmanager
def open_recording(output: Path) -> Iterator[OpenRecording]:
    """Create a journal, which becomes the trace ``output`` at the end, even on failure.

    Raises InputError, and SystemFailed if statements couldn't be written.
    """
    made = OpenRecording(journal_of(output))
    _create(made.journal)
    try:
        yield made
    finally:
        for each in list(made.recorders):
            made.end(each)
        if made.journal.stat().st_size:
            made.header = _converted(made.journal, output, made.dropped)
        made.journal.unlink()
    if made.failure:
        written, dropped = (0, made.dropped) if made.header is None else (made.header.statements, made.header.dropped)
        raise SystemFailed(f"{output}: {written:,} of {written + dropped:,} statements were recorded: {made.failure}")


def _converted(journal: Path, output: Path, dropped: int) -> Header:
    try:
        return convert(journal, output, dropped)
    except InputError as error:
        hint = f"free some space, and then run `dbdyno trace convert {journal} -o {output}`"
        raise InputError(error.location, error.problem, hint) from error


def _create(journal: Path) -> None:
    try:
        os.close(os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        hint = "convert it with `dbdyno trace convert`, or remove it"
        raise InputError(str(journal), "a recording that has not ended, or was killed", hint) from None
    except OSError as error:
        hint = "give a file in an existing, writable directory"
        raise InputError(str(journal), reason(error), hint) from error


def convert(journal: Path, output: Path, dropped: int = 0) -> Header:
    """Write a journal as a trace in Parquet, in bounded memory. Raises InputError, ExtraMissing.

    ``dropped``: dropped statements that the journal doesn't know.
    """
    header, texts, batches = read_journal(journal)
    header.dropped += dropped
    with TraceWriter(output, header) as writer:
        for batch in batches:
            writer.add_batch(batch, texts)
    return header


@contextmanager
def without_unused_key(output: Path) -> Iterator[None]:
    """Remove the key of the trace ``output`` at the end, if it is new and unused."""
    key = key_path(output)
    is_new = not key.exists()
    try:
        yield
    finally:
        # A journal that couldn't be converted has hashes, too.
        has_hashes = journal_of(output).exists() or (output.exists() and output.stat().st_size > 0)
        if is_new and not has_hashes:
            key.unlink(missing_ok=True)


def copy_key(journal: Path, output: Path) -> None:
    """Copy the key of a journal's hashes for the trace ``output``. Raises InputError if that has another key."""
    # A recording that was killed has left the key of the trace that it would have become.
    traces = (journal, journal.with_suffix("")) if journal.suffix == SUFFIX else (journal,)
    key = next((found for each in traces if (found := known_key(each)) is not None), None)
    if key is None or known_key(output) == key:
        return
    try:
        write_key(output, key)
    except FileExistsError:
        problem = "the key of another trace"
        raise InputError(str(key_path(output)), problem, "remove it, or give another name for the trace") from None
    except OSError as error:
        raise InputError(str(key_path(output)), reason(error), "write the trace to a writable directory") from error


def _parameter(value: Any) -> Any:
    """Return the value of a parameter as it was reported."""
    match value:
        case {"real": text}:
            return float(text)
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"binary": digits}:
            return UnreadBytes.fromhex(digits)
        case {}:
            return UNKNOWN_PARAMETER
    return value
