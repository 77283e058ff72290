"""The standard workloads: each runs as it is, on less data, and does what its source describes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.settings import SqliteSettings
from dbdyno.experiment import load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.model.events.answers import Loaded
from dbdyno.runtime.worker import ask
from duckdb_library import URL as DUCKDB
from duckdb_library import needs_duckdb
from experiment_files import shortened
from installed_servers import needs_mysql, needs_postgresql

SMALL = {
    **{f"ycsb-{letter}": ("records=1000",) for letter in "abcdef"},
    "sysbench-oltp": ("rows=1000",),
    "tatp": ("subscribers=1000",),
    "linkbench": ("nodes=1000",),
    "smallbank": ("customers=1000",),
    "cache-traces": ("items=100", "cluster=cluster14,cluster26"),
    "star-schema": ("scale=1", "query=q1_1,q4_3"),
    "voter": (),
    "wide-table": ("rows=1000", "query=urls,urls_of_a_site"),
}
"""The options for small data of each workload."""


def run(cli: Cli, name: str, *levels: str, system: str = "sqlite:", seconds: float = 0.1) -> dict[str, Any]:
    cli("init", f"{name}.toml", "--template", name)
    text, count = shortened((cli.directory / f"{name}.toml").read_text())
    assert count > 0
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
@pytest.mark.parametrize("name", ["ycsb-d", "tatp", "smallbank", "linkbench"])
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


# A change of the transactions that violates the condition.
VIOLATIONS = {
    "payments of a warehouse are those of its districts": ("set d_ytd = d_ytd + ?", "set d_ytd = d_ytd + 0 * ?"),
    "the next order follows the last one": ("set d_next_o_id = d_next_o_id + 1", "set d_next_o_id = d_next_o_id + 2"),
    "new orders have no gaps": ("order by no_o_id limit 1", "order by no_o_id limit 1 offset 1"),
    "orders have as many lines as they say": ('{ variable = "lines" }] },\n', '{ expression = ":lines + 1" }] },\n'),
}


def test_each_violated_condition_of_orders_is_found(cli: Cli) -> None:
    cli("init", "orders.toml", "--template", "orders-entry")
    text, _ = shortened((cli.directory / "orders.toml").read_text())
    for check, (right, wrong) in VIOLATIONS.items():
        assert right in text
        cli.write("wrong.toml", text.replace(right, wrong, 1).replace("{ seconds = 0.1 }", "{ transactions = 100 }"))
        (trial,) = trials(cli.run("./wrong.toml", "--rounds", "1", "--set", "clients=1", code=1))
        assert trial["error"].startswith(f"the check `{check}` failed: expected 0")


def test_a_wrong_count_of_links_is_found(cli: Cli) -> None:
    cli("init", "links.toml", "--template", "linkbench")
    text, _ = shortened((cli.directory / "links.toml").read_text())
    text = text.replace("count = counttable.count + 1", "count = counttable.count + 2")
    options = ("--rounds", "1", "--set", "clients=1", "--set", "nodes=1000")
    (trial,) = trials(cli.run(cli.write("links.toml", text), *options, code=1))
    assert trial["error"].startswith("the check `the counts are those of visible links` failed: expected 0")


def test_overdrawn_savings_are_found(cli: Cli) -> None:
    cli("init", "bank.toml", "--template", "smallbank")
    text, _ = shortened((cli.directory / "bank.toml").read_text())
    text = text.replace("saved < 20.2", "saved is null").replace("[20.2,", "[30_000.0,")
    options = ("--rounds", "1", "--set", "clients=1", "--set", "customers=100")
    (trial,) = trials(cli.run(cli.write("bank.toml", text), *options, code=1))
    assert trial["error"].startswith("the check `savings are not overdrawn` failed: expected 0")


def loaded(name: str, path: Path, *levels: str) -> tuple[sqlite3.Connection, dict[str, str]]:
    """Load a workload's tables into a file; also give its queries by name."""
    experiment = load_experiment(name)
    cells = make_cells(experiment, parse_set(levels, experiment))
    compiled = [compile_cell(experiment, cell) for cell in cells.cells]
    target = {"engine": "sqlite", "path": str(path), "library": find_library(SqliteSettings()).path}
    ask(compiled[0].load_plan(target), Loaded)
    queries = {each.cell.levels["query"].name: each.task.statements[0].sql for each in compiled}
    return sqlite3.connect(path), queries


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> tuple[sqlite3.Connection, dict[str, str]]:
    return loaded("star-schema", tmp_path_factory.mktemp("star") / "star.db", "scale=1", "clients=1")


def table(database: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    found = database.execute(f"select * from {name}")
    names = [each[0] for each in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def test_the_days_of_the_star_schema_are_those_of_the_calendar(star: tuple[sqlite3.Connection, Any]) -> None:
    days = table(star[0], "dates")
    assert len(days) == (date(1999, 1, 1) - date(1992, 1, 1)).days
    for number, day in enumerate(days):
        is_day = date(1992, 1, 1) + timedelta(days=number)
        assert day["d_date"] == str(is_day)
        assert day["d_datekey"] == int(is_day.strftime("%Y%m%d"))
        assert day["d_yearmonth"] == is_day.strftime("%b%Y")
        assert day["d_dayofweek"] == is_day.strftime("%A")
        assert day["d_daynuminyear"] == is_day.timetuple().tm_yday


def test_the_queries_of_the_star_schema_are_right(star: tuple[sqlite3.Connection, dict[str, str]]) -> None:
    """The first query of each flight, computed without SQL."""
    database, queries = star
    assert len(queries) == 13
    dates, customers, suppliers, parts = (
        {each[key]: each for each in table(database, name)}
        for name, key in (
            ("dates", "d_datekey"),
            ("customer", "c_custkey"),
            ("supplier", "s_suppkey"),
            ("part", "p_partkey"),
        )
    )
    revenue = 0
    of_brands, of_nations, profits = Counter[Any](), Counter[Any](), Counter[Any]()
    for line in table(database, "lineorder"):
        day, customer = dates[line["lo_orderdate"]], customers[line["lo_custkey"]]
        supplier, part = suppliers[line["lo_suppkey"]], parts[line["lo_partkey"]]
        year = day["d_year"]
        if year == 1993 and line["lo_discount"] in (1, 2, 3) and line["lo_quantity"] < 25:
            revenue += line["lo_extendedprice"] * line["lo_discount"]
        if part["p_category"] == "MFGR#12" and supplier["s_region"] == "AMERICA":
            of_brands[year, part["p_brand1"]] += line["lo_revenue"]
        if customer["c_region"] == supplier["s_region"] == "ASIA" and 1992 <= year <= 1997:
            of_nations[customer["c_nation"], supplier["s_nation"], year] += line["lo_revenue"]
        if customer["c_region"] == supplier["s_region"] == "AMERICA" and part["p_mfgr"] in ("MFGR#1", "MFGR#2"):
            profits[year, customer["c_nation"]] += line["lo_revenue"] - line["lo_supplycost"]
    assert revenue > 0
    assert database.execute(queries["q1_1"]).fetchall() == [(revenue,)]
    assert {(year, brand): total for total, year, brand in database.execute(queries["q2_1"])} == of_brands
    assert {tuple(key): total for *key, total in database.execute(queries["q3_1"])} == of_nations
    assert {tuple(key): total for *key, total in database.execute(queries["q4_1"])} == profits


def checks(database: sqlite3.Connection, queries: dict[str, str]) -> str:
    """Checks that each query returns as many rows and the same sum of its numbers as in a SQLite file."""
    text = ""
    for name, sql in queries.items():
        found = database.execute(sql)
        names = [each[0] for each in found.description]
        rows = found.fetchall()
        of = {column: [row[place] for row in rows] for place, column in enumerate(names)}
        # Only columns with a name can be summed; averages are rounded differently.
        numbers = [column for column, values in of.items() if column in ("revenue", "profit", "n", "u") and all(values)]
        wanted = [("count(*)", len(rows)), *((f"sum({column})", sum(of[column])) for column in numbers)]
        for what, value in wanted:
            text += f'\n[[check]]\nname = "{name}, {what}"\n'
            text += f'sql = "select coalesce({what}, 0) from ({sql}) as answer"\nequals = {value}\n'
    return text


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:",
        pytest.param(DUCKDB, marks=needs_duckdb),
        pytest.param("postgresql:", marks=needs_postgresql),
        pytest.param("mysql:", marks=needs_mysql),
    ],
)
def test_all_engines_answer_the_queries_alike(
    server_cli: Cli, star: tuple[sqlite3.Connection, dict[str, str]], url: str
) -> None:
    wide = loaded("wide-table", server_cli.directory / "wide.db", "rows=1000", "clients=1")
    for name, answers, level in (("star-schema", star, "scale=1"), ("wide-table", wide, "rows=1000")):
        file = f"{name}.toml"
        server_cli("init", file, "--template", name)
        text, _ = shortened((server_cli.directory / file).read_text())
        text = text.replace("\n[report]", checks(*answers) + "\n[report]")
        first = next(iter(answers[1]))
        options = ("--rounds", "1", "--set", level, "--set", f"query={first}")
        (trial,) = trials(server_cli.run(server_cli.write(file, text), "--system", url, *options))
        assert trial["error"] is None


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
    { begin = "immediate" },
    { execute = "insert into t values (?, ?)", params = [{ expression = ":new + 1" }, { key = "t.code", row = { variable = "new" } }] },
    { set = "kept", value = { uniform = [0, 4] } },
    { when = "kept > 0", then = [{ commit = true }], else = [{ rollback = true }] },
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
name = "rows that were rolled back are inserted later"
sql = "select max(id) - count(*) < 10 from t"
equals = 1
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


NEXT = """
name = "next"
title = "New keys in several places"
rounds = 1

[tables.a]
rows = 10
[tables.a.columns]
id = { type = "integer", primary_key = true, fill = { serial = { start = 5, step = 3 } } }
code = { type = "varchar(36)", unique = true, fill = { uuid = { version = "sequence_blocked", block_size = 100, block_count = 9 } } }

[system.sqlite]
journal_mode = "wal"
synchronous = "off"
busy_timeout = 10_000

[load]
clients = 3
stop = { transactions = 50 }

[[transactions]]
name = "one"
steps = [{ execute = "insert into a values (?, ?)", params = [{ next = "a.id" }, { next = "a.code" }] }]

[[transactions]]
name = "two"
steps = [
    { execute = "insert into a values (?, ?)", params = [{ next = "a.id" }, { next = "a.code" }] },
    { copy = "a", rows = 3, columns = { id = { next = "a.id" }, code = { next = "a.code" } } },
]
"""  # noqa: E501

NUMBERED = """
[[transactions]]
name = "three"
steps = [
    { set = "new", value = { next = "a" } },
    { execute = "insert into a values (?, ?)", params = [{ key = "a.id", row = { variable = "new" } }, { next = "a.code" }] },
]
"""  # noqa: E501


@pytest.mark.parametrize("more", ["", NUMBERED])
def test_new_keys_are_unique_in_all_places(cli: Cli, more: str) -> None:
    (trial,) = trials(cli.run(cli.write("next.toml", NEXT + more)))
    assert not trial["failed"]
    assert trial["ok"] == 150


def test_work_beside_inserts_other_keys(cli: Cli) -> None:
    step = '{ execute = "insert into a values (?, 0)", params = [{ next = "a.id" }] }'
    file = cli.write("next.toml", f'{NEXT}[[beside]]\nname = "import"\nat = "50ms"\nsteps = [{step}]\n')
    error = cli.invoke("run", file).errors
    assert "both this and the transactions insert `next` rows of `a`, and their keys would collide" in error


QUEUE = """
name = "queue"
title = "Workers that find nothing every other time"
rounds = 1

[tables.done]
rows = 0
[tables.done.columns]
id = { type = "integer" }

[load]
stop = { transactions = 100 }

[measure]
statements = ["complete"]
label = "jobs"

[[transactions]]
name = "work"
steps = [
    { set = "number", value = { serial = 0 } },
    { begin = "immediate" },
    { when = { expression = ":number % 2 = 0" }, then = [
        { execute = "insert into done values (?)", params = [{ variable = "number" }], name = "complete" },
        { commit = true },
    ], else = [{ rollback = true }] },
]
"""


def test_throughput_counts_executions_of_a_statement(cli: Cli) -> None:
    (trial,) = trials(cli.run(cli.write("queue.toml", QUEUE)))
    assert trial["ok"] == 100
    assert trial["throughput"] == pytest.approx(trial["transactions_per_s"] / 2)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('["complete"]', '["compelte"]', "measure.statements[0]: no statement `compelte`; did you mean `complete`?"),
        ('label = "jobs"', 'unit = "row"', "throughput counts statements, but `unit` is `row`"),
        ('label = "jobs"', 'transactions = ["work"]', "throughput counts transactions or statements, not both"),
    ],
)
def test_wrong_statements_to_count_are_refused(cli: Cli, old: str, new: str, error: str) -> None:
    assert error in cli.invoke("describe", cli.write("queue.toml", QUEUE.replace(old, new))).errors
