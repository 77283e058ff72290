"""`dbdyno try`: statements against each other, through the installed command line."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.experiment.statements import statements_experiment


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = Path(cli.directory) / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table orders (id integer primary key, customer int)")
        made.executemany("insert into orders values (?, ?)", ((number, number % 500) for number in range(50_000)))
        made.commit()
    return path


def test_two_statements_are_held_against_each_other_and_the_file_stays_as_it_is(cli: Cli, shop: Path) -> None:
    before = shop.read_bytes()
    told = cli(
        "try",
        "select count(*) from orders where customer = 7",
        "select count(*) from orders where id = 7;",
        "--system",
        "sqlite:shop.db",
        "--budget",
        "3s",
        "--json",
        "out.json",
        "--store",
        "runs.db",
    )
    assert "first: select count(*) from orders where customer = 7; second: select" in " ".join(told.split())
    document = json.loads((Path(cli.directory) / "out.json").read_text())
    first, second = document["answer"]["configurations"]
    assert (first["name"], second["name"]) == ("first", "second")
    # A scan of 50,000 rows against a search by the key.
    assert second["ratio"] > 2
    assert shop.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["select * from orders where id = ?"], "no values for `?`"),
        (["select 1", " ; "], "the second statement is empty"),
        (["select 1"] * 9, "the limit is 8"),
        (["select * from nowhere"], "no such table: nowhere"),
        (["selct 1"], "syntax error"),
    ],
)
def test_what_cannot_be_tried_is_one_message(cli: Cli, shop: Path, arguments: list[str], words: str) -> None:
    process = cli.start("try", *arguments, "--system", f"sqlite:{shop.name}", "--budget", "2s", "--store", "runs.db")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert words in errors
    assert errors.count("dbdyno: ") == 1


def test_two_named_files_are_two_systems_while_they_take_turns(cli: Cli, shop: Path) -> None:
    """Each trial works on its own file: the slices of one are not measured on the other's."""
    indexed = shop.with_name("indexed.db")
    indexed.write_bytes(shop.read_bytes())
    with closing(sqlite3.connect(indexed)) as made:
        made.execute("create index by_customer on orders (customer)")
        made.execute("delete from orders where id > 40000")
        made.commit()
    systems = ["--system", f"without=sqlite:{shop.name}", "--system", f"with=sqlite:{indexed.name}"]
    query = "select id from orders where customer = 7"
    cli("try", query, *systems, "--budget", "3s", "--json", "out.json", "--store", "runs.db")
    document = json.loads((Path(cli.directory) / "out.json").read_text())
    # Every round of a cell returns the rows of its own file.
    rows = [{each["rows"] / each["completed"] for each in cell["rounds"]} for cell in document["cells"]]
    assert rows == [{100.0}, {80.0}]
    plans = [cell["statements"][0]["plan"][0] for cell in document["cells"]]
    assert [plan.split()[0] for plan in plans] == ["SCAN", "SEARCH"]


def test_parameters_take_values_as_in_a_file_of_statements(cli: Cli, shop: Path) -> None:
    values = ["--set", "c=@customer of orders", "--set", "id=1..1000"]
    statements = ["select id from orders where customer = :c", "select id from orders where id = :id"]
    told = ["--system", f"sqlite:{shop.name}", "--budget", "2s", "--json", "out.json", "--store", "runs.db"]
    cli("try", *statements, *values, *told)
    document = json.loads((Path(cli.directory) / "out.json").read_text())
    assert [cell["rows_per_transaction"] for cell in document["cells"]] == [100, 1]
    process = cli.start("try", *statements, "--set", "id=1..9", "--system", f"sqlite:{shop.name}", "--store", "runs.db")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and ":c has no values" in err


@pytest.mark.parametrize("text", ["select 1; selec 2", "select 1;drop table t;", "select ';'; select 2"])
def test_several_statements_in_one_text_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="2 statements in one argument"):
        statements_experiment([text])


@pytest.mark.parametrize("text", ["select ';'", "select 1;", " select 1 ; ", "select 1 /* ; */"])
def test_one_statement_is_one(text: str) -> None:
    assert statements_experiment([text]) is not None


def test_one_wrong_statement_among_several_is_told_before_anything_is_measured(cli: Cli, shop: Path) -> None:
    said = cli("try", "selec 1", "select 1", "--system", f"sqlite:{shop}", code=2)
    assert "`selec 1`" in said
    assert "syntax error" in said
    assert "block" not in said


def test_a_column_whose_name_needs_quotes_gives_values(cli: Cli) -> None:
    path = cli.directory / "odd.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute('create table "order" (id integer primary key, "e mail" text)')
        database.executemany('insert into "order" values (?, ?)', [(each, f"{each}@x") for each in range(100)])
    asked = ['select count(*) from "order" where "e mail" = :mail', "--system", f"sqlite:{path}", "--budget", "1s"]
    out = cli("try", *asked, "--set", 'mail=@"e mail" of "order"')
    assert "executions/s" in out
    said = cli("try", *asked, "--set", "mail=@id of order", code=2)
    assert "quoted as in SQL" in said


def test_statements_that_return_other_rows_are_ranked_with_that_price(cli: Cli, shop: Path) -> None:
    """As many rows, but others; the first that differs is shown, and not stored."""
    first, second = "select id from orders where customer = 7", "select id + 1 from orders where id % 500 = 7"
    arguments = ("--system", "sqlite:shop.db", "--budget", "3s", "--json", "out.json", "--store", "runs.db")
    made = cli.invoke("try", first, second, *arguments)
    assert made.code == 0
    assert "second: 100 of 100 rows differ; was (7); is (8)" in made.errors
    document = (Path(cli.directory) / "out.json").read_text()
    assert json.loads(document)["answer"]["configurations"][1]["price"] == [
        "returns other rows (100 of 100 rows differ)"
    ]
    assert "was (7)" not in document
    same = cli.invoke("try", first, "select id from orders where id % 500 = 7 order by id desc", *arguments)
    assert "rows differ" not in same.errors
    assert json.loads((Path(cli.directory) / "out.json").read_text())["answer"]["configurations"][1]["price"] == []


def test_a_statement_with_other_rows_on_another_system_is_not_ranked(cli: Cli, shop: Path) -> None:
    cli.write("q.sql", "-- name: any\nselect max('A' like 'a'), count(*) from orders;")
    systems = ("--system", "sqlite:shop.db", "--system", "sensitive=sqlite:shop.db?case_sensitive_like=on")
    said = cli("queries", "q.sql", *systems, "--budget", "3s", "--store", "runs.db", "--json", "out.json")
    (compared,) = json.loads((Path(cli.directory) / "out.json").read_text())["comparisons"]
    assert compared["verdict"] is None
    assert compared["not_comparable"] == ["values of the rows: 1 of 1 row differs"]
    assert "values of the rows: 1 of 1 row differs" in " ".join(said.split())
