"""Run PostgreSQL's client programs on a server of a plan."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.installations import find_installations

# Neither the user's start-up file nor notices.
QUIET = ("--no-psqlrc", "--quiet")


def client_program(name: str) -> str:
    """Return the path of ``pg_dump`` or ``psql`` of the newest installation. Raises SystemFailed."""
    places = [str(installation.server.parent / name) for installation in find_installations("postgresql")]
    found = next((directory for directory in [*places, name] if shutil.which(directory)), None)
    if found is None:
        raise SystemFailed(f"`{name}` is missing: install PostgreSQL's client programs")
    return found


def connection(target: Mapping[str, Any]) -> list[str]:
    """Return the arguments that name a database. ``target``: as in a plan."""
    address = [f"--host={target['host']}", f"--port={target['port']}", f"--username={target['user']}"]
    return [*address, f"--dbname={target['database']}"]


def variables(target: Mapping[str, Any], **options: str) -> dict[str, str]:
    """Return the environment of a client program, with the password. ``options``: the server's settings."""
    tls = target.get("tls") or {}
    own = {"PGPASSWORD": str(target.get("password") or ""), "PGSSLMODE": str(tls.get("mode") or "prefer")}
    if tls.get("roots"):
        own["PGSSLROOTCERT"] = str(tls["roots"])
    settings = {"client_min_messages": "error", **options}
    return environment() | own | {"PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in settings.items())}
