"""The standard workloads: each runs as it is, on less data, and does what its source describes."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Cli
from experiment_files import shortened
from installed_servers import needs_postgresql

SMALL = {
    **{f"ycsb-{letter}": ("records=1000",) for letter in "abcdef"},
    "sysbench-oltp": ("rows=1000",),
    "tatp": ("subscribers=1000",),
    "smallbank": ("customers=1000",),
}
"""The options for small data of each workload."""


def run(cli: Cli, name: str, *levels: str, system: str = "sqlite:", seconds: float = 0.1) -> dict[str, Any]:
    cli("init", f"{name}.toml", "--template", name)
    text, count = shortened((cli.directory / f"{name}.toml").read_text())
    assert count == 2
    cli.write(f"{name}.toml", text.replace("seconds = 0.1", f"seconds = {seconds}"))
    chosen = [word for level in levels for word in ("--set", level)]
    return cli.run(f"./{name}.toml", "--system", system, "--rounds", "1", *chosen)


def trials(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for cell in document["cells"] for each in cell["rounds"]]


@pytest.mark.parametrize("name", SMALL)
def test_each_workload_runs(cli: Cli, name: str) -> None:
    document = run(cli, name, *SMALL[name], "clients=2")
    for trial in trials(document):
        assert trial["error"] is None
        assert trial["ok"] > 0
        assert not trial["failed"]


@needs_postgresql
@pytest.mark.parametrize("name", ["ycsb-d", "tatp", "smallbank"])
def test_workloads_run_on_a_server(server_cli: Cli, name: str) -> None:
    for trial in trials(run(server_cli, name, *SMALL[name], "clients=2", system="postgresql:")):
        assert trial["error"] is None
        assert trial["ok"] > 0


def test_the_mix_is_that_of_the_description(cli: Cli) -> None:
    (trial,) = trials(run(cli, "tatp", "subscribers=100", "clients=1", seconds=1))
    counts = {name: each["ok"] for name, each in trial["transactions"].items()}
    expected = {"get subscriber data": 35, "get new destination": 10, "get access data": 35, "update location": 14}
    expected |= dict.fromkeys(("update subscriber data", "insert call forwarding", "delete call forwarding"), 2)
    total = sum(counts.values())
    chi2 = sum((counts[name] - total * share / 100) ** 2 / (total * share / 100) for name, share in expected.items())
    # With 6 degrees of freedom, the probability of more is 1 in 10,000.
    assert chi2 < 27.9, counts


def test_orders_are_entered_and_a_violated_condition_is_found(cli: Cli) -> None:
    document = run(cli, "orders-entry", "clients=2", seconds=1)
    (trial,) = trials(document)
    assert trial["error"] is None
    new, total = trial["transactions"]["new order"]["ok"], trial["ok"]
    assert new > 0
    # Throughput counts one of five transactions.
    assert trial["throughput"] == pytest.approx(trial["transactions_per_s"] * new / total)
    statements = trial["statements_by_name"]
    lines = next(each for name, each in statements.items() if name.startswith("insert into order_line"))
    assert 5 <= lines["executions"] / new <= 15
    # A payment that only the warehouse knows of violates the first condition.
    text = (cli.directory / "orders-entry.toml").read_text()
    cli.write("wrong.toml", text.replace("set d_ytd = d_ytd + ?", "set d_ytd = d_ytd + 0 * ?"))
    document = cli.run("./wrong.toml", "--rounds", "1", "--set", "clients=2", code=1)
    (trial,) = trials(document)
    assert trial["error"].startswith(
        "the check `payments of a warehouse are those of its districts` failed: expected 0"
    )


LATEST = """
name = "latest"
title = "Readers of what was just inserted"
rounds = 1

[tables.t]
rows = 50
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
code = { type = "varchar(20)", fill = { format = { template = "x{}", parts = [{ expression = "hash(:row)" }] } } }
[[tables.t.indexes]]
columns = ["code"]

[tables.seen]
rows = 0
[tables.seen.columns]
id = { type = "integer" }

[system.sqlite]
journal_mode = "wal"
busy_timeout = 10_000
synchronous = "off"

[load]
clients = 4
stop = { transactions = 200 }
retry = { attempts = 5 }

[[transactions]]
name = "read"
weight = 3
steps = [
    { execute = "select id from t where code = ?", params = [{ key = "t.code", draw = "latest" }], into = ["id"] },
    { execute = "insert into seen values (?)", params = [{ variable = "id" }] },
]

[[transactions]]
name = "insert"
steps = [
    { set = "new", value = { next = "t" } },
    { execute = "insert into t values (?, ?)", params = [{ expression = ":new + 1" }, { key = "t.code", row = { variable = "new" } }] },
]

[[check]]
name = "all rows were found"
sql = "select count(*) from seen where id is null"
equals = 0

[[check]]
name = "new rows were read"
sql = "select count(*) > 0 from seen where id > 50"
equals = 1

[[check]]
name = "the latest rows are read most often"
sql = "select avg(id) > (select max(id) from t) / 3 from seen"
equals = 1

[[check]]
name = "rows are numbered without gaps"
sql = "select max(id) - count(*) from t"
equals = 0
"""  # noqa: E501


def test_the_latest_rows_of_all_clients_are_drawn(cli: Cli) -> None:
    (trial,) = trials(cli.run(cli.write("latest.toml", LATEST), "--system", "sqlite:"))
    assert trial["error"] is None
    assert trial["ok"] == 800


def test_processes_share_no_keys(cli: Cli) -> None:
    text = LATEST.replace("clients = 4", 'clients = 4\nclients_as = "processes"')
    (trial,) = trials(cli.run(cli.write("processes.toml", text), "--system", "sqlite:", code=1))
    assert "clients of several processes cannot share keys" in trial["error"]


ROLES = """
name = "roles"
title = "A client that reports, beside others"
rounds = 1

[tables.t]
rows = 100
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
v = { type = "integer", fill = 0 }

[system.sqlite]
journal_mode = "wal"
synchronous = "off"
busy_timeout = 10_000

[load]
clients = 3
stop = { transactions = 40 }

[measure]
transactions = ["pay"]

[[transactions]]
name = "pay"
steps = [{ execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] }]

[[transactions]]
name = "report"
clients = 1
steps = [{ execute = "select sum(v) from t" }]
"""


def test_one_of_three_clients_runs_the_report(cli: Cli) -> None:
    file = cli.write("roles.toml", ROLES)
    assert "transaction report, run by 1 client" in cli("describe", file)
    (trial,) = trials(cli.run(file, "--system", "sqlite:"))
    assert {name: each["ok"] for name, each in trial["transactions"].items()} == {"pay": 80, "report": 40}
    assert trial["throughput"] == pytest.approx(trial["transactions_per_s"] * 2 / 3)
