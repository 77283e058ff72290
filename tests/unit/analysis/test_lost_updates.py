"""Updates that a server acknowledges and loses are told where that was seen, and nowhere else."""

from typing import Any

import pytest

from conftest import Cli
from dbdyno.analysis.document import build_document
from dbdyno.engines.server.installations import find_installations
from dbdyno.model.result.convert import to_json
from dbdyno.store import RunRecord, TrialRecord
from synthetic_events import as_stored, rate_of, result_of

needs_ferretdb = pytest.mark.skipif(
    not any(each.product == "FerretDB" for each in find_installations("mongodb")),
    reason="there is no FerretDB server on this machine to start: `make ferretdb`, and name it in DBDYNO_FERRETDB",
)

DOCUMENTS = """
name = "documents"
title = "Documents"
rounds = 1

[tables.t]
rows = 20
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
v = { type = "integer", fill = { constant = 0 } }

[load]
clients = 2
stop = { transactions = 10 }

[[transactions]]
name = "one"
[[transactions.steps]]
params = [{ key = "t.id" }]
execute.mongodb = 'COMMAND'
"""
LOOK = """{"find": "t", "filter": {"_id": {"$oid": "?"}}}"""
ADD = """{"update": "t", "updates": [{"q": {"_id": {"$oid": "?"}}, "u": {"$inc": {"v": 1}}}]}"""


def lost(tried: Any, engine: str = "FerretDB", version: str = "1.24.0") -> list[dict[str, Any]]:
    """What is said of updates, where so much came of trying them. SYNTHETIC."""
    made = result_of(
        accounting={"issued": 10, "ok": 10},
        **rate_of(10, 1, 1.0),
        engine={"engine": engine, "version": version, "lost_updates": tried},
    )
    result = as_stored(made)
    design = {"cells": [{"id": "a", "system": {"name": "mongodb:"}, "factors": {}}]}
    trials = [TrialRecord(cell="a", block=block, position=0, status="done", result=result) for block in range(2)]
    found = build_document(RunRecord(experiment="x", seed=1, design=design), trials).findings
    assert not any("loses" in each.text for each in found if each.kind != "lost updates")
    return [to_json(each) for each in found if each.kind == "lost updates"]


def test_a_server_is_told_to_lose_updates_where_it_was_seen_to() -> None:
    (found,) = lost({"sessions": 4, "acknowledged": 60, "counted": 50})
    assert "acknowledged 120 updates, but the document counted 100." in found["text"]
    assert found["evidence"] == {"sessions": 4, "acknowledged": 120, "counted": 100}
    # Whoever it is.
    assert lost({"sessions": 4, "acknowledged": 60, "counted": 59}, "MongoDB", "7.0")


@pytest.mark.parametrize("tried", [None, {"sessions": 4, "acknowledged": 60, "counted": 60}])
def test_what_was_not_seen_is_not_said_of_any_product(tried: Any) -> None:
    assert lost(tried) == []


@needs_ferretdb
def test_ferretdb_is_tried_before_what_updates_and_left_alone_by_what_reads(server_cli: Cli) -> None:
    def cell(command: str) -> tuple[dict[str, Any], list[str]]:
        document = server_cli.run(
            server_cli.write("d.toml", DOCUMENTS.replace("COMMAND", command)), "--system", "mongodb:"
        )
        return document["cells"][0], [each["kind"] for each in document["findings"]]

    reads, found = cell(LOOK)
    assert reads["system"]["lost_updates"] == {}
    assert "other product" in found and "lost updates" not in found
    updates, found = cell(ADD)
    tried = updates["system"]["lost_updates"]
    assert tried["sessions"] == 4 and tried["acknowledged"] >= tried["counted"] > 0
    assert ("lost updates" in found) == (tried["counted"] < tried["acknowledged"])
