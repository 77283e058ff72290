"""The time of each transaction and statement: counted by the worker, put together, shown."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.analysis.measured.histograms import Histogram, encode_ns
from dbdyno.analysis.measured.operations import cell_operations, merge_operations
from dbdyno.model.events.trial import Operations
from installed_servers import needs_postgresql
from synthetic_events import result_of

SEVERAL = """
name = "several"
title = "Several statements"
question = "What takes the time?"
rounds = 2

[factors]
clients = [1, 2]
as = ["threads"]

[tables.account]
rows = 1000

[tables.account.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
balance = { type = "integer", fill = { uniform = [0, 100] } }

[load]
clients = "${clients}"
clients_as = "${as}"
stop = { transactions = 200 }

[[transactions]]
name = "read"
steps = [{ execute = "select balance from account where id = ?", name = "by key", params = [{ key = "account.id" }] }]

[[transactions]]
name = "scan"
steps = [
    { begin = "immediate" },
    { execute = "select count(*) from account where balance > 50", name = "scan" },
    { execute = "update account set balance = 1 where id = ?", name = "write", params = [{ key = "account.id" }] },
    { commit = true },
]
"""


def operations_of(document: dict[str, Any], cell: int = 0) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["kind"], each["name"]): each for each in document["cells"][cell]["operations"]}


@pytest.mark.parametrize("clients_as", ["threads", "processes"])
def test_each_operation_is_counted_as_often_as_it_ran(cli: Cli, clients_as: str) -> None:
    path = cli.write("several.toml", SEVERAL)
    document = cli.run(path, "--seed", "3", "--set", f"as={clients_as}")
    for cell in range(2):
        found = operations_of(document, cell)
        rounds = document["cells"][cell]["rounds"]
        # Of few transactions every one is timed.
        for name in ("read", "scan"):
            assert found["transaction", name]["count"] == sum(each["transactions"][name]["ok"] for each in rounds)
        for name in ("by key", "scan", "write"):
            executions = sum(each["statements_by_name"][name]["executions"] for each in rounds)
            assert found["statement", name]["count"] == executions
        # A commit can fail while another process reads.
        assert found["control", "begin"]["count"] >= found["control", "commit"]["count"] > 0
        assert ("control", "rollback") not in found
        of_transactions = sum(each["seconds"] for (kind, _), each in found.items() if kind == "transaction")
        of_steps = sum(each["seconds"] for (kind, _), each in found.items() if kind != "transaction")
        # What is left is the client's own; buckets of histograms are a thousandth wide.
        assert 0.5 * of_transactions < of_steps
        assert sum(each["share"] for (kind, _), each in found.items() if kind == "transaction") == pytest.approx(1)
        assert 0.5 < sum(each["share"] for (kind, _), each in found.items() if kind != "transaction") <= 1.001


def test_the_terminal_and_the_page_show_them(cli: Cli) -> None:
    path = cli.write("several.toml", SEVERAL)
    told = cli("run", path, "--set", "clients=1", "--rounds", "1", "--store", "runs.db", "--report", "out.html")
    assert "Time: " in told and "COMMIT" in told
    shown = cli("show", "last", "--store", "runs.db", "--verbose")
    assert "transaction scan" in shown and "by key" in shown
    page = (Path(cli.directory) / "out.html").read_text()
    assert "Time of each transaction and statement" in page


def test_they_are_left_out_where_the_experiment_says_so(cli: Cli) -> None:
    path = cli.write("without.toml", SEVERAL + "\n[measure]\noperations = false\n")
    document = cli.run(path, "--rounds", "1", "--set", "clients=1")
    assert operations_of(document) == {}


def test_one_statement_has_the_transactions_time(cli: Cli) -> None:
    alone = SEVERAL.split('[[transactions]]\nname = "scan"', maxsplit=1)[0]
    cell = cli.run(cli.write("one.toml", alone), "--rounds", "1", "--set", "clients=1")["cells"][0]
    assert [(each["kind"], each["name"]) for each in cell["operations"]] == [
        ("transaction", "read"),
        ("statement", "by key"),
    ]
    for each in cell["operations"]:
        assert each["latency_ms"]["p50"] == cell["latency_ms"]["service"]["p50"]
        assert each["share"] == pytest.approx(1)


@needs_postgresql
def test_a_servers_statements_are_all_timed(cli: Cli) -> None:
    path = cli.write("several.toml", SEVERAL)
    stop = ["--rounds", "1", "--set", "clients=2", "--system", "postgresql:"]
    document = cli.run(path, *stop)
    found, rounds = operations_of(document), document["cells"][0]["rounds"]
    assert found["statement", "by key"]["count"] == rounds[0]["statements_by_name"]["by key"]["executions"]
    assert found["control", "commit"]["count"] == rounds[0]["transactions"]["scan"]["ok"]


@given(st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=20), min_size=1, max_size=5))
def test_processes_add_up(of_processes: list[list[int]]) -> None:
    told = [
        Operations(transactions={}, statements={"s": encode_ns(each)}, controls={}, timed_s=1.0)
        for each in of_processes
    ]
    merged = merge_operations(told)
    assert merged is not None
    assert Histogram(merged.statements["s"]).count == sum(len(each) for each in of_processes)
    assert merge_operations([*told, None]) is None


def test_a_result_of_before_has_none() -> None:
    result = result_of(operations=None)
    assert cell_operations([result]) == ([], [])


def test_what_cannot_be_read_is_told() -> None:
    broken = Operations(transactions={}, statements={"s": "AAAA"}, controls={}, timed_s=1.0)
    operations, troubles = cell_operations([result_of(operations=broken)])
    assert [each.name for each in operations if each.kind == "statement"] == []
    assert any("the statement s" in trouble for trouble in troubles)
