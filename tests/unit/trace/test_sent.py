"""Statements as they can be executed again."""

import sqlite3
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dbdyno.trace
from dbdyno.trace.capture import LogOptions, record_logs
from dbdyno.trace.fingerprint import Fingerprints
from dbdyno.trace.reading import open_trace
from dbdyno.trace.reports import convert
from dbdyno.trace.sent import SentStatements


def sent(engine: str, text: str, parameters: Any = None) -> str | None:
    return SentStatements(engine).of(Fingerprints(engine).of(text), text, parameters)


@pytest.mark.parametrize(
    ("engine", "text", "parameters", "expected"),
    [
        ("postgresql", "select $1,$2::text", [5, "it's"], "select  5 , 'it''s' ::text"),
        ("postgresql", "select '$1', $1", [b"\0a"], r"select '$1',  '\x0061' "),
        ("postgresql", r"select $1", ["a\\b"], r"select  'a\b' "),
        ("mysql", "select ?", ["a\\b"], r"select  'a\\b' "),
        ("sqlite", "select 3-?", [-2], "select 3- -2 "),
        (
            "sqlite",
            "insert into t values (:a, :b)",
            {"b": b"\xff", "a": None},
            "insert into t values ( null ,  x'ff' )",
        ),
        ("sqlite", "select %s", [Decimal("1.50")], "select  1.50 "),
        ("sqlite", "select ?", [datetime(2024, 5, 6, tzinfo=UTC)], "select  '2024-05-06 00:00:00+00:00' "),
    ],
)
def test_parameters_become_literals(engine: str, text: str, parameters: Any, expected: str) -> None:
    assert sent(engine, text, parameters) == expected


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("select $1", None),
        ("select $2", ["one"]),
        ("select $1", [float("nan")]),
        ("select $1", ["a\0b"]),
        ("select $1", [[1, 2]]),
    ],
)
def test_a_parameter_without_a_literal_has_no_statement(text: str, parameters: Any) -> None:
    assert sent("postgresql", text, parameters) is None


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ("postgresql", "create role me login password 'planted'"),
        ("postgresql", "select 1; alter user me password 'planted'"),
        ("postgresql", "create subscription s connection 'host=h password=planted' publication p"),
        ("postgresql", "copy t from stdin"),
        ("mysql", "set password = 'planted'"),
        ("mysql", "grant all on *.* to me identified by 'planted'"),
        ("mysql", "load data local infile 'f' into table t"),
        ("sqlite", "pragma key = 'planted'"),
        ("sqlite", "attach 'f.db' as other key 'planted'"),
        ("sqlite", "unknown 'planted"),
    ],
)
def test_passwords_and_data_are_never_kept(engine: str, text: str) -> None:
    assert sent(engine, text) is None


@pytest.mark.parametrize(
    "text",
    ["create table users (password text)", "set search_path = a", "begin; insert into t values (1); commit",
     "savepoint a", "copy t to stdout", "create index i on t (a) where b = 'x'"],
)  # fmt: skip
def test_other_statements_are_kept_as_they_were(text: str) -> None:
    assert sent("postgresql", text) == text


def test_a_journal_and_parquet_have_them_if_values_are_kept(tmp_path: Path) -> None:
    for values in ("keep", "hash"):
        journal, file = tmp_path / f"{values}.journal", tmp_path / f"{values}.trace"
        connection = dbdyno.trace.sqlite(sqlite3.connect(":memory:"), journal, values=values)  # type: ignore[arg-type]
        connection.execute("create table t (a)")
        connection.execute("insert into t values (?)", (7,))
        connection.commit()
        dbdyno.trace.flush()
        convert(journal, file)
        expected = ["create table t (a)", "begin", "insert into t values ( 7 )", "commit"]
        for each in (journal, file):
            found = [text for batch in open_trace(each).batches for text in batch.sent]
            assert found == (expected if values == "keep" else [None] * 4)


def test_a_log_has_them_too(tmp_path: Path) -> None:
    log, file = tmp_path / "postgresql.log", tmp_path / "day.trace"
    log.write_text(
        "2024-05-06 10:00:00.000 UTC [7] LOG:  duration: 1.000 ms  execute <unnamed>: select $1, $2\n"
        "2024-05-06 10:00:00.000 UTC [7] DETAIL:  parameters: $1 = 'it''s', $2 = NULL\n"
        "2024-05-06 10:00:01.000 UTC [7] LOG:  duration: 1.000 ms  statement: alter role me password 'planted'\n"
        "2024-05-06 10:00:02.000 UTC [7] LOG:  duration: 1.000 ms  statement: drop table t\n"
    )
    record_logs([log], file, LogOptions(keep=True))
    found = [text for batch in open_trace(file).batches for text in batch.sent]
    assert found == ["select  'it''s' ,  null ", None, "drop table t"]
    assert b"planted" not in file.read_bytes()
