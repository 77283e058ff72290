"""Database servers that dbdyno starts and stops itself: PostgreSQL, MariaDB and MySQL, MongoDB and FerretDB.

    installation = find_installations("postgresql")[0]
    create_data(installation, data)
    with start_server(installation, data, work, {"shared_buffers": "1GB"}) as server:
        ...

A server runs under a small process, its keeper, which ends it and removes its files whatever ends dbdyno, and with
which it ends in turn. It listens on a Unix socket in a directory of its own only, so that it needs no password.
"""

from dbdyno.systems.managed.account import open_way, server_account, shut_out
from dbdyno.systems.managed.data import create_data
from dbdyno.systems.managed.installations import (
    Installation,
    find_installations,
    how_to_install,
    installation_of,
)
from dbdyno.systems.managed.server import Server, check_settings, start_server

__all__ = [
    "Installation",
    "Server",
    "check_settings",
    "create_data",
    "find_installations",
    "how_to_install",
    "installation_of",
    "open_way",
    "server_account",
    "shut_out",
    "start_server",
]
