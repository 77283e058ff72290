"""Lock a run, so that at most one process executes it, on any machine and in any container.

For a SQLite store this is a lock on a file next to the store, for PostgreSQL an advisory lock of a transaction. The
operating system or the server releases it however the process ends. (Behind a connection pooler, a session-level lock
would be lost.)
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

# The first key of the advisory locks; the second is a checksum of the run's id.
_RUNS = 0x6462_6479

Release = Callable[[], None]


def lock_run(engine: Engine, path: Path | None, run_id: str) -> Release | None:
    """Lock a run and return a function that releases the lock; ``None`` if another process has locked it.

    ``path``: the file of a SQLite store, ``None`` for PostgreSQL. Raises SQLAlchemyError. On a file system that doesn't
    support locks, the run is not protected.
    """
    return _lock_in_server(engine, run_id) if path is None else _lock_file(path, run_id)


def _lock_file(store: Path, run_id: str) -> Release | None:
    path = store.with_name(f"{store.name}-{run_id}.lock")
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError:
            # The directory isn't writable, so the store isn't either, and the first write to it reports that.
            return _do_nothing
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            pass
        # The previous owner may have removed the file after it was opened.
        if is_at(lock, path):
            break
        os.close(lock)

    def release() -> None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(lock)

    return release


def _lock_in_server(engine: Engine, run_id: str) -> Release | None:
    # PostgreSQL's integers are signed.
    number = int.from_bytes(zlib.crc32(run_id.encode()).to_bytes(4), signed=True)
    connection = engine.connect()
    try:
        locked = connection.execute(select(func.pg_try_advisory_xact_lock(_RUNS, number))).scalar_one()
    except BaseException:
        connection.close()
        raise
    if not locked:
        connection.close()
        return None

    def release() -> None:
        # If the connection is lost, the server has released the lock.
        with contextlib.suppress(SQLAlchemyError):
            connection.close()

    return release


def _do_nothing() -> None:
    """Do nothing: there is no lock to release."""
