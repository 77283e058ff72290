"""Question 37: HNSW or IVFFlat. Needs pgvector, which the wheel of `make postgres` contains."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.programs import Installation


def has_pgvector(installation: Installation) -> bool:
    home = installation.programs["postgres"].parents[1]
    # Debian's packages have the version as a directory.
    shares = (home / "share/postgresql", home / "share", Path("/usr/share/postgresql") / home.name)
    return any((share / "extension/vector.control").exists() for share in shares)


PROGRAM = next((each.programs["postgres"] for each in find_installations("postgresql") if has_pgvector(each)), None)

# The exact neighbors of 50 items are stored before an index exists.
NEIGHBORS = """
name = "neighbors"
title = "HNSW or IVFFlat"
rounds = 1
setup = [
    "create extension vector",
    "alter table item add column v vector(4)",
    "update item set v = ('[' || a || ',' || b || ',' || c || ',' || d || ']')::vector",
    "create table nearest as select q.id as q, n.id from item as q cross join lateral (select id from item order by v <-> q.v limit 10) as n where q.id <= 50",
    "${index.create}",
    "analyze",
]

[factors.index.hnsw]
create = "create index near on item using hnsw (v vector_l2_ops)"

[factors.index.ivfflat]
create = "create index near on item using ivfflat (v vector_l2_ops) with (lists = 50)"

[tables.item]
rows = 5_000
[tables.item.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
a = { type = "real", fill = { uniform = [0.0, 1.0] } }
b = { type = "real", fill = { uniform = [0.0, 1.0] } }
c = { type = "real", fill = { uniform = [0.0, 1.0] } }
d = { type = "real", fill = { uniform = [0.0, 1.0] } }

[load]
stop = { seconds = 1 }

[[transactions]]
name = "search"
steps = [{ execute = "select id from item order by v <-> (select v from item where id = ?) limit 10", params = [{ key = "item.id" }] }]

[[timed]]
name = "build the index"
run = "reindex index near"

[[check]]
name = "recall is 90% or more"
sql = "select case when count(*) >= 450 then 1 else 0 end from nearest join item as q on q.id = nearest.q where nearest.id in (select id from item order by v <-> q.v limit 10)"
equals = 1
"""  # noqa: E501


@pytest.mark.skipif(PROGRAM is None, reason="no PostgreSQL server with pgvector is installed: `make postgres`")
def test_37_hnsw_or_ivfflat(server_cli: Cli) -> None:
    """With its default of one probe, IVFFlat finds too few neighbors. HNSW has a latency and a build time."""
    file = server_cli.write("neighbors.toml", NEIGHBORS)
    document = server_cli.run(file, "--system", f"postgresql:?program={PROGRAM}", code=1)
    cells = {cell["factors"]["index"]: cell for cell in document["cells"]}
    (hnsw,), (ivfflat,) = cells["hnsw"]["rounds"], cells["ivfflat"]["rounds"]
    assert hnsw["error"] is None
    assert hnsw["throughput"] > 0
    assert cells["hnsw"]["timed"]["build the index"] > 0
    assert ivfflat["error"].startswith("the check `recall is 90% or more` failed: expected 1")
