"""`dbdyno queries`: the statements of a file, each by itself, through the installed command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.experiment.parameter_values import read_values
from dbdyno.experiment.queries import merged, queries_experiment, read_queries, statement_levels
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import Document
from dbdyno.report.html import html_report
from installed_servers import needs_mysql, needs_postgresql

FILE = """\
-- The statements of the shop.
-- :customer = 1..500

-- name: orders of a customer
select * from orders where customer = :customer; -- not :this
/* :nor this; */
select 'a;b', ":c", id::text from orders where state = :state and customer in (:customer, 7);

select count(*) from orders
"""


def test_statements_parameters_and_names_are_read() -> None:
    first, second, third = read_queries(FILE, "shop.sql", "postgresql")
    assert (first.name, first.sql, first.parameters, first.line) == (
        "orders of a customer",
        "select * from orders where customer = $1",
        ("customer",),
        5,
    )
    assert second.name == "q2" and second.parameters == ("state", "customer")
    assert (
        second.sql
        == "/* :nor this; */\nselect 'a;b', \":c\", id::text from orders where state = $1 and customer in ($2, 7)"
    )
    assert third.sql == "select count(*) from orders" and third.values == {"customer": "1..500"}


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("1..1000", {"uniform": [1, 1000]}),
        ("-5 .. 5", {"uniform": [-5, 5]}),
        ("'it''s', 'b, c'", {"pick": ["it's", "b, c"]}),
        ("1, 2.5, 'open'", {"pick": [1, 2.5, "open"]}),
        ("2024-02-28..2024-03-01", {"pick": ["2024-02-28", "2024-02-29", "2024-03-01"]}),
        ("2024-02-29, 'x'", {"pick": ["2024-02-29", "x"]}),
        ("null", {"null": True}),
        ("1, null", {"nullable": {"share": 0.5, "of": {"pick": [1]}}}),
        ("true, false", {"pick": [True, False]}),
        ("0.5..2", {"uniform": [0.5, 2.0]}),
        ("-1e3", {"pick": [-1000.0]}),
        ("'one'", {"pick": ["one"]}),
        ("@city of customers", {"column": "customers.city"}),
        (":low + 99", {"expression": ":low + 99"}),
        (":low-10..20", {"expression": ":low - random(10, 20)"}),
    ],
)
def test_values_are_ranges_lists_and_columns(words: str, made: Any) -> None:
    assert read_values(words, "here") == made


@pytest.mark.parametrize(
    "words",
    [
        *("5..1", "@city", "'open", "1,,2", "1,", " ", "open", "2024-02-30", "2024-01-01..7", "2024-02-01..2024-01-01"),
        *(
            "1..2..3",
            "0001-01-01..9999-12-31",
            str(2**63),
            "9" * 5000,
            "1e" + "9" * 20,
            "0.12345678901234567890",
            "'a'..'b'",
            "1 2",
            "'a' 'b'",
            ":low",
            ":low + 20..10",
            ":low * 2",
        ),
    ],
)
def test_other_values_are_refused(words: str) -> None:
    with pytest.raises(InputError, match=r"; write `"):
        read_values(words, "here")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        queries = read_queries(text, "any.sql", "sqlite")
    except InputError:
        return
    for each in queries:
        assert each.sql.strip(" \t\r\n\f\v") and each.sql.count("?") >= len(each.parameters)


@given(st.lists(st.text(min_size=1, max_size=10), min_size=1, max_size=5))
def test_a_list_of_texts_is_read_as_it_was_written(texts: list[str]) -> None:
    quoted = [each.replace("'", "''") for each in texts]
    words = ", ".join(f"'{each}'" for each in quoted)
    assert read_values(words, "here") == {"pick": texts}


def test_a_parameter_without_values_is_named_with_its_line() -> None:
    queries = read_queries("select 1;\n\nselect :n;", "my.sql", "sqlite")
    with pytest.raises(InputError, match=r"my\.sql, line 3: q2: :n has no values"):
        queries_experiment(queries, {}, "my.sql")


@contextmanager
def shop(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table orders (id integer primary key, customer int, state text)")
        rows = ((number, number % 500, "open" if number % 3 else "sent") for number in range(60_000))
        made.executemany("insert into orders values (?, ?, ?)", rows)
        made.commit()
        yield made


def run_queries(cli: Cli, text: str, *arguments: str) -> tuple[str, dict[str, Any]]:
    cli.write("my.sql", text)
    told = cli(
        "queries",
        "my.sql",
        *arguments,
        "--no-try-indexes",
        "--budget",
        "1s",
        "--json",
        "out.json",
        "--store",
        "runs.db",
    )
    return told, json.loads((Path(cli.directory) / "out.json").read_text())


def test_each_statement_is_measured_and_the_index_is_named(cli: Cli) -> None:
    path = Path(cli.directory) / "my.db"
    with shop(path):
        pass
    before = path.read_bytes()
    text = (
        "-- name: of a customer\nselect * from orders where customer = :customer;\n"
        "-- name: by key\nselect state from orders where id = :id;\n"
    )
    told, document = run_queries(
        cli, text, "--system", "sqlite:my.db", "--set", "customer=@customer of orders", "--set", "id=1..1000"
    )
    assert path.read_bytes() == before
    scan, lookup = document["cells"]
    # Every value that is drawn is a customer's: none has no orders.
    assert scan["rows_per_transaction"] == 120
    assert lookup["rows_per_transaction"] == 1
    assert document["answer"]["text"][0].startswith("of a customer takes ")
    assert document["answer"]["recommended"] is None
    words = " ".join(told.split())
    assert "all of orders" in words
    assert "create index on_orders_customer on orders (customer); -- of a customer" in words
    assert scan["statements"][0]["sql"] == "select * from orders where customer = ?"
    # What other statements take is no effect of a choice.
    assert document["effects"] == []
    page = html_report(from_json(Document, document))
    assert "create index on_orders_customer on orders (customer);  -- of a customer" in page
    assert "Time of each statement" in page and "milliseconds of an execution" in page


def test_run_takes_a_file_of_statements_too(cli: Cli) -> None:
    with shop(Path(cli.directory) / "my.db"):
        pass
    cli.write("my.sql", "select count(*) from orders; select max(id) from orders;")
    told = cli("run", "my.sql", "--system", "sqlite:my.db", "--rounds", "1", "--store", "runs.db")
    assert "q1" in told and "q2" in told


def test_why_and_run_take_values_of_parameters(cli: Cli) -> None:
    with shop(Path(cli.directory) / "my.db"):
        pass
    cli.write("my.sql", "select count(*) from orders; select state from orders where id = :id;")
    chosen = ("my.sql", "--system", "sqlite:my.db", "--set", "id=1..1000", "--set", "statement=q2")
    told = cli("run", *chosen, "--rounds", "1", "--store", "runs.db")
    assert "q2" in told and "q1" not in told
    cli("why", *chosen, "--rounds", "1", "--budget", "1s", "--store", "runs.db", "--json", "why.json")
    document = json.loads((cli.directory / "why.json").read_text())
    assert {each["factors"]["statement"] for each in document["cells"]} == {"q2"}


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("select * from nowhere;", [], "no such table: nowhere"),
        ("select :n;", [], ":n has no values"),
        ("select 1; select ?;", [], "my.sql, line 1: q2: no values for `?`; write `:name`"),
        ("begin; select 1; commit;", [], "`begin` has no effect"),
        ("select 1; start transaction read only;", [], "each statement is a separate transaction"),
        ("select :n;", ["--set", "n=@gone of orders"], "no such column"),
        ("select :n;", ["--set", "n=@id of gone"], "no such table"),
        ("select 1;", ["--set", "n=1..2"], "no statement has a parameter :n"),
        ("-- nothing\n", [], "no statement found"),
    ],
)
def test_what_cannot_be_measured_is_one_message(cli: Cli, text: str, arguments: list[str], words: str) -> None:
    with shop(Path(cli.directory) / "my.db"):
        pass
    cli.write("my.sql", text)
    process = cli.start("queries", "my.sql", "--system", "sqlite:my.db", *arguments, "--store", "runs.db")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert words in err and "Traceback" not in err + out


SERVERS = [pytest.param("postgresql:", marks=needs_postgresql), pytest.param("mysql:", marks=needs_mysql)]


@pytest.mark.parametrize("system", SERVERS)
def test_a_column_of_a_server_is_drawn_from(cli: Cli, system: str) -> None:
    # What every server has, without a table of ours.
    text = "select count(*) from information_schema.tables where table_name = :name;"
    place = "table_name of information_schema.tables"
    _, document = run_queries(cli, text, "--system", system, "--set", f"name=@{place}")
    (cell,) = document["cells"]
    assert cell["failed"] == {} and cell["throughput"]["mean"] > 0


RELATIVE = """
-- :low = 1..100
-- :high = :low + 9
select count(*) from t where id between :low and :high;
"""


def test_a_value_is_relative_to_another_parameter() -> None:
    (query,) = read_queries(RELATIVE, "x.sql", "sqlite")
    levels = statement_levels([query], {}, "x.sql")
    assert levels[query.name]["sets"] == [
        {"set": "low", "value": {"uniform": [1, 100]}},
        {"set": "high", "value": {"expression": ":low + 9"}},
    ]
    for values, problem in (
        ({"high": ":other + 1"}, "relative to :other, but the values of :other are missing"),
        ({"low": ":high - 1"}, "is relative to itself"),
    ):
        with pytest.raises(InputError, match=problem):
            statement_levels([query], values, "x.sql")


def test_copies_of_a_statement_are_merged() -> None:
    text = """\
-- :id = 1..10
-- :id_2 = 1..10
-- weight: 3
-- transaction: a
-- name: select t
select * from t where id = :id;
-- name: select t 2
select * from t where id = :id_2;
-- end
-- weight: 2
-- name: cold
select * from t where id = :id;
"""
    found = merged(read_queries(text, "a.sql", "sqlite"))
    assert [(query.name, query.weight, list(query.values)) for query in found] == [
        ("select t", 6, ["id"]),
        ("cold", 2, ["id"]),
    ]
