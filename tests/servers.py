"""Runs a command with the database servers that are installed here: ``servers.py cargo test``.

Each server is started on fresh data, and its target, as a plan has it, is put into an environment variable as JSON. One
that is not installed leaves its variable as it is. The exit code is the command's.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dbdyno.run.hosts.managed import target
from dbdyno.systems.managed import Server, create_data, find_installations, start_server

VARIABLES = {"postgresql": "DBDYNO_TEST_POSTGRESQL", "mysql": "DBDYNO_TEST_MYSQL", "mongodb": "DBDYNO_TEST_MONGODB"}

# Tests ask for no durability, and some of them hold a session each.
SETTINGS = {
    "postgresql": {"fsync": "off", "max_connections": "200"},
    "mysql": {"innodb_flush_log_at_trx_commit": "0", "max_connections": "200", "max_allowed_packet": "64M"},
    "mongodb": {"synchronous": "off"},
}


@contextmanager
def running(engine: str, work: Path) -> Iterator[Server | None]:
    """Start the newest server of an engine, if there is one, and stop it in the end."""
    installations = find_installations(engine)
    if not installations:
        yield None
        return
    data = work / engine
    create_data(installations[0], data)
    # What is set is FerretDB's.
    settings = {} if installations[0].product == "MongoDB" else SETTINGS[engine]
    with start_server(installations[0], data, work, settings, remove=[work]) as server:
        yield server


def main(command: Sequence[str]) -> int:
    """Run the command."""
    # Told to end, it ends the command first.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    environment = dict(os.environ)
    with ExitStack() as stack:
        # A server may run as another user, who must be able to get there.
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dbdyno-servers-", dir="/var/tmp")))
        for engine, variable in VARIABLES.items():
            server = stack.enter_context(running(engine, work))
            if server is not None:
                environment[variable] = json.dumps(target(server))
                sys.stderr.write(f"{variable}: {server.installation.title}\n")
        return subprocess.run(command, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
