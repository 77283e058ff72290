"""Statements as they can be executed again."""

import json
import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dbdyno.trace
from dbdyno.trace.bound_values import UNKNOWN_PARAMETER, UnreadBytes
from dbdyno.trace.capture import LogOptions, record_logs
from dbdyno.trace.fingerprint import Fingerprints
from dbdyno.trace.reading import open_trace
from dbdyno.trace.recorded import Recorded
from dbdyno.trace.reports import convert
from dbdyno.trace.sent import Sent, SentStatements


def sent(engine: str, text: str, parameters: Any = None, **how: Any) -> Sent:
    recorded = Recorded(1, text, parameters, 0, 0, **how)
    return SentStatements(engine).of(Fingerprints(engine).of(text), recorded)


def prepared(engine: str, text: str, parameters: Any, **how: Any) -> tuple[str | None, Any]:
    made = sent(engine, text, parameters, **{"once": True} | how)
    return made.text, None if made.prepared is None else json.loads(made.prepared)


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
def test_parameters_of_a_driver_that_sends_text_become_literals(
    engine: str, text: str, parameters: Any, expected: str
) -> None:
    assert sent(engine, text, parameters) == (expected, None)


@pytest.mark.parametrize(
    ("engine", "text", "parameters", "expected", "values"),
    [
        ("postgresql", "select $2, $1, $2", [5, "it's"], "select $2, $1, $2", [5, "it's"]),
        ("postgresql", "select %s, '%s', %s", [5, None], "select $1, '%s', $2", [5, None]),
        ("postgresql", "select %(b)s, %(a)s, %(b)s", {"a": 1, "b": True}, "select $1, $2, $1", [True, 1]),
        ("postgresql", "select $1", [1 << 70], "select $1", [str(1 << 70)]),
        ("postgresql", "select $99999999999999", [5], "select $99999999999999", [5]),
        ("mysql", "select ?, ?", [(1 << 64) - 1, "a\\b"], "select ?, ?", [(1 << 64) - 1, "a\\b"]),
        ("sqlite", "select ?3, ?, :a", ["x", "y", "z", 4, 5], "select ?3, ?, :a", ["x", "y", "z", 4, 5]),
        ("sqlite", "select :b, @a, :b", {"a": 1, "b": 2}, "select :b, @a, :b", [2, 1]),
        ("sqlite", "select $2, $1", ["x", "y"], "select $2, $1", ["x", "y"]),
        ("sqlite", "select %s", [b"\0\xff"], "select ?1", [{"hex": "00ff"}]),
        ("sqlite", "select ?", [float("-inf")], "select ?", [{"real": "-inf"}]),
        ("sqlite", "select ?", [date(2024, 5, 6)], "select ?", ["2024-05-06"]),
        ("sqlite", "begin", None, "begin", []),
    ],
)
def test_a_prepared_statement_has_its_parameters(
    engine: str, text: str, parameters: Any, expected: str, values: list[Any]
) -> None:
    assert prepared(engine, text, parameters) == (expected, {"once": True, "parameters": values})


def test_declared_types_are_kept() -> None:
    text = "select $1, $2"
    assert prepared("postgresql", text, [1, "a"], once=False, types=[23, 0]) == (
        text, {"once": False, "types": [23, 0], "parameters": [1, "a"]},
    )  # fmt: skip
    assert prepared("postgresql", text, [1, "a"], types=[0, 0]) == (text, {"once": True, "parameters": [1, "a"]})


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("select $1", None),
        ("select $2", ["one"]),
        ("select $1", [UNKNOWN_PARAMETER]),
        ("select $1", [UnreadBytes(b"a")]),
        ("select $1", [[1, 2]]),
        ("select $1", ["\ud800"]),
        ("select %(a)s", {"b": 1}),
    ],
)
def test_a_parameter_that_cannot_be_bound_has_no_statement(text: str, parameters: Any) -> None:
    assert sent("postgresql", text, parameters, once=True) == Sent()


def test_a_prepared_statement_is_explained_as_text() -> None:
    for engine, text, parameters, expected in (
        ("postgresql", "select $2, $1", [5, "it's"], "select  'it''s' ,  5 "),
        ("mysql", "select ?", [b"\xff"], "select  x'ff' "),
        ("sqlite", "select :a, :a", [2], "select  2 ,  2 "),
    ):
        made = sent(engine, text, parameters, once=True)
        assert SentStatements(engine).as_text(made) == expected
    assert SentStatements("sqlite").as_text(sent("sqlite", "select ?", [float("inf")], once=True)) is None
    assert SentStatements("sqlite").as_text(Sent("select 1")) == "select 1"


def test_statements_that_a_driver_has_prepared_are_not_deallocated_by_name() -> None:
    statements, fingerprints = SentStatements("postgresql"), Fingerprints("postgresql")

    def of(text: str) -> str | None:
        return statements.of(fingerprints.of(text), Recorded(1, text, None, 0, 0)).text

    assert of("deallocate _pg3_0") is None
    for text in ("deallocate all", "prepare p as select 1", "deallocate p", "deallocate prepare p"):
        assert of(text) == text


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
    assert sent("postgresql", text, parameters) == Sent()


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
    assert sent(engine, text) == sent(engine, text, once=False) == Sent()


@pytest.mark.parametrize(
    "text",
    ["create table users (password text)", "set search_path = a", "begin; insert into t values (1); commit",
     "savepoint a", "copy t to stdout", "create index i on t (a) where b = 'x'"],
)  # fmt: skip
def test_other_statements_are_kept_as_they_were(text: str) -> None:
    assert sent("postgresql", text).text == text


def test_a_journal_and_parquet_have_them_if_values_are_kept(tmp_path: Path) -> None:
    for values in ("keep", "hash"):
        journal, file = tmp_path / f"{values}.journal", tmp_path / f"{values}.trace"
        connection = dbdyno.trace.sqlite(sqlite3.connect(":memory:"), journal, values=values)  # type: ignore[arg-type]
        connection.execute("create table t (a)")
        connection.execute("insert into t values (?)", (7,))
        connection.commit()
        dbdyno.trace.flush()
        convert(journal, file)
        expected = [
            ("create table t (a)", '{"once":true,"parameters":[]}'),
            ("begin", None),
            ("insert into t values (?)", '{"once":true,"parameters":[7]}'),
            ("commit", None),
        ]
        for each in (journal, file):
            found = [one for batch in open_trace(each).batches for one in zip(batch.sent, batch.prepared, strict=True)]
            assert found == (expected if values == "keep" else [(None, None)] * 4)


def test_a_log_has_them_too(tmp_path: Path) -> None:
    log, file = tmp_path / "postgresql.log", tmp_path / "day.trace"
    log.write_text(
        "2024-05-06 10:00:00.000 UTC [7] LOG:  duration: 1.000 ms  execute <unnamed>: select $1, $2\n"
        "2024-05-06 10:00:00.000 UTC [7] DETAIL:  parameters: $1 = 'it''s', $2 = NULL\n"
        "2024-05-06 10:00:00.500 UTC [7] LOG:  duration: 1.000 ms  execute s_1/c: select $1\n"
        "2024-05-06 10:00:00.500 UTC [7] DETAIL:  Parameters: $1 = '7'\n"
        "2024-05-06 10:00:01.000 UTC [7] LOG:  duration: 1.000 ms  statement: alter role me password 'planted'\n"
        "2024-05-06 10:00:02.000 UTC [7] LOG:  duration: 1.000 ms  statement: drop table t\n"
    )
    record_logs([log], file, LogOptions(keep=True))
    found = [one for batch in open_trace(file).batches for one in zip(batch.sent, batch.prepared, strict=True)]
    assert found == [
        ("select $1, $2", '{"once":false,"parameters":["it\'s",null]}'),
        ("select $1", '{"once":true,"parameters":["7"]}'),
        (None, None),
        ("drop table t", None),
    ]
    assert b"planted" not in file.read_bytes()
