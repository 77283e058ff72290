"""`dbdyno run FILE.sql --mix`: a SQL file as one workload on a database file, through the installed command line."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli

FILE = """\
-- :customer = @id of customers zipf 1.1

-- weight: 4
-- name: account
select count(*) from orders where customer = :customer;

-- transaction: checkout
begin immediate;
-- name: order
-- :total = 1..1000000000
insert into orders (customer, total) values (:customer, :total); -- an order
-- think: 1us..2us
-- name: undo
delete from orders where customer = :customer and total = :total;
commit;
-- think: exp(10us)
"""


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = Path(cli.directory) / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table customers (id integer primary key, name text)")
        made.execute("create table orders (id integer primary key, customer int, total int)")
        made.executemany("insert into customers values (?, 'a')", ((number,) for number in range(1, 301)))
        made.execute("insert into orders (customer, total) select id, 0 from customers")
        made.execute("create index on_customer on orders (customer)")
        made.commit()
    cli.write("my.sql", FILE)
    return path


def counts(cell: dict[str, Any], kind: str) -> dict[str, int]:
    return {each["name"]: each["count"] for each in cell["operations"] if each["kind"] == kind}


def test_transactions_run_by_weight_on_a_copy(cli: Cli, shop: Path) -> None:
    before = shop.read_bytes()
    options = ("--mix", "--clients", "3", "--set", "seconds=0.5", "--rounds", "2")
    told = cli("run", "my.sql", "--system", "sqlite:shop.db?synchronous=off", *options, "--json", "out.json")
    assert shop.read_bytes() == before
    document = json.loads((cli.directory / "out.json").read_text())
    (cell,) = document["cells"]
    assert {each["window"]["clients"] for each in cell["rounds"]} == {3}
    assert not cell["failed"]
    done = counts(cell, "transaction")
    total = sum(done.values())
    assert done["checkout"] > 0
    # Four in five; the bound is five standard deviations of so many choices.
    assert abs(done["account"] / total - 0.8) < 5 * sqrt(0.8 * 0.2 / total)
    # Each statement of the transaction has its own time, and runs once in it.
    steps = counts(cell, "statement")
    assert abs(steps["order"] - steps["undo"]) <= 2 * 3
    # What is inserted is found again: the parameters are the same in both statements.
    changed = sum(each["rows_changed"] for each in cell["rounds"])
    assert abs(changed - 2 * done["checkout"]) <= 2 * 2 * 3
    assert document["report"]["weights"] == {"account": 4, "order": 1, "undo": 1}
    lines = told.splitlines()
    assert "transactions/s" in told
    head = next(line for line in lines if "share of time" in line)
    assert head.split() == ["share", "of", "time", "p50", "ms", "p99", "ms", "count"]
    assert {"transaction checkout", "account", "order", "undo", "COMMIT"} <= {line.split("  ")[0] for line in lines}


def test_clients_and_begin_are_factors(cli: Cli, shop: Path) -> None:
    cli.write("my.sql", FILE.replace("begin immediate;", "begin;"))
    options = ("--mix", "--set", "clients=1,2", "--set", "begin=immediate", "--set", "seconds=0.2", "--rounds", "1")
    document = cli.run("my.sql", "--system", "sqlite:shop.db", *options)
    assert [each["factors"]["clients"] for each in document["cells"]] == [1, 2]
    assert document["roles"]["clients"] == "load" and document["roles"]["begin"] == "choice"


def test_without_mix_each_statement_is_measured_alone(cli: Cli, shop: Path) -> None:
    document = cli.run("my.sql", "--system", "sqlite:shop.db", "--rounds", "1")
    assert [each["factors"]["statement"] for each in document["cells"]] == ["account", "order", "undo"]
    assert document["report"]["weights"] == {"account": 4, "order": 1, "undo": 1}
    assert "`dbdyno run --mix` measures the file as one workload" in document["question"]


def test_describe_why_and_gate_take_a_workload(cli: Cli, shop: Path) -> None:
    chosen = ("my.sql", "--mix", "--clients", "2", "--system", "sqlite:shop.db")
    said = cli("describe", *chosen)
    assert "2 clients" in said and "transaction account, weight 4" in said and "customers.id: " in said
    assert "begin immediate\n" in said and "think uniform(low 1, high 2) us" in said
    text = cli("describe", "my.sql", "--mix", "--toml")
    cli.write("my.toml", text)
    assert "[[transactions]]" in text and "[samples]" not in text
    # The printed experiment does the same.
    seconds = ("--set", "seconds=0.1")
    assert cli.run("./my.toml", "--system", "sqlite:shop.db", *seconds, "--rounds", "1")["cells"][0]["throughput"]
    several = [each for each in chosen if each != "--mix"]
    cli("why", *several, *seconds, "--budget", "2s", "--store", "runs.db", "--json", "why.json")
    (cell, *_) = json.loads((cli.directory / "why.json").read_text())["cells"]
    assert cell["factors"]["clients"] == 2
    # One client: two rounds of clients that wait for each other's locks differ by far.
    alone = ("my.sql", "--mix", "--system", "sqlite:shop.db", "--margin", "90%")
    said = cli("gate", *alone, *seconds, "--rounds", "2", "--against", "sqlite:shop.db")
    assert said.startswith("gate: ")


def test_a_stored_workload_is_shown_without_its_database(cli: Cli, shop: Path) -> None:
    cli.run("my.sql", "--mix", "--system", "sqlite:shop.db", "--set", "seconds=0.1", "--rounds", "1")
    shop.unlink()
    # Values of columns are stored with the run; the database is not asked again.
    said = cli("show", "last", "--store", "runs.db")
    assert "transaction checkout" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "my.sql", "--clients", "2"), "--clients: each statement of the file is measured alone"),
        (("run", "pk-lookup", "--mix"), "--mix: it applies to SQL files only"),
        (("run", "my.sql", "--mix", "--clients", "2", "--set", "clients=3"), "--clients: `--set clients` gives them"),
        (("run", "my.sql", "--mix", "--clients", "0"), "0"),
        (("run", "pk-lookup", "--clients", "2"), "clients"),
        (("gate", "my.sql", "--mix", "--baseline", "last"), "--mix: it has no effect without `--against`"),
        (("why", "last", "--mix"), "--mix: it applies to SQL files only"),
        (("describe", "wrong.sql", "--mix"), "wrong.sql, line 2: `x` is not a weight"),
        (("run", "gone.sql", "--mix"), "no such table: gone"),
        (("run", "column.sql", "--mix"), "no such column: gone"),
    ],
)
def test_what_cannot_be_a_workload_is_one_message(cli: Cli, shop: Path, arguments: tuple[str, ...], words: str) -> None:
    cli.write("wrong.sql", "-- transaction: a\n-- weight: x\nselect 1;")
    cli.write("gone.sql", "-- transaction: a\nselect 1;\nselect * from gone;")
    cli.write("column.sql", "-- :id = @gone of customers\nselect :id;")
    system = () if arguments[-1] == "last" else ("--system", "sqlite:shop.db")
    said = cli(*arguments, *system, code=2)
    assert words in said and said.count("dbdyno: ") == 1


@pytest.mark.parametrize("command", [("run",), ("run", "--mix"), ("describe", "--check"), ("why", "--mix"), ("tune",)])
def test_a_rejected_statement_is_named_by_its_line(cli: Cli, shop: Path, command: tuple[str, ...]) -> None:
    del shop
    cli.write("bad.sql", "-- :id = @id of customers\nselect :id;\n\n-- name: two\nselect gone\nfrom customers;\n")
    said = cli(command[0], "bad.sql", *command[1:], "--system", "sqlite:shop.db", code=2)
    assert said == ("dbdyno: bad.sql, line 5: two: rejected by sqlite:shop.db: no such column: gone (SQLITE_ERROR)\n")


def test_an_experiment_takes_values_of_an_existing_column(cli: Cli, shop: Path) -> None:
    text = 'name = "x"\ntitle = "X"\n[load]\nstop = { transactions = 50 }\n[[transactions]]\nname = "t"\n'
    generator = '{ column = "customers.id", draw = { zipf = 1.1 } }'
    cli.write(
        "x.toml", f'{text}steps = [{{ execute = "select * from orders where customer = ?", params = [{generator}] }}]\n'
    )
    document = cli.run("./x.toml", "--system", "sqlite:shop.db", "--rounds", "1")
    # Each value is a customer's, who has one order.
    assert document["cells"][0]["rows_per_transaction"] == 1
    said = cli("describe", "./x.toml", "--system", "sqlite:shop.db")
    assert "values drawn from columns" in said and "(300 values)" in said
