"""Record the statements of Python's sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from time import perf_counter_ns, time_ns
from typing import Any

from dbdyno.trace.recorded import Recorded, error_of
from dbdyno.trace.recorder import Recorder, new_session

# Rows of an iteration that are timed one by one; the others are taken to last as long.
_TIMED_ROWS = 128
_MOST_OF_MANY = 1000


class _Session:
    """The recording of one connection. The module keeps the statements that it prepares."""

    def __init__(self, recorder: Recorder, connection: sqlite3.Connection) -> None:
        self.recorder = recorder
        self.connection = connection
        self.number = new_session()

    def add(self, text: str, parameters: Any, start_ns: int, duration_ns: int, rows: int | None = None) -> None:
        once = None if parameters is None else True
        self.recorder.record(Recorded(self.number, text, parameters, start_ns, duration_ns, rows, once=once))

    def fail(self, text: str, parameters: Any, start_ns: int, duration_ns: int, error: BaseException) -> None:
        code = error_of(error)
        once = None if parameters is None else True
        self.recorder.record(Recorded(self.number, text, parameters, start_ns, duration_ns, None, code, once=once))


class _RecordingCursor(sqlite3.Cursor):
    """A cursor that records its statements when all their rows were read, or no more are."""

    _session: _Session | None = None
    _open: list[Any] | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> _RecordingCursor:
        session = self._session
        if session is None:
            super().execute(sql, parameters)
            return self
        self._finish()
        was_open, start, begun = session.connection.in_transaction, time_ns(), perf_counter_ns()
        try:
            super().execute(sql, parameters)
        except BaseException as error:
            duration = perf_counter_ns() - begun
            _begin(session, sql, start, was_open)
            session.fail(sql, parameters, start, duration, error)
            raise
        duration = perf_counter_ns() - begun
        _begin(session, sql, start, was_open)
        if self.description is None:
            session.add(sql, parameters, start, duration, max(self.rowcount, 0))
        else:
            self._open = [sql, parameters, start, duration, 0]
        return self

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> _RecordingCursor:
        session = self._session
        if session is None:
            super().executemany(sql, parameters)
            return self
        self._finish()
        kept: list[Any] = []
        count = 0

        def counted() -> Iterator[Any]:
            nonlocal count
            for each in parameters:
                count += 1
                if count <= _MOST_OF_MANY:
                    kept.append(each)
                yield each

        was_open, start, begun = session.connection.in_transaction, time_ns(), perf_counter_ns()
        try:
            super().executemany(sql, counted())
        except BaseException as error:
            duration = perf_counter_ns() - begun
            _begin(session, sql, start, was_open)
            session.fail(sql, kept[-1] if kept else None, start, duration, error)
            raise
        duration = perf_counter_ns() - begun
        _begin(session, sql, start, was_open)
        share = duration // max(count, 1)
        for number, each in enumerate(kept):
            session.add(sql, each, start + number * share, share, 1)
        return self

    def executescript(self, sql_script: str, /) -> _RecordingCursor:
        self._finish()
        start, begun = time_ns(), perf_counter_ns()
        super().executescript(sql_script)
        if self._session is not None:
            self._session.add(sql_script, None, start, perf_counter_ns() - begun)
        return self

    def fetchone(self) -> Any:
        begun = perf_counter_ns()
        row = super().fetchone()
        self._read(begun, 0 if row is None else 1, is_last=row is None)
        return row

    def fetchmany(self, size: int | None = None) -> list[Any]:
        begun = perf_counter_ns()
        wanted = self.arraysize if size is None else size
        rows = super().fetchmany(wanted)
        self._read(begun, len(rows), is_last=len(rows) < wanted)
        return rows

    def fetchall(self) -> list[Any]:
        begun = perf_counter_ns()
        rows = super().fetchall()
        self._read(begun, len(rows), is_last=True)
        return rows

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        rows = iter(super().fetchone, None)
        read = 0
        begun = perf_counter_ns()
        for row in islice(rows, _TIMED_ROWS):
            read += 1
            self._read(begun, 1, is_last=False)
            yield row
            begun = perf_counter_ns()
        known = self._open
        try:
            for row in rows:
                read += 1
                yield row
        finally:
            if known is not None and known is self._open and read > _TIMED_ROWS:
                known[3] += known[3] * (read - _TIMED_ROWS) // _TIMED_ROWS
                known[4] = read
            self._finish()

    def close(self) -> None:
        self._finish()
        super().close()

    def __del__(self) -> None:
        self._finish()

    def _read(self, begun: int, rows: int, *, is_last: bool) -> None:
        known = self._open
        if known is not None:
            known[3] += perf_counter_ns() - begun
            known[4] += rows
            if is_last:
                self._finish()

    def _finish(self) -> None:
        known, self._open = self._open, None
        if known is not None and self._session is not None:
            self._session.add(*known)


def _begin(session: _Session, sql: str, start_ns: int, was_open: bool) -> None:
    """Record the `begin` that the module sent before a statement that writes. ``was_open``: before the statement."""
    if was_open or not session.connection.in_transaction:
        return
    first = sql.split(maxsplit=1)[0].lower() if sql.strip() else ""
    if first not in ("begin", "savepoint"):
        session.add("begin", None, start_ns, 0)


_recording: dict[type[sqlite3.Cursor], type[_RecordingCursor]] = {sqlite3.Cursor: _RecordingCursor}


class RecordedConnection:
    """A connection whose statements are recorded. It has all attributes of the connection itself."""

    __slots__ = ("_connection", "_session")

    _connection: sqlite3.Connection
    _session: _Session

    def __init__(self, connection: sqlite3.Connection, recorder: Recorder) -> None:
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_session", _Session(recorder, connection))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._connection, name, value)

    def cursor(self, factory: type[sqlite3.Cursor] = sqlite3.Cursor) -> sqlite3.Cursor:
        """Return a cursor that records."""
        recording = _recording.get(factory)
        if recording is None:
            made = type(factory.__name__, (_RecordingCursor, factory), {})
            recording = _recording[factory] = made
        cursor = self._connection.cursor(recording)
        cursor._session = self._session
        return cursor

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement with a new cursor."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Execute a statement for several parameters with a new cursor."""
        return self.cursor().executemany(sql, parameters)

    def executescript(self, sql_script: str, /) -> sqlite3.Cursor:
        """Execute several statements with a new cursor."""
        return self.cursor().executescript(sql_script)

    def commit(self) -> None:
        """Commit the transaction."""
        self._end("commit")

    def rollback(self) -> None:
        """Roll the transaction back."""
        self._end("rollback")

    def _end(self, verb: str) -> None:
        session = self._session
        if not self._connection.in_transaction:
            getattr(self._connection, verb)()
            return
        start, begun = time_ns(), perf_counter_ns()
        try:
            getattr(self._connection, verb)()
        except BaseException as error:
            session.fail(verb, None, start, perf_counter_ns() - begun, error)
            raise
        session.add(verb, None, start, perf_counter_ns() - begun)

    def __enter__(self) -> RecordedConnection:
        self._connection.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()
