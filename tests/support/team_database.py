"""A PostgreSQL server for stores, and empty databases in it."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import Server, start_server
from directories import server_directory
from fresh_data import fresh_data

INSTALLED = bool(find_installations("postgresql"))
PASSWORD = "s3cr3t-0f-the-store"


class TeamServer:
    """A server that lets everybody of this machine in over its socket, and over TCP who knows a password."""

    def __init__(self, server: Server, port: int) -> None:
        self.server, self.port = server, port
        self._numbers = itertools.count()

    def empty(self, more: str = "") -> str:
        """Make an empty database, and give its URL; ``more``: of the statement that makes it."""
        name = f"store_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} {more}")
        return self.url(name)

    def url(self, name: str) -> str:
        """Give the URL of a database over the server's socket."""
        return f"postgresql://{self.server.user}@/{name}?host={self.server.socket}&port={self.server.port}"

    def lose(self, url: str) -> None:
        """End all connections to a database, and let nobody in."""
        name = url.partition("?")[0].rpartition("/")[2]
        self.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        # The server's processes end a moment later.
        ended = f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"
        assert all(done for (done,) in self.execute(ended))

    def find(self, url: str) -> None:
        """Let everybody in again."""
        self.execute(f"ALTER DATABASE {url.partition('?')[0].rpartition('/')[2]} ALLOW_CONNECTIONS true")

    def execute(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        """Execute a statement, by default in the server's own database, and give its rows."""
        import psycopg

        with psycopg.connect(url or self.url("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def team_server() -> Iterator[TeamServer]:
    """Start one on fresh data, and stop it in the end."""
    from authenticated import free_port

    with server_directory("dbdyno-store-") as work:
        installation = find_installations("postgresql")[0]
        fresh_data(installation, work / "data")
        rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        (work / "data" / "pg_hba.conf").write_text(rules)
        port = free_port()
        settings = {"fsync": "off", "max_connections": "60"}
        with start_server(installation, work / "data", work, settings, remove=[work], tcp_port=port) as server:
            yield TeamServer(server, port)
