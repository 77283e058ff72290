"""Record the statements of SQLAlchemy and Django, by their own interfaces for such hooks."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from importlib import import_module
from time import perf_counter_ns, time_ns
from typing import Any

from dbdyno.trace.recorded import Recorded, error_of
from dbdyno.trace.recorder import Recorder, new_session

_KEY = "dbdyno.trace"

# Drivers that bind parameters, by SQLAlchemy's names: whether they prepare a statement once. Others send literals.
_PREPARING = {
    "aiosqlite": True, "asyncpg": True, "pg8000": False, "psycopg": True, "psycopg_async": True, "pysqlcipher": True,
    "pysqlite": True,
}  # fmt: skip


def _rows(cursor: Any) -> int | None:
    own = getattr(cursor, "cursor", cursor)
    if isinstance(own, sqlite3.Cursor) and own.description is not None:
        # SQLite counts the rows of a result while they are read.
        return None
    count = getattr(cursor, "rowcount", None)
    return count if isinstance(count, int) and count >= 0 else None


def _plain(text: str, parameters: Any) -> str:
    """Undo the doubled percent signs of drivers whose placeholders begin with one."""
    return text.replace("%%", "%") if parameters and "%%" in text else text


class SqlalchemyHook:
    """Listens to an engine of SQLAlchemy. A commit lasts until the connection is used, or returned, again."""

    def __init__(self, engine: Any, recorder: Recorder) -> None:
        from sqlalchemy import event

        self._recorder = recorder
        target = getattr(engine, "sync_engine", engine)
        for name in ("before_cursor_execute", "after_cursor_execute", "handle_error", "begin", "commit", "rollback"):
            event.listen(target, name, getattr(self, name))
        event.listen(target.pool, "reset", lambda _dbapi, record, _state: self._returned(record))
        event.listen(target.pool, "checkin", lambda _dbapi, record: self._returned(record))

    def before_cursor_execute(self, conn: Any, *_further: Any) -> None:
        """Begin a statement."""
        state = self._state(conn.info)
        state["begun"] = (time_ns(), perf_counter_ns())

    def after_cursor_execute(self, conn: Any, cursor: Any, sql: str, values: Any, _context: Any, many: bool) -> None:
        """Record a statement; of several executions with one call, each."""
        state = self._state(conn.info)
        begun = state.pop("begun", None)
        if begun is None:
            return
        duration = perf_counter_ns() - begun[1]
        if _in_transaction(conn) and not state.get("open"):
            # The driver has begun it before the statement.
            state["open"] = True
            self._recorder.record(Recorded(state["session"], "begin", None, begun[0], 0))
        executions = list(values) if many else [values]
        share = duration // max(len(executions), 1)
        rows = None if many else _rows(cursor)
        for number, each in enumerate(executions):
            start = begun[0] + number * share
            text = _plain(sql, each)
            once = _PREPARING.get(conn.dialect.driver)
            self._recorder.record(Recorded(state["session"], text, each, start, share, rows, once=once))

    def handle_error(self, context: Any) -> None:
        """Record a statement that failed."""
        if context.connection is None or context.statement is None:
            return
        state = self._state(context.connection.info)
        start, begun = state.pop("begun", (time_ns(), perf_counter_ns()))
        code = error_of(context.original_exception)
        values = context.parameters
        text = _plain(context.statement, values)
        duration = perf_counter_ns() - begun
        once = _PREPARING.get(context.connection.dialect.driver)
        self._recorder.record(Recorded(state["session"], text, values, start, duration, None, code, once=once))

    def begin(self, conn: Any) -> None:
        """Record that a transaction begins, unless the driver knows itself when it does."""
        if _in_transaction(conn) is None:
            self._control(conn, "begin")

    def rollback(self, conn: Any) -> None:
        """Record a rollback."""
        self._control(conn, "rollback")

    def commit(self, conn: Any) -> None:
        """Begin a commit."""
        if _is_autocommit(conn) or _in_transaction(conn) is False:
            return
        state = self._state(conn.info)
        state["open"] = False
        state["commit"] = (time_ns(), perf_counter_ns())

    def _control(self, conn: Any, verb: str) -> None:
        if not _is_autocommit(conn) and _in_transaction(conn) is not False:
            state = self._state(conn.info)
            state["open"] = False
            self._recorder.record(Recorded(state["session"], verb, None, time_ns(), 0))

    def _returned(self, record: Any) -> None:
        if record is not None and _KEY in record.info:
            self._state(record.info)

    def _state(self, info: Any) -> Any:
        """Return the state of a connection, and record a commit that has ended."""
        state = info.get(_KEY)
        if state is None:
            state = info[_KEY] = {"session": new_session()}
        committed = state.pop("commit", None)
        if committed is not None:
            duration = perf_counter_ns() - committed[1]
            self._recorder.record(Recorded(state["session"], "commit", None, committed[0], duration))
        return state


def _is_autocommit(conn: Any) -> bool:
    return bool(conn.get_execution_options().get("isolation_level") == "AUTOCOMMIT")


def _in_transaction(conn: Any) -> bool | None:
    """Whether a transaction is open, from a driver that begins it with the first change; ``None``: from others."""
    found = getattr(getattr(conn.connection, "dbapi_connection", None), "in_transaction", None)
    return found if isinstance(found, bool) else None


class DjangoHook:
    """Wraps the statements of Django's connections, including connections opened later."""

    def __init__(self, make_recorder: Callable[[str], Recorder]) -> None:
        connections = import_module("django.db").connections
        connection_created = import_module("django.db.backends.signals").connection_created
        self._make_recorder = make_recorder
        connection_created.connect(self._created, weak=False)
        for each in connections.all(initialized_only=True):
            self._created(connection=each)

    def _created(self, connection: Any, **_further: Any) -> None:
        wrappers = connection.execute_wrappers
        known = next((each for each in wrappers if isinstance(each, _DjangoConnection)), None)
        if known is not None:
            # It was closed and opened again, as after each request by default.
            known.begin_session()
        else:
            recorder = self._make_recorder(connection.vendor)
            wrappers.append(_DjangoConnection(connection, recorder))


# `%%`, `%s` and `%(name)s`: Django replaces them if a statement has parameters.
_PERCENT = re.compile(r"%(?:%|s|\((\w+)\)s)")


def _with_marks(found: re.Match[str]) -> str:
    if found[0] == "%%":
        return "%"
    return "?" if found[1] is None else f":{found[1]}"


class _DjangoConnection:
    def __init__(self, connection: Any, recorder: Recorder) -> None:
        self._connection = connection
        self._recorder = recorder
        self._session = new_session()
        self._is_open = False
        # Drivers of servers write parameters into the text, unless `server_side_binding` is set.
        binds = connection.settings_dict.get("OPTIONS", {}).get("server_side_binding")
        self._has_marks = connection.Database.paramstyle == "qmark"
        self._once = True if self._has_marks else False if binds else None
        connection._commit = self._wrapped("commit", connection._commit)
        connection._rollback = self._wrapped("rollback", connection._rollback)

    def begin_session(self) -> None:
        """Record what follows as a session of its own."""
        self._session, self._is_open = new_session(), False

    def _wrapped(self, verb: str, original: Callable[[], Any]) -> Callable[[], Any]:
        def end() -> Any:
            start, begun = time_ns(), perf_counter_ns()
            try:
                return original()
            finally:
                if self._is_open:
                    self._is_open = False
                    self._add(verb, None, start, perf_counter_ns() - begun)

        return end

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        text = str(sql)
        start, begun = time_ns(), perf_counter_ns()
        if text[:5].lower() == "begin":
            self._is_open = True
        elif not self._is_open and self._connection.in_atomic_block:
            self._is_open = True
            self._add("begin", None, start, 0)
        try:
            result = execute(sql, params, many, context)
        except BaseException as error:
            duration = perf_counter_ns() - begun
            self._add(self._sent(text, params), params, start, duration, error=error_of(_cause(error)))
            raise
        executions = list(params) if many and isinstance(params, list | tuple) else [params]
        share = (perf_counter_ns() - begun) // max(len(executions), 1)
        rows = None if many else _rows(context.get("cursor"))
        for each in executions:
            self._add(self._sent(text, each), each, start, share, rows=rows)
        return result

    def _sent(self, text: str, parameters: Any) -> str:
        """Return the text as the driver gets it, with `?`. For other drivers, undo doubled percent signs."""
        if parameters is None or not self._has_marks:
            return _plain(text, parameters)
        return _PERCENT.sub(_with_marks, text)

    def _add(
        self, text: str, parameters: Any, start: int, duration: int, rows: int | None = None, error: str | None = None
    ) -> None:
        once = None if text in ("begin", "commit", "rollback") else self._once
        self._recorder.record(Recorded(self._session, text, parameters, start, duration, rows, error, once=once))


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ or error
