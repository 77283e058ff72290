"""What engines do for the commits that they acknowledge, as it is counted; on the engines themselves."""

from __future__ import annotations

from typing import Any, cast

import pytest

from conftest import Cli
from dbdyno.document.cell import Round
from dbdyno.engines.server.installations import find_installations
from dbdyno.events.watched import Observed
from dbdyno.results.durable import observe
from dbdyno.results.judging import Pair, judge, why_not_comparable
from synthetic_cells import a_round, cell

WRITES = """
name = "writes"
title = "Single-row updates"
question = "What does a commit cost?"
rounds = 2
[factors]
clients = [1]
[tables.t]
rows = 100
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
v = { type = "integer", fill = { serial = 1 } }
[load]
clients = "${clients}"
stop = { transactions = 60 }
[[transactions]]
name = "add"
steps = [
    { begin = "immediate" },
    %s{ execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] },
    { commit = true },
]
"""
UNDONE = '{ execute = "set local synchronous_commit = off" }, '

needs_postgresql = pytest.mark.skipif(
    not find_installations("postgresql"), reason="there is no PostgreSQL server on this machine to start"
)


@pytest.mark.parametrize(
    ("settings", "durability", "least", "most"),
    [
        ("?journal_mode=delete&synchronous=extra", "power-safe", 4, 4),
        ("?journal_mode=delete", "power-safe", 3, 3),
        ("?journal_mode=wal", "power-safe", 1, 1.2),
        ("?journal_mode=wal&synchronous=normal", "process-safe", 0, 0.1),
        ("?synchronous=off", "process-safe", 0, 0),
    ],
)
def test_syncs_of_a_commit_stand_beside_the_class(
    cli: Cli, settings: str, durability: str, least: float, most: float
) -> None:
    (measured,) = cli.run(cli.write("writes.toml", WRITES % ""), "--system", f"sqlite:{settings}")["cells"]
    assert measured["system"]["durability"] == durability
    seen = measured["observed"]
    assert (seen["commits"], seen["seen_by"], seen["contradiction"]) == (120, "files", "")
    assert least <= seen["syncs_per_commit"] <= most
    if settings == "?synchronous=off":
        # A page of 4 KiB and more of each commit waits to be written to the device.
        assert seen["backlog"]["unsynced_bytes"] >= 4096
        assert "left for later, a transaction: " in cli("show", "last", "--store", "runs.db", "--verbose")


@needs_postgresql
def test_a_class_that_the_counts_contradict_is_told_and_not_ranked(server_cli: Cli) -> None:
    honest = server_cli.run(server_cli.write("writes.toml", WRITES % ""), "--system", "postgresql:")
    undone = server_cli.run(server_cli.write("undone.toml", WRITES % UNDONE), "--system", "postgresql:")
    (a,), (b,) = honest["cells"], undone["cells"]
    assert a["system"]["durability"] == b["system"]["durability"] == "power-safe"
    assert a["observed"]["seen_by"] == "server" and a["observed"]["syncs_per_commit"] > 0.8
    assert not a["observed"]["contradiction"]
    assert b["observed"]["contradiction"] and b["observed"]["syncs_per_commit"] < 0.5
    assert any("contradicts" in each["text"] for each in undone["findings"])
    (comparison,) = judge([Pair(a, b, paired=False)])
    assert comparison["verdict"] is None
    assert comparison["not_comparable"] == ["durability: power-safe against power-safe (contradicted)"]


def looked(rounds: list[dict[str, Any]], plan: Any = None) -> Any:
    """What is seen in rounds of which ``observed`` is what their engine told."""
    none = {"acknowledged": 0, "counters": {}, "backlog": {}, "backlog_before": {}}
    told = [Observed.model_validate(none | each["observed"]) for each in rounds]
    return observe(cast("list[Round]", rounds), told, "power-safe", plan or {})


def seen(commits: int, syncs: float, clients: int = 1, plan: Any = None, **changes: Any) -> Any:
    """What is seen of a round on a server that counts its syncs."""
    observed = {"acknowledged": commits, "counters": {"syncs": float(syncs)}}
    made = a_round(0, 1.0, completed=commits, transactions_changing=commits, observed=observed, **changes)
    return looked([made | {"window": {"clients": clients}}], plan)


def test_clients_share_syncs_and_a_few_commits_contradict_nothing() -> None:
    assert seen(1000, 100)["contradiction"].startswith("1,000 transactions that changed rows were acknowledged")
    assert not seen(1000, 100, clients=8)["contradiction"]
    assert seen(1000, 10, clients=8)["contradiction"]
    assert not seen(10, 0)["contradiction"]
    # Who rolls back needs nothing on the device; nor do rows that are set to what they are.
    plan = {"task": {"transactions": [{"steps": [{"do": "begin"}, {"do": "rollback"}]}]}}
    assert not seen(1000, 0, plan=plan)["contradiction"]
    observed = {"acknowledged": 1000, "counters": {"syncs": 2, "rows": 3}}
    made = a_round(0, 1.0, completed=1000, transactions_changing=1000, observed=observed)
    assert not looked([made])["contradiction"]
    assert not looked([made | {"io": {"syncs": 2, "writes": 3}}])["contradiction"]
    assert looked([made | {"io": {"syncs": 2, "writes": 2000}}])["contradiction"]


def test_where_transactions_fail_their_syncs_are_no_commits() -> None:
    made = a_round(0, 1.0, completed=1000, transactions_changing=1000, io={"syncs": 20_000})
    made |= {"issued": 20_000, "failed": {"other": 19_000}}
    assert looked([made])["syncs_per_commit"] is None
    made |= {"issued": 1005, "failed": {"other": 5}}
    assert looked([made])["syncs_per_commit"] == 20


def test_the_kernel_tells_where_the_server_does_not() -> None:
    disk = {"device": "vda", "writes_per_s": 0.0, "flushes_per_s": 0.0}
    made = a_round(0, 1.0, completed=1000, transactions_changing=1000, disk=disk, elapsed_s=1.0)
    found = looked([made])
    assert found["seen_by"] == "device" and "the kernel counts" in found["contradiction"]
    # What others that were interleaved asked of the server, or of the device, is not told from ours.
    interleaving = looked([made | {"interleaving": {"length_ms": 20}}])
    assert interleaving["seen_by"] is None and not interleaving["contradiction"]


def test_two_cells_whose_class_is_warned_of_are_not_ranked_either() -> None:
    contradicted = {"contradiction": "nothing was synced", "syncs_per_commit": 0.0, "backlog": {}}
    a, b = (cell(name, [1.0, 1.1], durability="power-safe", observed=contradicted) for name in "ab")
    assert why_not_comparable(a, b)
