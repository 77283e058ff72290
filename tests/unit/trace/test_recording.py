"""Recording within an application: sqlite3 and SQLAlchemy behave as before, and their statements are recorded."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import dbdyno.trace
from dbdyno.trace.reading import open_trace
from dbdyno.trace.recorded import Recorded
from dbdyno.trace.recorder import recorder


def recorded(path: Path) -> list[tuple[str, int | None, str | None]]:
    """The statements of a journal, with their rows and errors."""
    dbdyno.trace.flush()
    trace = open_trace(path)
    return [
        (trace.texts[text], rows, error)
        for each in trace.batches
        for text, rows, error in zip(each.statement, each.rows, each.error, strict=True)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "day.trace"


@pytest.fixture
def connection(path: Path) -> Any:
    made = dbdyno.trace.sqlite(sqlite3.connect(":memory:"), path)
    made.execute("create table t (a integer primary key, b text)")
    return made


def test_statements_of_sqlite3(path: Path, connection: Any) -> None:
    connection.row_factory = sqlite3.Row
    with connection:
        connection.execute("insert into t values (?, ?)", (1, "secret"))
        connection.executemany("insert into t values (?, ?)", ((each, "x") for each in range(2, 5)))
    assert [tuple(each) for each in connection.execute("select a from t where b = 'x'")] == [(2,), (3,), (4,)]
    assert connection.execute("select a from t").fetchone()["a"] == 1
    assert len(connection.cursor().execute("select a from t").fetchmany(2)) == 2
    with pytest.raises(sqlite3.IntegrityError), connection:
        connection.execute("insert into t values (?, ?)", (1, "secret"))
    assert connection.total_changes == 4
    assert not connection.in_transaction
    assert recorded(path) == [
        ("create table", 0, None),
        ("begin", None, None),
        ("insert into t values (?, ?)", 1, None),
        *[("insert into t values (?, ?)", 1, None)] * 3,
        ("commit", None, None),
        ("select a from t where b = ?", 3, None),
        ("select a from t", 1, None),
        ("select a from t", 2, None),
        ("begin", None, None),
        ("insert into t values (?, ?)", None, "SQLITE_CONSTRAINT_PRIMARYKEY"),
        ("rollback", None, None),
    ]
    assert b"secret" not in path.read_bytes()


def test_many_rows_by_iteration(path: Path, connection: Any) -> None:
    connection.executemany("insert into t values (?, 'x')", ((each,) for each in range(1000)))
    assert sum(each[0] for each in connection.execute("select a from t")) == 499_500
    cursor = connection.execute("select a from t order by a")
    assert next(iter(cursor)) == (0,)
    cursor.close()
    assert recorded(path)[-2:] == [("select a from t", 1000, None), ("select a from t order by a", 1, None)]


def test_statements_of_sqlalchemy(path: Path) -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    dbdyno.trace.sqlalchemy(engine, path)
    with engine.begin() as made:
        made.exec_driver_sql("create table t (a integer, b text)")
        made.execute(sqlalchemy.text("insert into t values (:a, :b)"), [{"a": 1, "b": "secret"}, {"a": 2, "b": "x"}])
    with engine.connect() as made:
        assert made.execute(sqlalchemy.text("select a from t where b = :b"), {"b": "x"}).scalar() == 2
        with pytest.raises(sqlalchemy.exc.OperationalError):
            made.exec_driver_sql("select * from secret")
    texts = [(text, error) for text, _, error in recorded(path)]
    assert texts == [
        ("create table", None),
        ("begin", None),
        ("insert into t values (?, ?)", None),
        ("insert into t values (?, ?)", None),
        ("commit", None),
        ("select a from t where b = ?", None),
        ("select (failed)", "SQLITE_ERROR"),
    ]
    assert b"secret" not in path.read_bytes()
    trace = open_trace(path)
    batch = next(trace.batches)
    commit = batch.statement.index(trace.texts.index("commit"))
    assert (batch.duration_ns[commit] or 0) > 0


def test_statements_of_django(path: Path) -> None:
    import django
    from django.conf import settings

    file = str(path.with_name("django.db"))
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": file}})
    django.setup()
    dbdyno.trace.django(path, values="keep")
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("create table t (a integer)")
        cursor.execute("insert into t values (%s)", [1])
        cursor.execute("create virtual table f using fts5 (b)")
        cursor.execute("select b from f where f match %s", ["x"])
        cursor.execute("select a %% %(size)s from t where '%%' <> '' and a > %(low)s", {"size": 2, "low": 0})
        cursor.execute("select '%%s' from t where a %% 2 = 1", ())
        cursor.execute("select '%%' from t where a % 2 = 1")
    texts = [text for text, _, _ in recorded(path)]
    assert texts[-9:] == [
        "begin",
        "create table",
        "insert into t values (?)",
        "create",
        "select b from f where f match ?",
        "select a % ? from t where ? <> ? and a > ?",
        "select ? from t where a % ? = ?",
        "select ? from t where a % ? = ?",
        "commit",
    ]
    batch = next(open_trace(path).batches)
    assert list(zip(batch.sent, batch.prepared, strict=True))[-7:] == [
        ("insert into t values (?)", '{"once":true,"parameters":[1]}'),
        ("create virtual table f using fts5 (b)", '{"once":true,"parameters":[]}'),
        ("select b from f where f match ?", '{"once":true,"parameters":["x"]}'),
        ("select a % :size from t where '%' <> '' and a > :low", '{"once":true,"parameters":[2,0]}'),
        ("select '%s' from t where a % 2 = 1", '{"once":true,"parameters":[]}'),
        ("select '%%' from t where a % 2 = 1", '{"once":true,"parameters":[]}'),
        ("commit", None),
    ]
    # Django closes it after a request.
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("select a from t")
    recorded(path)
    sessions = next(open_trace(path).batches).session
    assert sessions[-1] != sessions[-2]


def test_recording_never_disturbs_the_application(path: Path, connection: Any) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    connection.execute("insert into t values (1, 'x')")
    dbdyno.trace.flush()
    path.rmdir()
    connection.execute("insert into t values (2, 'x')")
    dbdyno.trace.flush()
    assert open_trace(path).header.dropped >= 1


def test_statements_beyond_the_queue_are_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.trace.recorder._MOST_WAITING", 3)
    own = recorder(path, "sqlite", keep=False)
    with own._writing:
        for number in range(5):
            own.record(Recorded(1, "select 1", None, number, 1))
    own.flush()
    header = open_trace(path).header
    assert (header.statements, header.dropped) == (3, 2)


PROGRAM = """\
import os, sqlite3, sys
import dbdyno.trace
made = dbdyno.trace.sqlite(sqlite3.connect(":memory:"), sys.argv[1])
made.execute("select 1")
child = os.fork()
made.execute("select 2" if child else "select 3")
if child:
    os.waitpid(child, 0)
large = {"numpy", "pyarrow", "pydantic", "sqlalchemy", "sqlglot", "typer"} & set(sys.modules)
assert not large, large
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_share_a_journal_and_import_little(path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, path], check=True, timeout=60)
    texts = sorted(text for text, _, _ in recorded(path))
    assert texts == ["select 1", "select 2", "select 3"]
    assert open_trace(path).header.sessions == 2
