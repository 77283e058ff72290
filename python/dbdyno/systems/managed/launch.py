"""What all programs of servers are started with, whether they make data or serve them."""

import os
from collections.abc import Mapping

from dbdyno.systems.managed import mongodb, mysql, postgresql
from dbdyno.systems.managed.family import Family

# By engine.
FAMILIES: Mapping[str, Family] = {"postgresql": postgresql, "mysql": mysql, "mongodb": mongodb}

# Variables by which the user's own setup, or a service manager, would speak to a server.
_FOREIGN = ("PG", "MYSQL", "MARIADB", "FERRETDB_", "LC_", "LANG", "LISTEN_", "NOTIFY_SOCKET")


def environment() -> dict[str, str]:
    """Give the environment of a server: this process's own, without what would change how servers behave."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {"LC_ALL": "C.UTF-8"}
