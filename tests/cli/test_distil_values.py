"""`distil` with a database: parameters have the values that the application used."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.experiment.queries import queries_experiment, read_queries
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.run.column_samples import column_facts, sample_columns, table_columns
from dbdyno.run.plan_tries import prepare_statements, rejected_statements, statement_cells
from dbdyno.run.provisioners import Provisioners
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.values import Values, trace_key


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create a database whose open orders are rare."""
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect("shop.db")
    connection.execute("create table orders (id integer primary key, status text, stock int)")
    rows = ((number, "open" if number % 100 == 0 else "done", number % 50) for number in range(1, 2001))
    connection.executemany("insert into orders values (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return "sqlite:shop.db"


def record(statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
    """Write a trace, and its key beside it."""
    path = Path("day.trace")
    values = Values(trace_key(path))
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        for number, (text, parameters) in enumerate(statements):
            written = [values.of(each) for each in parameters]
            writer.add(1, text, Execution(1_700_000_000_000_000 + number * 1000, 10_000, 1, None, None, written))


def distilled(cli: Cli, shop: str, *options: str) -> str:
    """Distil the trace, and return the file."""
    cli("distil", "day.trace", "-o", "my.sql", "--system", shop, *options)
    return Path("my.sql").read_text()


def test_few_different_values_have_their_recorded_shares(cli: Cli, shop: str) -> None:
    record(
        [
            ("select * from orders where status = ? and stock > ?", ("open" if number % 4 else "done", 7))
            for number in range(80)
        ]
    )
    text = distilled(cli, shop)
    ranks = ", ".join(["2"] * 30 + ["1"] * 10)
    assert f"-- :status = @status of orders rank {ranks}\n" in text
    assert "-- :stock = 7\n" in text
    # A value of the database isn't in the file.
    assert "open" not in text
    cli("run", "my.sql", "--mix", "--system", shop, "--budget", "2s")


def test_a_constant_key_is_one_row(cli: Cli, shop: str) -> None:
    record([("select * from orders where id = ? limit ?", (321, 3)) for _ in range(20)])
    text = distilled(cli, shop)
    assert "-- :id = @id of orders rank 321\n" in text
    assert "-- :limit = 3\n" in text
    Path("day.trace.key").unlink()
    assert "-- :id = @id of orders rank 1\n" in distilled(cli, shop)


def test_a_wrong_database_is_named_with_the_reasons(cli: Cli, shop: str) -> None:
    sqlite3.connect("other.db").execute("create table t (a)").connection.close()
    record([("select * from orders where id = ?", (number,)) for number in range(9)])
    told = cli("distil", "day.trace", "-o", "my.sql", "--system", "sqlite:other.db", code=2)
    assert "9 times `select * from orders where id = ?` and its transaction, rejected: `no such table: orders" in told
    assert "name the database that the application used" in told


def test_a_key_that_does_not_fit_is_named(cli: Cli, shop: str) -> None:
    record([("select * from orders where id = ?", (number,)) for number in range(90)])
    assert "key" not in distilled(cli, shop)
    key = Path("day.trace.key")
    fitting = key.read_text()
    key.write_text("0" * 64)
    assert "-- The database contains no recorded value: " in distilled(cli, shop)
    key.write_text("bad")
    told = cli("distil", "day.trace", "-o", "my.sql", "--system", shop, code=2)
    assert "day.trace.key: it is not the key of a trace" in told
    key.unlink()
    told = cli("distil", "day.trace", "-o", "my.sql", "--system", shop)
    assert "day.trace.key is missing" in told
    key.write_text(fitting)
    assert "key" not in distilled(cli, shop)


def test_nulls_have_their_recorded_share(cli: Cli, shop: str) -> None:
    record([("update orders set status = ? where id = ?", (None if n % 4 else "done", n * 20 + 1)) for n in range(80)])
    assert "-- :status = @status of orders rank 1 or null 75%\n" in distilled(cli, shop)


def test_a_column_is_described_with_two_questions(shop: str) -> None:
    connection = sqlite3.connect("shop.db")
    connection.execute("create table items (id integer primary key, of int references orders (id))")
    connection.execute("insert into items values (1, 7), (2, 9)")
    asked: list[str] = []

    def answer(question: str) -> str | None:
        asked.append(question)
        found = connection.execute(question).fetchone()[0]
        return None if found is None else str(found)

    facts = column_facts(answer, "sqlite", "items", "of")
    assert facts is not None
    assert (facts.rows, facts.least, facts.greatest, facts.unique, facts.foreign) == (2, 7, 9, False, True)
    # A worker is started for each.
    assert len(asked) == 2
    assert table_columns(answer, "sqlite", "items") == [("id", "integer"), ("of", "")]
    connection.close()


def test_rejected_statements_are_searched_in_halves(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"select {number} from {'missing' if number == 11 else 'orders'};\n" for number in range(32))
    queries = read_queries(text, "x.sql", "sqlite")
    cells = statement_cells(
        queries_experiment(queries, {}, "x.sql", "sqlite"), parse_url(shop), [q.name for q in queries]
    )
    tried: list[int] = []

    def prepare(some: Mapping[str, CompiledCell], provisioners: Provisioners) -> TrialResult:
        tried.append(len(some))
        return prepare_statements(some, provisioners)

    monkeypatch.setattr("dbdyno.run.plan_tries.prepare_statements", prepare)
    with Provisioners(None) as provisioners:
        assert set(rejected_statements(cells, provisioners)) == {"q12"}
    # Twice as many as there are halves, and all together.
    assert len(tried) == 11


def test_patterns_have_the_form_that_was_recorded(shop: str, cli: Cli) -> None:
    record([("select id from orders where status like ?", (f"{each}%",)) for each in ("open", "done") * 30])
    text = distilled(cli, shop)
    assert "-- `status`: 100% of the recorded patterns have a value of orders.status" in text
    assert "-- :status = @status of orders pattern v%\n" in text
    assert "made up" not in text
    assert set(sample_columns(parse_url(shop), "orders", ["status pattern v%"], 1000)[0]) == {"open%", "done%"}


def test_columns_are_sampled_together(shop: str) -> None:
    system = parse_url(shop)
    rows = zip(*sample_columns(system, "orders", ["id", "stock", "id after 10", "status"], 1000), strict=True)
    found = sorted(rows)
    assert len(found) == 1000
    for id_, stock, later, status in found:
        assert (stock, later) == (int(id_) % 50, int(id_) + 10)
        assert status == ("open" if int(id_) % 100 == 0 else "done")
    with pytest.raises(InputError, match="these are not columns of a table"):
        sample_columns(system, "orders", ["id", "id; drop table orders"], 10)
    with pytest.raises(InputError, match="no such column: absent"):
        sample_columns(system, "orders", ["id", "absent"], 10)


def test_ranks_name_values_by_their_frequency(shop: str) -> None:
    system = parse_url(shop)
    assert sample_columns(system, "orders", ["status rank 1, 2, 2"], 10) == [["done", "open", "open"]]
    assert sample_columns(system, "orders", ["stock rank 1, 50"], 10) == [[0, 49]]
    with pytest.raises(InputError, match="the column has 2 different values, so none has rank 3"):
        sample_columns(system, "orders", ["status rank 3"], 10)
