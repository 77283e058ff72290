"""Running servers that a user would name by URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target as target_of
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask
from directories import server_directory
from fresh_data import fresh_data


@dataclass(frozen=True)
class NamedServer:
    """A running server. ``url``: as for `--system`; ``target``: as in a plan."""

    url: str
    target: dict[str, Any]

    def do(self, script: str) -> None:
        """Run statements, each of which ends with `;` at the end of a line."""
        statements = [each for each in re.split(r";\s*(?:\n|$)", script) if each.strip()]
        task = {"kind": "load", "target": self.target, "before": statements, "tables": [], "after": []}
        ask({"schema": PLAN, "seed": 1, "task": task}, Loaded)


@contextmanager
def named_server(kind: str) -> Iterator[NamedServer]:
    """Start a server on fresh data. ``kind``: `postgresql` or `mysql`, which is MariaDB here."""
    with server_directory(mode=0o755) as directory:
        installation = find_installations(kind)[0]
        fresh_data(installation, directory / "data")
        with start_server(installation, directory / "data", directory, {}) as started:
            host = str(started.socket).replace("/", "%2F")
            url = f"{installation.engine}://{started.user}@{host}:{started.port}/{started.database}"
            yield NamedServer(url, target_of(started))
