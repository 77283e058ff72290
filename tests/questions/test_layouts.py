"""Questions 28, 29 and 30: layouts of tables and ways to load them, on data for which the answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Cli
from installed_servers import needs_postgresql
from repeated import repeated

# They start servers.
pytestmark = [pytest.mark.slow, needs_postgresql]

DOCUMENTS = """
name = "layout"
title = "Documents or columns"
question = "JSONB or columns: what makes the list fast?"
rounds = 5

[factors.layout.jsonb]
list = "select id, doc ->> 'status', doc ->> 'name' from workflow order by id limit 200"

[factors.layout.columns]
list = "select id, status, name from workflow order by id limit 200"

# Both layouts are in one table, so the rows have the same size. The nodes don't compress, and PostgreSQL stores the
# document apart from the row.
[tables.workflow]
rows = 500

[tables.workflow.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
status = { type = "text", fill = { pick = ["running", "done"] } }
name = { type = "text", fill = { words = 3 } }
doc.type = "jsonb"
doc.fill.json.status = { pick = ["running", "done"] }
doc.fill.json.name = { words = 3 }
doc.fill.json.nodes = { list = { of = { text = 40 }, count = 300 } }

[load]
clients = 1
stop = { seconds = 0.3 }

[[transactions]]
name = "list"
steps = [{ execute = "${layout.list}" }]
"""

BATCHES = """
name = "insert"
title = "Ways to insert"
question = "COPY or multi-row INSERT, and which batch?"
rounds = 5

[factors]
batch = [1, 10, 500]
way.insert = { copy = false, insert = true }
way.copy = { copy = true, insert = false }

[tables.event]
rows = 0
columns.id = { type = "bigint", primary_key = true, fill = { serial = 1 } }
columns.note = { type = "text", fill = { text = 40 } }

[measure]
unit = "row"
label = "rows"

[load]
clients = 1
stop = { seconds = 1 }

[[transactions]]
name = "load"
steps = [
    { copy = "event", rows = "${batch}", columns = { id = { next = "event.id" }, note = { text = 40 } }, include = "${way.copy}" },
    { begin = "deferred", include = "${way.insert}" },
    { repeat = "${batch}", include = "${way.insert}", steps = [
        { execute = "insert into event values (?, ?)", params = [{ next = "event.id" }, { text = 40 }] },
    ] },
    { commit = true, include = "${way.insert}" },
]
"""  # noqa: E501

PARTITIONS = """
name = "partition"
title = "One table or partitions"
question = "Shall we partition the large table?"
rounds = 5
factors = { table = ["whole", "parts"] }

[tables.whole]
rows = 200_000
columns.day = { type = "integer", fill = { uniform = [0, 9] } }
columns.device = { type = "integer", fill = { uniform = [1, 1000] } }
columns.value = { type = "double", fill = { uniform = [0.0, 1.0] } }

[load]
clients = 1
stop = { seconds = 0.4 }

[[transactions]]
name = "report"
steps = [{ execute = "select avg(value) from ${table} where WHERE", params = [PARAM] }]
"""
SETUP = [
    "create table parts (like whole) partition by range (day)",
    *(f"create table part{day} partition of parts for values from ({day}) to ({day + 1})" for day in range(10)),
    "insert into parts select * from whole",
    "analyze",
]


def run(cli: Cli, text: str) -> dict[str, Any]:
    return cli.run(cli.write("layout.toml", text), "--system", "postgresql:")


def effect(document: dict[str, Any], factor: str, level: object, **at: object) -> dict[str, Any]:
    found = [
        each
        for each in document["effects"]
        if each["factor"] == factor
        and each["level"] == level
        and each["metric"] == "throughput"
        and at.items() <= each["at"].items()
    ]
    assert found, document["effects"]
    return found[0]


@repeated
def test_28_jsonb_or_columns(server_cli: Cli) -> None:
    """The list reads two short values; as columns, it never reads the large documents."""
    document = run(server_cli, DOCUMENTS)
    found = effect(document, "layout", "columns")
    assert found["verdict"] == "faster"
    assert found["ratio"] > 3


@repeated
def test_29_copy_or_insert_and_which_batch(server_cli: Cli) -> None:
    """A large COPY is much faster than as many inserts in a transaction; of one row, it makes little difference."""
    document = run(server_cli, BATCHES)
    copied = effect(document, "way", "copy", batch=500)
    assert copied["verdict"] == "faster"
    assert copied["ratio"] > 2
    larger = effect(document, "batch", 500)
    assert larger["verdict"] == "faster"
    assert larger["ratio"] > 10


@repeated
@pytest.mark.parametrize(
    ("where", "param", "faster"),
    [("day = ?", "{ uniform = [0, 9] }", True), ("device = ?", "{ uniform = [1, 1000] }", False)],
    ids=["by the key of the partitions", "by another column"],
)
def test_30_shall_we_partition(server_cli: Cli, where: str, param: str, *, faster: bool) -> None:
    """A query for one day reads one of ten partitions; a query for one device reads all."""
    text = PARTITIONS.replace("WHERE", where).replace("PARAM", param)
    setup = ", ".join(f'"{each}"' for each in SETUP)
    document = run(server_cli, text.replace("rounds = 5", f"rounds = 5\nsetup = [{setup}]"))
    found = effect(document, "table", "parts")
    if faster:
        assert found["verdict"] == "faster"
        assert found["ratio"] > 3
    else:
        assert found["ratio"] < 1.3
