"""Questions 3 and 21: how many connections a pool needs, and what a pooler costs."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from authenticated import free_port
from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.server import start_server
from directories import server_directory
from fresh_data import fresh_data
from installed_servers import needs_postgresql
from repeated import repeated
from waiting import wait_until

# On average, 2.4 requests wait for the database.
POOL = """
name = "pool"
title = "How many connections a pool needs"
rounds = 5

[factors]
pool = [2, 8, 16]

[load]
clients = "${pool}"
arrival = { rate = 120 }
stop = { seconds = 2 }

[[transactions]]
name = "request"
steps = [{ execute = { postgresql = "select pg_sleep(0.02)", any = "select 1" } }]

[report]
roles = { pool = "choice" }
"""


@repeated
@needs_postgresql
def test_3_how_many_connections_does_a_pool_need(server_cli: Cli) -> None:
    """Two are too few for the arrivals; sixteen aren't shown to be better than eight."""
    said = server_cli("run", server_cli.write("pool.toml", POOL), "--system", "postgresql:")
    lines = said[said.index("\npool  ") :].splitlines()[:12]
    words = " ".join(" ".join(lines).split())
    assert "Take pool=8: " in words or "Take pool=16: " in words
    assert "transactions/s instead of" in words


LOAD = """
-- transaction: short
select 1;
select 2;
-- end
"""


@contextmanager
def pooler(directory: Path, server: int) -> Iterator[int]:
    """Run PgBouncer in front of a server, with two connections to it; gives its port."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    directory.chmod(0o755)
    port = free_port()
    (directory / "users").write_text('"postgres" ""\n')
    (directory / "pooler.ini").write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={server}\n[pgbouncer]\npool_mode = transaction\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
        f"auth_file = {directory}/users\ndefault_pool_size = 2\n"
        "ignore_startup_parameters = default_transaction_read_only\n"
    )
    # It refuses to run as root.
    process = subprocess.Popen([program, "-q", "-u", "nobody", directory / "pooler.ini"])
    try:
        wait_until(lambda: answers(port))
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@repeated
@needs_postgresql
def test_21_the_pooler_is_slower_than_direct(cli: Cli) -> None:
    """Transactions are short, and few connections are behind the pooler: the answer says what it costs."""
    installation = find_installations("postgresql")[0]
    cli.write("short.sql", LOAD)
    with server_directory() as work:
        fresh_data(installation, work / "data")
        (work / "data" / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
        port = free_port()
        with (
            start_server(installation, work / "data", work, {"fsync": "off"}, tcp_port=port),
            pooler(work, port) as pool,
        ):
            systems = [
                f"--system={name}=postgresql://postgres@127.0.0.1:{number}/postgres"
                for name, number in (("direct", port), ("pool", pool))
            ]
            options = ("--clients=4", "--set=prepare=per-transaction", "--set=seconds=1")
            said = cli("run", "short.sql", "--mix", *options, *systems)
    assert "Keep direct: it is faster" in said
