"""Runs a command with the database servers that are installed here: ``servers.py cargo test``.

Each server is started on fresh data, and its target, as a plan has it, is put into an environment variable as JSON. One
that is not installed leaves its variable as it is. The exit code is the command's.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dbdyno.engines.server.installations import Installation, find_installations, installation_of
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import Server, start_server
from directories import server_directory
from duckdb_library import LIBRARY
from fresh_data import fresh_data
from real_mysql import PROGRAM

# Tests ask for no durability, and some of them hold a session each.
SETTINGS = {
    "postgresql": {"fsync": "off", "max_connections": "200"},
    "mysql": {"innodb_flush_log_at_trx_commit": "0", "max_connections": "200", "max_allowed_packet": "64M"},
    "mongodb": {"synchronous": "off"},
}


def tested() -> Iterator[tuple[str, Installation]]:
    """The newest server of each engine, where there is one, and MySQL beside MariaDB; each with its variable."""
    for engine in SETTINGS:
        for installation in find_installations(engine)[:1]:
            yield f"DBDYNO_TEST_{engine.upper()}", installation
    if PROGRAM.exists():
        yield "DBDYNO_TEST_REAL_MYSQL", installation_of("mysql", str(PROGRAM), "tests/support/servers.py")


@contextmanager
def running(installation: Installation, data: Path) -> Iterator[Server]:
    """Start a server on fresh data, and stop it in the end."""
    fresh_data(installation, data)
    # What is set is FerretDB's.
    settings = {} if installation.product == "MongoDB" else SETTINGS[installation.engine]
    with start_server(installation, data, data.parent, settings, remove=[data.parent]) as server:
        yield server


def main(command: Sequence[str]) -> int:
    """Run the command."""
    # Told to end, it ends the command first.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    environment = dict(os.environ)
    if LIBRARY is not None:
        environment["DBDYNO_TEST_DUCKDB"] = str(LIBRARY)
    with ExitStack() as stack:
        # A server may run as another user, who must be able to get there.
        work = stack.enter_context(server_directory("dbdyno-servers-"))
        for variable, installation in tested():
            server = stack.enter_context(running(installation, work / variable.lower()))
            environment[variable] = json.dumps(target(server))
            sys.stderr.write(f"{variable}: {installation.title}\n")
        return subprocess.run(command, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
