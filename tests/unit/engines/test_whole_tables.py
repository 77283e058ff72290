"""Plans that read a table whole, the index that would spare it, and when nothing is said."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.engines.index_advice import index_for
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.mongodb.index_advice import index_for as index_of_documents
from dbdyno.engines.plans import called, of_duckdb, of_mongodb, of_mysql, of_postgresql, of_sqlite, whole_reads
from duckdb_library import URL as DUCKDB
from duckdb_library import needs_duckdb
from installed_servers import needs_ferretdb, needs_mysql, needs_postgresql

JOIN = (
    "select o.total from orders o join customers c on c.id = o.customer "
    "where c.city = ? and o.placed between 3 and 4 order by o.placed"
)
KEYED: dict[str, Any] = {
    "tables": [
        {"name": "customers", "columns": [{"name": "id"}, {"name": "city"}], "indexes": []},
        {
            "name": "orders",
            "columns": [{"name": "id"}, {"name": "customer"}, {"name": "placed"}],
            "indexes": [{"name": "by_placed", "usable": True, "partial": False, "keys": [{"column": "placed"}]}],
        },
    ]
}


@pytest.mark.parametrize("engine", ["sqlite", "postgresql", "mysql"])
@pytest.mark.parametrize(
    ("sql", "table", "columns"),
    [
        ("select count(*) from orders where customer = 7", "orders", ("customer",)),
        ("select * from orders where state = 1 order by placed desc limit 3", "orders", ("state", "placed")),
        ("select * from orders where state = 1 and placed > 3 order by id", "orders", ("state", "placed")),
        (JOIN, "c", ("city",)),
        (JOIN, "o", ("customer", "placed")),
        # Nothing says that few rows of the other table are wanted.
        ("select * from orders join customers c on c.id = orders.customer", "orders", None),
        ("update orders set total = 1 where customer in (1, 2)", "orders", ("customer",)),
        ("delete from orders where placed < ?", "orders", ("placed",)),
        ("select * from orders order by placed limit 10", "orders", ("placed",)),
        ("select * from orders order by placed, total desc", "orders", ("placed", "total desc")),
        ("select id from orders where abs(total) = 1", "orders", ("(abs(total))",)),
        ("select customer, count(*) from orders group by customer", "orders", ("customer",)),
        # Nothing that an index serves.
        ("select * from orders where a = 1 or b = 2", "orders", None),
        ("select * from orders where a = b", "orders", None),
        ("select * from orders where not a = 1", "orders", None),
        ("select count(*) from orders", "orders", None),
        ("select * from orders a join orders b on a.id = b.parent", "orders", None),
        ("this is no statement (", "orders", None),
    ],
)
def test_the_index_follows_from_the_conditions(engine: str, sql: str, table: str, columns: tuple[str, ...]) -> None:
    index = index_for(sql, engine, table, {})
    assert (None if index is None else index.columns) == columns


def test_an_index_that_is_there_is_named_and_columns_are_looked_up_in_the_catalogue() -> None:
    index = index_for("select * from orders where placed = ?", "sqlite", "orders", KEYED)
    assert index is not None and index.existing == "by_placed"
    sql = "select total from orders join customers on customers.id = customer where city = 'x' and placed = 2"
    of_orders, of_customers = (index_for(sql, "sqlite", table, KEYED) for table in ("orders", "customers"))
    assert of_orders is not None and of_orders.columns == ("placed",)
    assert of_customers is not None and of_customers.columns == ("city",)
    assert of_customers.sql == "create index on_customers_city on customers (city)"


@given(st.lists(st.text(max_size=60), max_size=8))
def test_plans_of_any_text_can_be_read(plan: list[str]) -> None:
    for read in (of_sqlite, of_postgresql, of_mysql, of_duckdb, of_mongodb):
        assert len(read(plan).reads) <= len(plan)


@pytest.mark.parametrize(
    ("engine", "table", "column", "sql"),
    [
        ("sqlite", '"order"', '"placed at"', 'create index on_order_placed_at on "order" ("placed at")'),
        ("postgresql", '"Order"', "ok", 'create index on_order_ok on "Order" (ok)'),
        ("postgresql", "Orders", "Placed", "create index on_orders_placed on orders (placed)"),
        ("mysql", "`user`", "name", "create index on_user_name on `user` (name)"),
    ],
)
def test_names_are_written_as_the_engine_reads_them(engine: str, table: str, column: str, sql: str) -> None:
    bare = table.strip('"`')
    real = bare.lower() if bare == table else bare
    catalog = {"tables": [{"name": real, "columns": [{"name": column.strip('"').lower()}]}]}
    index = index_for(f"select 1 from {table} where {column} = ?", engine, bare, catalog)
    assert index is not None
    assert index.sql == sql


def test_what_a_plan_reads_whole() -> None:
    sqlite = [
        "SCAN o",
        "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)",
        "SCAN CONSTANT ROW",
        "USE TEMP B-TREE FOR ORDER BY",
    ]
    assert [each.table for each in whole_reads(of_sqlite(sqlite))] == ["o"]
    assert of_sqlite(sqlite).sorts == ["USE TEMP B-TREE FOR ORDER BY"]
    automatic = of_sqlite(["SEARCH c USING AUTOMATIC COVERING INDEX (id=?)"]).reads[0]
    assert automatic.kind == "scan" and automatic.temp and automatic.index is None
    tree = [
        "Sort",
        "  Sort Key: o.placed",
        "  ->  Hash Join",
        "        Hash Cond: (o.customer = c.id)",
        "        ->  Parallel Seq Scan on orders o",
        "              Filter: (placed > 3)",
        "        ->  Index Scan using customers_pkey on customers c",
        "              Index Cond: (id = 4)",
        "        ->  Index Only Scan using by_placed on orders p",
    ]
    read = of_postgresql(tree)
    assert [(called(each), each.table) for each in whole_reads(read)] == [("o", "orders"), ("p", "orders")]
    assert read.sorts == ["Sort; Sort Key: o.placed"]
    rows = ["simple, orders, ALL, Using where; Using filesort", "simple, c, eq_ref, key PRIMARY, ref s.o.customer"]
    assert [each.table for each in whole_reads(of_mysql(rows))] == ["orders"]
    outline = [
        "PROJECTION (Projections: total)",
        "  SEQ_SCAN (Filters: customer=1) (Projections: total) (Table: trial.main.orders) (Type: Sequential Scan)",
        "  SEQ_SCAN (Filters: id=1) (Table: trial.main.c) (Type: Index Scan)",
    ]
    assert [each.table for each in whole_reads(of_duckdb(outline))] == ["orders"]
    stages = of_mongodb(["SORT", "FETCH", "IXSCAN by_placed"])
    assert stages.sorts == ["SORT"] and [each.index for each in stages.reads] == ["by_placed"]
    assert [each.table for each in whole_reads(of_mongodb(["COLLSCAN orders"]))] == ["orders"]
    ferretdb = of_mongodb(["SCAN foo_a9f37ed7", "filter: applied by FerretDB to the documents that SQLite returns"])
    assert [each.table for each in whole_reads(ferretdb)] == ["foo"] and ferretdb.no_index_reason


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        ({"find": "orders", "filter": {"customer": "?"}}, ("customer",)),
        ({"find": "orders", "filter": {"placed": {"$gt": 3}, "state": {"$eq": 1}}}, ("state", "placed")),
        ({"find": "orders", "filter": {"state": {"$in": [1, 2]}}, "sort": {"placed": -1}}, ("state", "placed")),
        ({"find": "orders", "filter": {}, "sort": {"placed": 1, "total": -1}}, None),
        ({"count": "orders", "query": {"$and": [{"a": 1}, {"b": {"$lt": 2}}]}}, ("a", "b")),
        ({"update": "orders", "updates": [{"q": {"customer": 1}, "u": {"$inc": {"n": 1}}}]}, ("customer",)),
        ({"delete": "orders", "deletes": [{"q": {"customer": 1}, "limit": 0}]}, ("customer",)),
        ({"aggregate": "orders", "pipeline": [{"$match": {"a": 1}}, {"$sort": {"b": 1}}]}, ("a", "b")),
        ({"aggregate": "orders", "pipeline": [{"$group": {"_id": "$a"}}, {"$match": {"a": 1}}]}, None),
        ({"find": "orders", "filter": {"_id": 3}}, None),
        ({"find": "orders", "filter": {"$or": [{"a": 1}, {"b": 1}]}}, None),
        ({"find": "orders", "filter": {"name": {"$regex": "x"}}}, None),
        ({"insert": "orders", "documents": [{"a": 1}]}, None),
        ({"find": ["orders"], "filter": {"a": 1}}, None),
    ],
)
def test_the_index_of_documents_follows_from_the_command(command: dict[str, Any], columns: tuple[str, ...]) -> None:
    index = index_of_documents(json.dumps(command))
    assert (None if index is None else index.columns) == columns
    if index is not None:
        made = json.loads(index.sql)
        assert made["createIndexes"] == "orders" and tuple(made["indexes"][0]["key"]) == columns


@given(st.recursive(st.none() | st.text(max_size=9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_command_of_documents_can_be_read(value: Any) -> None:
    for verb in ("find", "aggregate", "update", "count"):
        for key in ("filter", "pipeline", "updates", "query"):
            index_of_documents(json.dumps({verb: "t", key: value}))


def test_duckdb_goes_by_an_index_where_one_column_alone_must_equal_something() -> None:
    index_of = known_engine("duckdb").index_for
    index = index_of("select * from orders where placed = 3", "orders", {})
    assert index is not None and index.columns == ("placed",)
    for sql in ("placed = 3 and state = 1", "placed > 3", "placed = 3 and state < 1"):
        assert index_of(f"select * from orders where {sql}", "orders", {}) is None
    assert index_of("select * from orders order by placed", "orders", {}) is None
    # Whether one that is there is used is decided later.
    assert index_of("select * from orders where placed = 3", "orders", KEYED) is None


SHOP = """
name = "shop"
title = "Orders of a customer"
question = "What takes the time?"
rounds = 1

[tables.orders]
rows = 30_000

[tables.orders.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
customer = { type = "integer", fill = { uniform = [0, 5000] } }
total = { type = "integer", fill = { uniform = [0, 100] } }

[load]
clients = 1
stop = { transactions = 30 }

[[transactions]]
name = "page"
steps = [
    { execute = "select total from orders where customer = ?", name = "of customer", params = [{ uniform = [0, 5] }] },
    { execute = "select total from orders where id = ?", name = "by key", params = [{ key = "orders.id" }] },
]
"""


def told_of(cli: Cli, text: str, *arguments: str) -> list[dict[str, Any]]:
    document = cli.run(cli.write("shop.toml", text), *arguments)
    return [each for each in document["findings"] if each["kind"] == "whole table"]


@pytest.mark.parametrize(
    "system",
    [
        "sqlite:",
        pytest.param("postgresql:", marks=needs_postgresql),
        pytest.param("mysql:", marks=needs_mysql),
        pytest.param(DUCKDB, marks=needs_duckdb),
    ],
)
def test_a_costly_scan_is_told_with_its_index_and_not_once_it_is_there(cli: Cli, system: str) -> None:
    found = told_of(cli, SHOP, "--system", system)
    assert [(each["evidence"]["table"], each["evidence"]["columns"]) for each in found] == [("orders", ["customer"])]
    assert "scans the whole table orders" in found[0]["text"]
    assert "`create index on_orders_customer on orders (customer)`" in found[0]["text"]
    indexed = SHOP.replace("[load]", '[[tables.orders.indexes]]\ncolumns = ["customer"]\n\n[load]')
    assert told_of(cli, indexed, "--system", system) == []


@pytest.mark.parametrize(
    "system",
    [
        "sqlite:",
        pytest.param("postgresql:", marks=needs_postgresql),
        pytest.param("mysql:", marks=needs_mysql),
        pytest.param(DUCKDB, marks=needs_duckdb),
    ],
)
def test_no_index_is_advised_where_much_of_the_table_is_wanted(cli: Cli, system: str) -> None:
    much = SHOP.replace("fill = { uniform = [0, 5000] }", "fill = { uniform = [0, 2] }")
    much = much.replace("params = [{ uniform = [0, 5] }]", "params = [{ uniform = [0, 2] }]")
    assert told_of(cli, much, "--system", system) == []


@needs_ferretdb
def test_what_no_index_spares_is_told_without_one(cli: Cli) -> None:
    text = SHOP.replace("rows = 30_000", "rows = 2_000").replace("transactions = 30", "transactions = 5")
    for column in ("customer", "id"):
        command = json.dumps({"find": "orders", "filter": {column.replace("id", "_id"): "?"}})
        sql = f"select total from orders where {column} = ?"
        text = text.replace(f'execute = "{sql}"', f"execute = {{ any = '{sql}', mongodb = '{command}' }}")
    (found,) = told_of(cli, text, "--system", "mongodb:")
    assert "scans the whole table orders" in found["text"] and "applies the filter itself" in found["text"]
    assert "sql" not in found["evidence"]


def test_nothing_is_said_of_a_small_table(cli: Cli) -> None:
    assert told_of(cli, SHOP.replace("rows = 30_000", "rows = 100")) == []


def test_the_statement_that_is_told_makes_the_plan_another(cli: Cli) -> None:
    path = Path(cli.directory) / "shop.db"
    query = "select count(*) from orders where customer = 7 and state = 'open' order by placed"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table orders (id integer primary key, customer int, state text, placed int)")
        rows = ((number, number % 500, "open", number) for number in range(60_000))
        made.executemany("insert into orders values (?, ?, ?, ?)", rows)
        made.commit()
    cli("try", query, "--system", "sqlite:shop.db", "--budget", "2s", "--json", "out.json", "--store", "runs.db")
    findings = json.loads((Path(cli.directory) / "out.json").read_text())["findings"]
    (sql,) = [each["evidence"]["sql"] for each in findings if each["kind"] == "whole table"]
    with closing(sqlite3.connect(path)) as made:
        made.execute(sql)
        plan = " ".join(row[3] for row in made.execute(f"explain query plan {query}"))
    assert "SCAN" not in plan and "on_orders_customer_state" in plan
