"""The order of a recording's statements: of all sessions by start, with transactions, sessions and segments."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.recording import ENDS_SESSION, ENDS_UNIT, Recording, read_recording
from dbdyno.trace.sent import Sent

# A session, a statement, its start and its duration in microseconds.
Row = tuple[int, str, int | None, int | None]


def recording(path: Path, rows: Sequence[Row], **header: Any) -> Recording:
    with TraceWriter(path, Header("sqlite", "a test", **{"values": "kept"} | header)) as writer:
        for session, text, start, duration in rows:
            sent = Sent(None if text == "create user" else text)
            nanoseconds = None if duration is None else duration * 1000
            writer.add(session, text, Execution(start, nanoseconds, 1, sent=sent))
    return read_recording(path)


def shown(made: Recording) -> list[tuple[str, int]]:
    lines = [json.loads(line) for line in made.lines()]
    return [(line[4], line[1]) for line in lines]


def test_statements_are_in_the_order_of_their_starts(tmp_path: Path) -> None:
    # In a log, they are in the order of their ends.
    rows: list[Row] = [(1, "b", 1020, 5), (2, "c", 1030, 1), (1, "d", 1040, 1), (3, "a", 1000, 100)]
    made = recording(tmp_path / "a.trace", rows)
    assert shown(made) == [("a", 0), ("b", 20), ("c", 30), ("d", 40)]
    assert made.sessions == 3
    assert made.most_sessions == 2


def test_a_session_never_goes_back_in_time(tmp_path: Path) -> None:
    rows: list[Row] = [(1, "a", 1020, 1), (1, "b", 1010, 1), (2, "c", 1015, 1), (1, "d", None, None)]
    made = recording(tmp_path / "a.trace", rows)
    assert shown(made) == [("c", 0), ("a", 5), ("b", 5), ("d", 5)]


def test_units_are_transactions_or_statements_outside_of_one(tmp_path: Path) -> None:
    rows: list[Row] = [
        (1, "begin", 10, 1), (2, "select 1", 15, 3), (1, "select 2", 20, 4), (1, "commit", 30, 9),
        (2, "select 3", 50, 1),
    ]  # fmt: skip
    made = recording(tmp_path / "a.trace", rows)
    assert made.unit_end_us.tolist() == [29, 8, -1, -1, 41]
    both = ENDS_UNIT | ENDS_SESSION
    assert made.flags.tolist() == [0, ENDS_UNIT, 0, both, both]


def test_what_the_trace_does_not_have_is_left_out(tmp_path: Path) -> None:
    rows: list[Row] = [
        (1, "begin", 10, 1),
        (1, "create user", 20, 1),
        (1, "select 1", 30, 1),
        (1, "create user", 40, 1),
    ]
    made = recording(tmp_path / "a.trace", rows)
    assert made.left_out == {"create user": 2}
    assert shown(made) == [("begin", 0), ("select 1", 20)]
    # The flags are those of the statements that are left.
    assert made.flags.tolist() == [0, ENDS_UNIT | ENDS_SESSION]


def test_segments_end_where_no_transaction_is_open(tmp_path: Path) -> None:
    rows: list[Row] = []
    for number in range(200):
        at = number * 100
        rows += [(1, "begin", at, 1), (1, "select 1", at + 10, 1), (1, "commit", at + 20, 1)]
    made = recording(tmp_path / "a.trace", rows)
    segments = made.segments(20)
    assert len(segments) == 20 and segments[0][0] == 0 and segments[-1][1] == len(made) == 600
    assert all(after[0] == before[1] for before, after in pairwise(segments))
    assert all(made.texts[made.statement[first]] == "begin" for first, _ in segments)
    assert all(25 <= end - first <= 35 for first, end in segments)
    assert recording(tmp_path / "b.trace", rows[:30]).segments(20) == [(0, 30)]


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("select 1", False), ("(select 1)", False), ("with a as (select 1) select * from a", False), ("begin", False),
        ("with a as (delete from t returning *) select * from a", True), ("insert into t values (1)", True),
        ("create table", True), ("call p()", True), ("(several statements)", True),
    ],
)  # fmt: skip
def test_a_statement_that_may_write_is_found(tmp_path: Path, text: str, writes: bool) -> None:
    assert (recording(tmp_path / "a.trace", [(1, text, 0, 1)]).writing is not None) is writes


@pytest.mark.parametrize(
    ("header", "expected"),
    [({"values": "hashed"}, "contains no values"), ({"ordered": False}, "has totals"), ({}, "none of its statements")],
)
def test_some_traces_cannot_be_replayed(tmp_path: Path, header: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        recording(tmp_path / "a.trace", [(1, "create user", 0, 1)], **header)
