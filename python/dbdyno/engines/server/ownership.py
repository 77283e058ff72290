"""Ownership of a run's databases on a named server: their names, and locks that show other runs that the owner lives.

PostgreSQL, MariaDB and MySQL have locks that end with their session, so a run on any machine or in any container
detects abandoned databases. MongoDB and SQL Server have none, or none for a whole server. For them, dbdyno locks a
file in its cache directory, and runs with another cache directory don't touch the databases.
"""

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, Protocol

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.base.paths import cache_directory
from dbdyno.model.events.answers import Held
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import HoldTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import Worker, WorkerFailed
from dbdyno.runtime.workspace.claims import Claim, abandoned

# Last parts of the names of a run's databases.
ENDS = ("trial", "template")

_DIGITS = 12


def new_token() -> str:
    """Return a random token, in hexadecimal digits, that distinguishes the databases of a run."""
    return secrets.token_hex(_DIGITS // 2)


def database_name(token: str, end: str) -> str:
    """Return the name of a run's database; ``end``: one of :data:`ENDS`."""
    return f"dbdyno_{token}_{end}"


class OwnershipLock(Protocol):
    """A lock that shows other runs that the owner of databases lives."""

    @property
    def alive(self) -> bool:
        """Whether the lock is still held."""

    def release(self) -> None:
        """Release the lock."""


class SessionLock:
    """A lock on the server, held by a separate session."""

    def __init__(self, target: dict[str, Any], token: str, drop: Callable[[str], None]) -> None:
        """Acquire the lock and drop the databases of ended runs. Raises SystemFailed."""
        self._worker = Worker(WorkerPlan(task=HoldTask(target=target, token=token)), coordinated=True)
        self._events = iter(self._worker)
        try:
            held = next(self._events).event
        except WorkerFailed as error:
            raise SystemFailed(str(error)) from error
        except StopIteration:
            raise SystemFailed("the session that holds the lock on this run's databases has ended") from None
        if not isinstance(held, Held):
            raise SystemFailed(f"the worker returned no {Held.__name__}")
        for name in held.abandoned:
            _drop_left(drop, name)

    @property
    def alive(self) -> bool:
        """Whether the session still exists."""
        return self._worker.alive

    def release(self) -> None:
        """End the session; kill it if the server doesn't answer."""
        self._worker.stop()
        try:
            for _ in self._events:
                pass
        except WorkerFailed:
            # The lock ended with the session.
            pass


class FileLock:
    """A locked file in the cache directory."""

    def __init__(self, system: SystemSpec, token: str, drop: Callable[[str], None]) -> None:
        """Lock the file and drop the databases of ended runs that used this cache directory.

        Raises SystemFailed.
        """
        location = hashlib.sha256(f"{system.engine}-{system.host}-{system.port}".encode()).hexdigest()[:16]
        directory = cache_directory("servers")
        for path in abandoned(directory, f"{location}-"):
            left = path.name.split("-")[1]
            for end in ENDS:
                _drop_left(drop, database_name(left, end))
        try:
            self._claim = Claim(directory, f"{location}-{token}-")
        except OSError as error:
            raise SystemFailed(f"{directory}: can't create a file: {reason(error)}") from error

    alive = True

    def release(self) -> None:
        """Unlock and remove the file."""
        self._claim.release()


def _drop_left(drop: Callable[[str], None], name: str) -> None:
    try:
        drop(name)
    except SystemFailed:
        # The database belongs to another user, or another run has dropped it.
        return
