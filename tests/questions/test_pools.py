"""Question 3: how many connections a pool needs."""

from __future__ import annotations

from conftest import Cli
from installed_servers import needs_postgresql
from repeated import repeated

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
