"""The scripts that measure what writes cost leave the data as they were."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from dbdyno.engines.sqlite.index_trials import SqliteIndexTrials

TABLES = {
    "with rowids": ("create table t (a int, b text, c int)", {"rows": 500}),
    "with a key": ("create table t (a integer primary key, b text, c int)", {"rows": 500, "primary_key": ["a"]}),
    "without rowids": ("create table t (a int primary key, b text, c int) without rowid", {"primary_key": ["a"]}),
    "with two keys": (
        "create table t (a int, b text, c int, primary key (a, c)) without rowid",
        {"primary_key": ["a", "c"]},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_updated_deleted_and_inserted_and_all_is_undone(name: str) -> None:
    sql, facts = TABLES[name]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.execute(sql)
        database.executemany("insert into t values (?, ?, ?)", ((n, f"b{n % 9}", n % 7) for n in range(500)))
        before = database.execute("select * from t order by a").fetchall()
        table = {"name": "t", "columns": [{"name": each} for each in "abc"], **facts}
        script = SqliteIndexTrials().write_script(table, ["b"], 100)
        changed = {}
        for place, statement in enumerate(script.statements):
            count = database.execute(statement).rowcount
            changed |= {operation: count for operation, at in script.timed.items() if at == place}
        assert changed == {"update": 100, "delete": 100, "insert": 100}
        assert database.execute("select * from t order by a").fetchall() == before
