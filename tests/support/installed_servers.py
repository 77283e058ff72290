"""The servers that are installed on this machine, and those that a command started."""

import psutil
import pytest

from command_line import Cli
from dbdyno.engines.server.installations import find_installations

needs_postgresql = pytest.mark.skipif(
    not find_installations("postgresql"), reason="there is no PostgreSQL server on this machine to start"
)

needs_mysql = pytest.mark.skipif(
    not find_installations("mysql"), reason="there is no MariaDB or MySQL server on this machine to start"
)

needs_ferretdb = pytest.mark.skipif(
    not any(each.product == "FerretDB" for each in find_installations("mongodb")),
    reason="there is no FerretDB server on this machine to start: `make ferretdb`, and name it in DBDYNO_FERRETDB",
)


def servers(cli: Cli) -> list[psutil.Process]:
    """Servers that run on a directory of this command line's."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        if str(cli.directory) in line and ("postgres -D" in line or "mariadbd" in line or "--listen-unix" in line):
            found.append(process)
    return found
