"""`dbdyno why` from the command line: on SQLite, and on servers that dbdyno starts."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.preload import preload_library
from planted_delays import plant_delays
from repeated import repeated

UPDATES = """
name = "updates"
title = "Updates"

[factors]
clients = [1, 2]

[tables.t]
rows = 2000
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
n = { type = "integer", fill = { uniform = [0, 9] } }

[load]
clients = "${clients}"
retry = { attempts = 100, on = ["locked", "deadlock", "serialization"] }
# Without flushes that take long so many transactions take some milliseconds.
stop = { seconds = 0.4, transactions = 200 }

[system.sqlite]
busy_timeout = 10000

[[transactions]]
name = "update"
steps = [{ execute = "update t set n = n + 1 where id = ?", params = [{ key = "t.id" }] }]
"""
# Some twenty flushes of 40 ms.
LONG = UPDATES.replace("seconds = 0.4", "seconds = 0.8")
ONE = ("--set", "clients=1")
BRIEF = ("--budget", "5s", "--store", "w.db")


def why(cli: Cli, *arguments: str, rounds: int = 2) -> tuple[str, dict[str, Any]]:
    out = cli("why", *arguments, *BRIEF, "--rounds", str(rounds), "--json", "why.json")
    document: dict[str, Any] = json.loads((cli.directory / "why.json").read_text())
    return out, document


def resources(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["resource"]: each for each in document["why"]["resources"]}


def check_slower(changes: list[dict[str, Any]]) -> None:
    """See that delays make it slower. What a small one does, a busy machine may hide in a few short windows."""
    largest = max(changes, key=lambda each: float(each["size"]))
    assert largest["rate"] < 0.9, "it is half as fast where nothing else takes time"
    assert all(each["rate_ci95"][0] < 1 for each in changes), "no delay is shown to make it faster"


@pytest.fixture
def updates(cli: Cli) -> Cli:
    cli.write("updates.toml", UPDATES)
    return cli


@repeated
def test_a_flush_that_takes_long_is_found(updates: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush of 40 ms takes nearly all of the time, whatever else the machine does."""
    updates.write("updates.toml", LONG)
    plant_delays(monkeypatch, sync=40_000)
    # From two rounds, the interval of the unhindered rate may be too wide for a verdict.
    out, document = why(updates, "./updates.toml", *ONE, "--report", "why.html", "--markdown", "why.md", rounds=3)
    found = resources(document)
    assert set(found) >= {"flush", "processors", "client"}
    flush = found["flush"]
    assert document["why"]["resources"][0] is flush or flush["elasticity"] > 0.5
    (slower,) = [test for test in flush["tests"] if test["kind"] == "slower"]
    (free,) = [test for test in flush["tests"] if test["kind"] == "free"]
    assert [each["change"].split("+")[0] for each in slower["changes"]] == ["flush "] * 3
    for each in slower["changes"]:
        assert each["observed"] == pytest.approx(each["size"], rel=0.5), "the delay is what was asked for"
    check_slower(slower["changes"])
    assert free["changes"][0]["rate"] > 2
    assert document["why"]["unchanged"].startswith("change=unchanged")
    assert document["answer"]["text"] == document["why"]["text"]
    decides = free if free["verdict"] == flush["verdict"] else slower
    change = decides["changes"][-1]["change"].removeprefix("flush ")
    (row,) = [line for line in out.splitlines() if line.startswith("device flush ")]
    assert change in row, "the row is that of the test that decides"
    assert all(each not in out for each in ("Take ", "Keep ")), "no change is a choice"
    page = (updates.directory / "why.html").read_text()
    assert "Resources that limit the speed" in page
    assert "another program uses 40 % of each CPU" in page
    assert "dbdyno why" not in out, "it does not point to itself"
    shown = updates("show", "last", "--store", "w.db", "--verbose")
    assert " ".join(document["why"]["text"][0].split()) in " ".join(shown.split())


@repeated
def test_an_open_loop_is_judged_by_its_response_time(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush of 40 ms takes nearly all of the time of a transaction, and its client is idle for most of its own."""
    arriving = UPDATES.replace("retry = {", "arrival = { rate = 8, gaps = 'even' }\nretry = {")
    arriving = arriving.replace("[system.sqlite]", '[system.sqlite]\njournal_mode = "wal"\nsynchronous = "full"')
    cli.write("arriving.toml", arriving.replace("seconds = 0.4, transactions = 200", "seconds = 1"))
    plant_delays(monkeypatch, sync=40_000)
    out = cli("run", "./arriving.toml", *ONE, "--rounds", "1", "--store", "w.db")
    assert "to find what decides its response time: dbdyno why " in out
    out, document = why(cli, "last", "--report", "why.html")
    found = document["why"]
    assert found["metric"] == "p99"
    assert found["p99_ms"] > 40
    flush = resources(document)["flush"]
    (slower,) = [test for test in flush["tests"] if test["kind"] == "slower"]
    (free,) = [test for test in flush["tests"] if test["kind"] == "free"]
    assert free["changes"][0]["p99"] < 0.5
    assert slower["changes"][-1]["p99"] > 1
    assert "the p99 response time" in found["text"][0]
    assert "p99 ms" in out
    assert "share of p99 saved" in (cli.directory / "why.html").read_text()
    shown = cli("show", document["id"], "--store", "w.db")
    assert " ".join(found["text"][0].split()) in " ".join(shown.split())


def test_writers_of_one_file_wait_for_its_lock(cli: Cli) -> None:
    """Each holds it for 5 ms: with files of their own, four clients write at the same time."""
    held = """steps = [
    { begin = "immediate" },
    { execute = "update t set n = n + 1 where id = ?", params = [{ key = "t.id" }] },
    { think = 5 },
    { commit = true },
]"""
    before, _, _ = UPDATES.partition("steps = ")
    before = before.replace("[1, 2]", "[4]").replace("[system.sqlite]", "[system.sqlite]\nsynchronous = 0")
    cli.write("held.toml", before + held)
    _, document = why(cli, "./held.toml", "--verbose")
    locks = resources(document)["locks"]
    (free,) = [test for test in locks["tests"] if test["kind"] == "free"]
    assert [each["change"] for each in free["changes"]] == ["own files"]
    assert free["changes"][0]["rate"] > 2
    cells = {each["factors"]["change"]: each for each in document["cells"]}
    rounds = [each for name in ("unchanged", "own files") for each in cells[name]["rounds"]]
    assert rounds
    assert all(each["status"] == "done" and not each["failed"] for each in rounds)
    assert not list(cli.work.rglob("*-client*")), "copies are removed"


def test_a_run_points_to_what_would_prove_its_cause_and_says_so_afterwards(updates: Cli) -> None:
    out = updates("run", "./updates.toml", *ONE, "--rounds", "2", "--set", "clients=1", "--store", "w.db", code=2)
    assert "given twice" in out
    out = updates("run", "./updates.toml", *ONE, "--rounds", "2", "--store", "w.db", "--json", "run.json")
    run = json.loads((updates.directory / "run.json").read_text())
    assert f"to prove it: dbdyno why {run['id']} --store" in out
    assert run["cells"][0]["bottleneck"]["proven"] is None
    _, asked = why(updates, run["id"])
    assert asked["why"]["cell"] == run["cells"][0]["id"]
    shown = updates("show", run["id"], "--store", "w.db", "--json", "run.json")
    run = json.loads((updates.directory / "run.json").read_text())
    proven = run["cells"][0]["bottleneck"]["proven"]
    assert (proven["run"], proven["resource"]) == (asked["id"], asked["why"]["bottleneck"])
    assert asked["id"] in shown


def test_the_last_cell_is_taken_and_another_can_be_named(updates: Cli) -> None:
    out, document = why(updates, "./updates.toml", rounds=1)
    assert "2 cells match; this measures clients=2" in " ".join(out.split())
    assert document["why"]["cell"] == "clients=2"
    _, document = why(updates, "./updates.toml", "--cell", "clients=1", rounds=1)
    assert document["why"]["cell"] == "clients=1"
    assert "no such cell" in updates("why", "./updates.toml", "--cell", "clients=9", *BRIEF, code=2)


def test_it_goes_on_where_it_was_interrupted(updates: Cli) -> None:
    process = updates.start("why", "./updates.toml", *ONE, *BRIEF, "--rounds", "2")
    out = ""
    while "round 1/2" not in out:
        assert process.stderr is not None
        out += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "go on with: dbdyno run --resume" in rest
    updates("run", "--resume", "last", "--store", "w.db", "--json", "why.json")
    document = json.loads((updates.directory / "why.json").read_text())
    assert document["status"] == "done"
    assert {len(cell["rounds"]) for cell in document["cells"]} == {2}
    assert document["why"]["tests"] > 0


def test_what_cannot_be_asked_about_is_said(cli: Cli) -> None:
    cli.write("updates.toml", UPDATES.replace("retry = {", 'clients_as = "processes"\nretry = {'))
    assert "processes of their own" in cli("why", "./updates.toml", *ONE, *BRIEF, code=2)


def test_a_run_that_is_not_there_is_an_error(cli: Cli) -> None:
    assert "EXPERIMENT" not in cli("why", "nothing", "--store", "w.db", code=2)


@repeated
@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_a_server_s_calls_are_counted_and_made_slower(
    server_cli: Cli, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not find_installations(engine):
        pytest.skip(f"no {engine} is installed")
    assert preload_library() is not None
    server_cli.write("updates.toml", LONG)
    plant_delays(monkeypatch, sync=40_000)
    _, document = why(server_cli, "./updates.toml", *ONE, "--system", f"{engine}:")
    flush = resources(document)["flush"]
    (slower,) = [test for test in flush["tests"] if test["kind"] == "slower"]
    check_slower(slower["changes"])
    assert flush["elasticity"] > 0.3
    (free,) = [test for test in flush["tests"] if test["kind"] == "free"]
    assert free["changes"][0]["rate"] > 2
