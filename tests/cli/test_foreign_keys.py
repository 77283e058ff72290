"""Foreign keys without an index that deleting or changing rows of their parent scans, on SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from conftest import Cli

SCHEMA = """
create table customers (id integer primary key, name text, code integer unique);
create table "Order List" (id integer primary key,
    customer integer not null references customers on delete cascade, total integer);
create table lines (id integer primary key, "order" integer references "Order List" (id) on delete cascade);
create table notes (id integer primary key, customer integer references customers (id) on delete set null);
create table marks (id integer primary key, of_code integer references customers (code) on update cascade);
create table details (customer integer primary key references customers (id));
create table few (id integer primary key, customer integer references customers (id));
create index notes_customer on notes (customer);
create index lines_part on lines ("order") where id > 3;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) insert into customers
    select i, 'c', i from n;
insert into "Order List" select id, 20001 - id, id from customers;
insert into lines select id, id from customers;
insert into notes select id, id from customers where id < 3000;
insert into marks select id, id from customers where id < 3000;
insert into details select id from customers where id > 19000;
insert into few select id, id from customers where id < 10;
delete from customers where id % 2 = 0 and id between 4000 and 18000;
"""
REMOVE = "-- :id = 1..20000\ndelete from customers where id = :id"
CHANGE = "-- :code = 30000..90000\n-- :id = 1..3000\nupdate customers set code = :code where id = :id"
RENAME = "-- :id = 1..20000\nupdate customers set name = 'x' where id = :id"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("keys"))
    with closing(sqlite3.connect(cli.directory / "shop.db")) as database:
        database.executescript(SCHEMA)
    return cli


def evidence(cli: Cli, sql: str, options: str, kind: str) -> list[dict[str, Any]]:
    document = cli.run(cli.write("q.sql", f"{sql};\n"), "--system", f"sqlite:shop.db{options}", "--rounds", "1")
    return [each["evidence"] for each in document["findings"] if each["kind"] == kind]


def found(cli: Cli, sql: str, options: str = "?foreign_keys=on") -> list[tuple[str, list[str], str]]:
    unindexed = evidence(cli, sql, options, "foreign key without index")
    return [(each["table"], each["through"], each["sql"]) for each in unindexed]


def test_a_deleted_row_scans_what_refers_to_it_and_to_what_goes_with_it(keys: Cli) -> None:
    assert found(keys, REMOVE) == [
        ("Order List", [], 'create index on_order_list_customer on "Order List" (customer)'),
        ("marks", [], "create index on_marks_of_code on marks (of_code)"),
        ("lines", ["Order List"], 'create index on_lines_order on lines ("order")'),
    ]


def test_a_changed_column_scans_what_refers_to_it(keys: Cli) -> None:
    assert found(keys, CHANGE) == [("marks", [], "create index on_marks_of_code on marks (of_code)")]
    assert found(keys, RENAME) == []


def test_without_foreign_keys_the_tables_that_would_be_searched_are_named(keys: Cli) -> None:
    assert found(keys, REMOVE, "?foreign_keys=off") == []
    (unenforced,) = evidence(keys, REMOVE, "", "foreign keys not enforced")
    assert unenforced["tables"] == ["Order List", "marks", "lines"]
    assert evidence(keys, RENAME, "", "foreign keys not enforced") == []
    assert evidence(keys, REMOVE, "?foreign_keys=on", "foreign keys not enforced") == []
