"""Traces: statements recorded from an application, with sessions and times; recording, reading and summing them up.

An application records its own statements with one of these functions::

    import dbdyno.trace

    connection = dbdyno.trace.sqlite(sqlite3.connect("my.db"), "day.trace")
    dbdyno.trace.sqlalchemy(engine, "day.trace")
    dbdyno.trace.django("day.trace")  # in the `ready` method of an AppConfig

Values are recorded as keyed hashes, unless ``values="keep"``. Applications import this package, so it imports nothing
large by itself. What is made of a trace, such as a workload, is in :mod:`dbdyno.experiment.distil`.
"""

from __future__ import annotations

from dbdyno.base.errors import InputError

# Type checkers take it for typing's, which takes longer to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import sqlite3
    from typing import Any, Literal

    from dbdyno.trace.recorder import Recorder
    from dbdyno.trace.sqlite_connection import RecordedConnection

__all__ = ["django", "flush", "sqlalchemy", "sqlite"]


def sqlite(
    connection: sqlite3.Connection, path: str | os.PathLike[str], *, values: Literal["hash", "keep"] = "hash"
) -> RecordedConnection:
    """Return a connection of sqlite3 that records its statements. Raises OSError if ``path`` can't be written."""
    from dbdyno.trace.sqlite_connection import RecordedConnection

    return RecordedConnection(connection, _recorder(path, "sqlite", values))


def sqlalchemy(engine: Any, path: str | os.PathLike[str], *, values: Literal["hash", "keep"] = "hash") -> None:
    """Record the statements of an SQLAlchemy engine. Raises OSError if ``path`` can't be written."""
    from dbdyno.trace.frameworks import SqlalchemyHook

    SqlalchemyHook(engine, _recorder(path, engine.dialect.name, values))


def django(path: str | os.PathLike[str], *, values: Literal["hash", "keep"] = "hash") -> None:
    """Record the statements of all connections of Django. They must be of one engine."""
    from dbdyno.trace.frameworks import DjangoHook

    DjangoHook(lambda vendor: _recorder(path, vendor, values))


def flush() -> None:
    """Write what was recorded so far. It is written twice per second, and when the process ends."""
    from dbdyno.trace.recorder import flush as flush_all

    flush_all()


def _recorder(path: str | os.PathLike[str], engine: str, values: str) -> Recorder:
    from dbdyno.trace.recorder import recorder

    if values not in ("hash", "keep"):
        raise InputError("values", f"`{values}` is not a way to record values", "give `hash` or `keep`")
    return recorder(path, engine, keep=values == "keep")
