"""Databases on named servers that are one run's: their names, and how other runs know that it lives.

PostgreSQL, MariaDB and MySQL have locks that go with the session which holds them, so that any run on any node or in
any container sees whose databases were left behind. MongoDB and SQL Server do not, or not for a whole server: there a
file that is locked in dbdyno's cache stands for them, and those of a run whose cache is another's are left alone.
"""

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, Protocol

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.base.paths import cache_directory
from dbdyno.model.events.answers import Held
from dbdyno.model.plan.cell import PLAN
from dbdyno.model.plan.system import SystemSpec
from dbdyno.runtime.worker import Worker, WorkerFailed
from dbdyno.runtime.workspace.claims import Claim, abandoned

# What makes the names of databases, behind that of the run.
ENDS = ("trial", "template")

_DIGITS = 12


def new_token() -> str:
    """Draw what tells the databases of a run from those of all others: hexadecimal digits."""
    return secrets.token_hex(_DIGITS // 2)


def database_name(token: str, end: str) -> str:
    """Name a database of a run; ``end``: which (:data:`ENDS`)."""
    return f"dbdyno_{token}_{end}"


class Holding(Protocol):
    """What says that a run's databases are not left behind."""

    @property
    def alive(self) -> bool:
        """Whether it still says so."""

    def release(self) -> None:
        """Say so no more."""


class SessionLock:
    """A lock that a session of its own holds on the server."""

    def __init__(self, target: dict[str, Any], token: str, drop: Callable[[str], None]) -> None:
        """Take it, and drop the databases that runs left behind which have ended. Raises SystemFailed."""
        plan = {"schema": PLAN, "seed": 1, "task": {"kind": "hold", "target": target, "token": token}}
        self._worker = Worker(plan, coordinated=True)
        self._events = iter(self._worker)
        try:
            held = next(self._events).event
        except WorkerFailed as error:
            raise SystemFailed(str(error)) from error
        except StopIteration:
            raise SystemFailed("the session that is to keep this run's databases has ended") from None
        if not isinstance(held, Held):
            raise SystemFailed(f"the worker gave no {Held.__name__}")
        for name in held.abandoned:
            _drop_left(drop, name)

    @property
    def alive(self) -> bool:
        """Whether the session is there."""
        return self._worker.alive

    def release(self) -> None:
        """End the session; one whose server no longer answers is killed."""
        self._worker.stop()
        try:
            for _ in self._events:
                pass
        except WorkerFailed:
            # What it held is gone with it.
            pass


class FileLock:
    """A locked file in the cache."""

    def __init__(self, system: SystemSpec, token: str, drop: Callable[[str], None]) -> None:
        """Lock it, and drop the databases that runs with this cache left behind which have ended.

        Raises SystemFailed.
        """
        place = hashlib.sha256(f"{system.engine}-{system.host}-{system.port}".encode()).hexdigest()[:16]
        directory = cache_directory("servers")
        for path in abandoned(directory, f"{place}-"):
            left = path.name.split("-")[1]
            for end in ENDS:
                _drop_left(drop, database_name(left, end))
        try:
            self._claim = Claim(directory, f"{place}-{token}-")
        except OSError as error:
            raise SystemFailed(f"{directory}: nothing can be made in it: {reason(error)}") from error

    alive = True

    def release(self) -> None:
        """Remove it."""
        self._claim.release()


def _drop_left(drop: Callable[[str], None], name: str) -> None:
    try:
        drop(name)
    except SystemFailed:
        # Another user's, or another run was quicker.
        return
