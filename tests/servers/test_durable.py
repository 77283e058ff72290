"""What engines do for the commits that they acknowledge, as it is counted; on the engines themselves."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conftest import Cli
from dbdyno.analysis.measured.comparisons import Pair, judge, why_not_comparable
from dbdyno.analysis.measured.durable import observe
from dbdyno.engines.server.installations import find_installations
from dbdyno.model.events.observations import Observed
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.convert import from_json
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
        # As strace counts them: one of each is the directory's.
        ("?journal_mode=delete&synchronous=extra", "power-safe", 5, 5),
        ("?journal_mode=delete", "power-safe", 4, 4),
        ("?journal_mode=truncate", "power-safe", 5, 5),
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
    if seen["device_flushes"] is not None:
        # Each sync of a lone client is a flush of the disk; other programs flush it too.
        assert seen["device_flushes"] >= seen["syncs"]
        assert seen["flushes_per_commit"] == seen["device_flushes"] / 120
    if settings == "?synchronous=off":
        # A page of 4 KiB and more of each commit waits to be written to the device.
        assert seen["backlog"]["unsynced_bytes"] >= 4096
        assert "deferred per transaction: " in cli("show", "last", "--store", "runs.db", "--verbose")


SWALLOWS = """
int fsync(int file) { (void)file; return 0; }
int fdatasync(int file) { (void)file; return 0; }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_syncs_that_a_preloaded_library_swallows_do_not_reach_the_disk(cli: Cli, tmp_path: Path) -> None:
    source, library = tmp_path / "swallows.c", tmp_path / "swallows.so"
    source.write_text(SWALLOWS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    experiment = cli.write("writes.toml", (WRITES % "").replace("transactions = 60", "transactions = 1000"))
    honest = cli.run(experiment, "--system", "sqlite:")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LD_PRELOAD", str(library))
        swallowed = cli.run(experiment, "--system", "sqlite:")
    seen = swallowed["cells"][0]["observed"]
    # What SQLite asked for does not tell.
    assert seen["syncs_per_commit"] == honest["cells"][0]["observed"]["syncs_per_commit"] == 4
    assert not honest["cells"][0]["observed"]["contradiction"]
    # The library does not reach the device's own probe.
    assert swallowed["device"]["sync_min_us"] > 0
    flushes = seen["device_flushes"]
    # Other programs may have flushed the disk as often; then nothing shows that these commits did not.
    if flushes is not None and flushes < seen["commits"] / 2:
        assert seen["contradiction"]
    if seen["contradiction"]:
        assert swallowed["findings"][0]["kind"] == "durability contradicted"


@needs_postgresql
def test_a_class_that_the_counts_contradict_is_told_and_not_ranked(server_cli: Cli) -> None:
    honest = server_cli.run(server_cli.write("writes.toml", WRITES % ""), "--system", "postgresql:")
    undone = server_cli.run(server_cli.write("undone.toml", WRITES % UNDONE), "--system", "postgresql:")
    (a,), (b,) = honest["cells"], undone["cells"]
    assert a["system"]["durability"] == b["system"]["durability"] == "power-safe"
    assert a["observed"]["seen_by"] == "server" and a["observed"]["syncs_per_commit"] > 0.8
    assert not a["observed"]["contradiction"]
    assert b["observed"]["contradiction"] and b["observed"]["syncs_per_commit"] < 0.5
    assert undone["findings"][0]["text"].startswith("postgresql: is not power-safe, although its settings claim it: ")
    (comparison,) = judge([Pair(from_json(Cell, a), from_json(Cell, b), paired=False)])
    assert comparison.verdict is None
    assert comparison.not_comparable == ["durability: power-safe against power-safe (contradicted)"]


def looked(rounds: list[Round], plan: Any = None, quickest_us: float | None = None) -> Any:
    """What is seen in rounds of which ``observed`` is what their engine told."""
    none = {"acknowledged": 0, "counters": {}, "backlog": {}, "backlog_before": {}}
    told = [Observed.model_validate(none | each.observed) for each in rounds]
    return observe(rounds, told, "power-safe", plan or {}, quickest_us)


def seen(commits: int, syncs: float, clients: int = 1, plan: Any = None, **changes: Any) -> Any:
    """What is seen of a round on a server that counts its syncs."""
    observed = {"acknowledged": commits, "counters": {"syncs": float(syncs)}}
    made = a_round(0, 1.0, completed=commits, transactions_changing=commits, observed=observed, **changes)
    return looked([replace(made, window={"clients": clients})], plan)


def test_flushes_of_the_window_are_compared_with_its_commits_without_those_of_the_warm_up() -> None:
    disk = {"device": "vda", "flushes": 100, "forced_writes": 0}
    counted = {"acknowledged": 1000, "counters": {"syncs": 1000.0, "rows": 1000.0}}
    made = a_round(0, 1.0, completed=100, transactions_changing=100, observed=counted, flushes=disk)
    found = looked([replace(made, window={"clients": 1})])
    assert not found.contradiction
    assert found.flushes_per_commit == pytest.approx(1.0)


def test_clients_share_syncs_and_a_few_commits_contradict_nothing() -> None:
    assert seen(1000, 100).contradiction == "1,000 commits were acknowledged, but the server counted 100 syncs"
    assert not seen(1000, 100, clients=8).contradiction
    assert seen(1000, 10, clients=8).contradiction
    assert not seen(10, 0).contradiction
    # Who rolls back needs nothing on the device; nor do rows that are set to what they are.
    plan = {"task": {"transactions": [{"steps": [{"do": "begin"}, {"do": "rollback"}]}]}}
    assert not seen(1000, 0, plan=plan).contradiction
    observed = {"acknowledged": 1000, "counters": {"syncs": 2, "rows": 3}}
    made = a_round(0, 1.0, completed=1000, transactions_changing=1000, observed=observed)
    assert not looked([made]).contradiction
    assert not looked([replace(made, io={"syncs": 2, "writes": 3})]).contradiction
    assert looked([replace(made, io={"syncs": 2, "writes": 2000})]).contradiction


def test_where_transactions_fail_their_syncs_are_no_commits() -> None:
    made = a_round(0, 1.0, completed=1000, transactions_changing=1000, io={"syncs": 20_000})
    made.issued, made.failed = 20_000, {"other": 19_000}
    assert looked([made]).syncs_per_commit is None
    made.issued, made.failed = 1005, {"other": 5}
    assert looked([made]).syncs_per_commit == 20


def flushed(flushes: int, forced_writes: int = 0) -> dict[str, Any]:
    return {"flushes": {"device": "vda", "flushes": flushes, "forced_writes": forced_writes}}


def test_the_kernel_counts_if_the_engine_does_not() -> None:
    made = a_round(0, 1.0, completed=1000, transactions_changing=1000, **flushed(0))
    found = looked([made])
    assert found.seen_by == "device"
    assert found.contradiction == "the disk vda completed no flush for 1,000 commits"
    # Flushes of cells that were interleaved are not told apart. None at all are none of this cell's.
    interleaved = looked([replace(made, interleaving={"length_ms": 20})])
    assert interleaved.seen_by is None and interleaved.syncs_per_commit is None
    assert interleaved.contradiction == found.contradiction


def test_flushes_of_the_disk_contradict_what_the_engine_counted() -> None:
    swallowed = seen(1000, 1000, **flushed(3))
    assert (swallowed.device_flushes, swallowed.flushes_per_commit) == (3, 0.003)
    assert swallowed.contradiction == (
        "the disk vda completed 3 flushes for 1,000 commits (the server counted 1,000 syncs)"
    )
    # Eight clients share a flush; other programs flush the disk too; and a disk may write past its cache.
    assert not seen(1000, 125, clients=8, **flushed(125)).contradiction
    assert not seen(1000, 1000, **flushed(90_000)).contradiction
    assert not seen(1000, 1000, **flushed(0, forced_writes=1000)).contradiction
    # Not observed, as on tmpfs.
    unseen = seen(1000, 1000)
    assert unseen.device_flushes is None and not unseen.contradiction


def test_a_sync_that_is_far_too_quick_for_the_device_was_none() -> None:
    def at_files(sync_us: float, quickest_us: float | None) -> str:
        made = a_round(0, 1.0, completed=1000, transactions_changing=1000, io={"syncs": 4000, "writes": 9000})
        found = looked([replace(made, segments={"sync": sync_us * 4000 / 1e6})], quickest_us=quickest_us)
        return cast("str", found.contradiction)

    assert at_files(2.8, 412.0) == "a sync took 2.8 µs, but the fastest sync of the idle device took 412 µs"
    # A device that was busy when it was measured, one that is as quick as that, and one that was not measured.
    assert not at_files(90.0, 4000.0)
    assert not at_files(2.8, 9.0)
    assert not at_files(2.8, None)


def test_two_cells_whose_class_is_warned_of_are_not_ranked_either() -> None:
    contradicted = {"contradiction": "nothing was synced", "syncs_per_commit": 0.0, "backlog": {}}
    a, b = (cell(name, [1.0, 1.1], durability="power-safe", observed=contradicted) for name in "ab")
    assert why_not_comparable(a, b)
