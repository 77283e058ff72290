"""Holding a run: at most one process at a time carries it out, on whatever machine and in whatever container.

A process that holds a run has a lock, which goes with it however it ends: the lock of a file beside a SQLite store, or
an advisory lock in a transaction of PostgreSQL. (A lock of a session would be lost behind a pooler.)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import zlib
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from dbdyno.runtime.workspace.claims import is_at

# The first of the two numbers of dbdyno's advisory locks for runs; the second is the run's.
_RUNS = 0x6462_6479

Release = Callable[[], None]


def hold_run(engine: Engine, path: Path | None, run_id: str) -> Release | None:
    """Hold a run of a store, and return what gives it up; ``None`` if another process holds it.

    ``path``: of a SQLite store, ``None`` for PostgreSQL. Raises SQLAlchemyError. A file system without locks holds
    nothing.
    """
    return _hold_in_server(engine, run_id) if path is None else _hold_beside(path, run_id)


def _hold_beside(store: Path, run_id: str) -> Release | None:
    path = store.with_name(f"{store.name}-{run_id}.lock")
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError:
            # The store itself cannot be written either, which the first write reports.
            return _nothing
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            pass
        # The one that held it may have removed the file since it was opened.
        if is_at(lock, path):
            break
        os.close(lock)

    def release() -> None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(lock)

    return release


def _hold_in_server(engine: Engine, run_id: str) -> Release | None:
    # As PostgreSQL's integers, which have a sign.
    number = int.from_bytes(zlib.crc32(run_id.encode()).to_bytes(4), signed=True)
    connection = engine.connect()
    try:
        held = connection.execute(select(func.pg_try_advisory_xact_lock(_RUNS, number))).scalar_one()
    except BaseException:
        connection.close()
        raise
    if not held:
        connection.close()
        return None

    def release() -> None:
        # The server may have lost the connection, and the lock with it.
        with contextlib.suppress(SQLAlchemyError):
            connection.close()

    return release


def _nothing() -> None:
    """Give up nothing."""
