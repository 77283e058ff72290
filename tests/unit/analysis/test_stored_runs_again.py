"""A stored run looked at again: the store has what was said, and all that is concluded is concluded anew."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Cli
from dbdyno.analysis.bottleneck.common import bottleneck
from dbdyno.analysis.document import read_run
from dbdyno.analysis.findings.registry import RULES
from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result import Document
from dbdyno.model.result.finding import Kind
from dbdyno.store import open_store

PROCESSES = SMALL.replace("[load]\n", '[load]\nclients_as = "processes"\n')


def looked_at(path: Path) -> Document:
    store = open_store(str(path))
    try:
        return read_run(store, "last")
    finally:
        store.close()


def column(path: Path, name: str, table: str = "trials") -> list[Any]:
    with closing(sqlite3.connect(path)) as raw:
        return [json.loads(row[0] or "null") for row in raw.execute(f"select {name} from dbdyno_{table}")]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run."""
    cli = Cli(tmp_path_factory.mktemp("again"))
    cli("run", cli.write("small.toml", SMALL), "--rounds", "2", "--store", "runs.db")
    return cli.directory / "runs.db"


def test_a_better_rule_for_the_limit_reaches_an_old_run(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [cell.bottleneck for cell in looked_at(ran).cells]
    moon = bottleneck("the moon", "it is full", "wait")
    monkeypatch.setattr("dbdyno.analysis.measured.bottlenecks.diagnose", lambda *_: moon)
    after = [cell.bottleneck for cell in looked_at(ran).cells]
    assert all(each and each.resource != "the moon" for each in before)
    assert all(each and (each.resource, each.evidence, each.of) == ("the moon", "it is full", 2) for each in after)


def test_a_better_finding_reaches_an_old_run(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gossip = Kind("gossip", ("said",), "People talk.", "Ask them.")
    new = Rule(lambda material: [gossip.found("So they say.", [], {"said": len(material.tasks)})], (gossip,))
    before = [each.text for each in looked_at(ran).findings]
    monkeypatch.setattr("dbdyno.analysis.findings.registry.RULES", (*RULES, new))
    monkeypatch.setattr(
        "dbdyno.analysis.findings.noise._stood_still", lambda *_: ("It sat down.", {"seconds": 1, "rounds": 1})
    )
    after = [each.text for each in looked_at(ran).findings]
    assert {"So they say.", "It sat down."} <= set(after) - set(before)


def test_no_conclusion_is_stored(ran: Path) -> None:
    with closing(sqlite3.connect(ran)) as raw:
        columns = {row[1] for table in ("runs", "trials") for row in raw.execute(f"pragma table_info(dbdyno_{table})")}
    assert "observations" in columns
    assert {"findings", "diagnosis"}.isdisjoint(columns)
    assert column(ran, "observations", "runs") == [[]]


def test_the_store_has_what_each_process_said(cli: Cli) -> None:
    document = cli.run(cli.write("small.toml", PROCESSES), "--set", "clients=2", "--rounds", "1")
    path = cli.directory / "runs.db"
    assert column(path, "result") == [None]
    (parts,) = column(path, "parts")
    assert [each["result"]["event"] for each in parts] == ["result", "result"]
    (one,) = (each for cell in document["cells"] for each in cell["rounds"])
    assert one["ok"] == sum(each["result"]["accounting"]["ok"] for each in parts)
    assert len(one["intervals"]) == max(len(each["intervals"]) for each in parts)


def test_nothing_is_added_to_what_a_worker_said(cli: Cli) -> None:
    document = cli.run(cli.write("small.toml", SMALL), "--rounds", "1", "--interleave", "5ms")
    results = column(cli.directory / "runs.db", "result")
    for result in results:
        assert {"loaded", "counted"}.isdisjoint(result)
        assert "index" not in result["interleaving"]
    rounds = [each for cell in document["cells"] for each in cell["rounds"]]
    assert [each["interleaving"]["index"] for each in rounds] == [each["position"] for each in rounds]
    # What the other cell used in its slices is taken from what the machine was seen to use when the run is shown.
    said = sorted(result["cpu"]["machine_percent"] for result in results)
    assert sorted(each["cpu_percent"]["machine"] or 0.0 for each in rounds) != said
    assert all(cell["load"] is not None for cell in document["cells"])
