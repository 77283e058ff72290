"""What all programs of servers are started with, whether they make data or serve them."""

import os

from dbdyno.engines.known import engine_of
from dbdyno.engines.server.family import Family

# Variables by which the user's own setup, or a service manager, would speak to a server.
_FOREIGN = ("PG", "MYSQL", "MARIADB", "FERRETDB_", "LC_", "LANG", "LISTEN_", "NOTIFY_SOCKET")


def family_of(engine: str) -> Family:
    """Say how the servers of an engine are started; KeyError where dbdyno starts none."""
    family = engine_of(engine).family()
    if family is None:
        raise KeyError(engine)
    return family


def environment() -> dict[str, str]:
    """Give the environment of a server: this process's own, without what would change how servers behave."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {"LC_ALL": "C.UTF-8"}
