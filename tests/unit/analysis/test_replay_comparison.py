"""The lag of a replay, and how executions differ."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dbdyno.analysis.replay import compare_executions, lag_of
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.recording import Executions, Recording, read_recording
from dbdyno.trace.sent import Sent

COUNT = 400


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Two statements in turns."""
    path = tmp_path / "a.trace"
    with TraceWriter(path, Header("sqlite", "a test", "kept")) as writer:
        for number in range(COUNT):
            text = f"select {'ab'[number % 2]}"
            writer.add(1, text, Execution(number * 1000, 1_000_000, 1, sent=Sent(text)))
    return read_recording(path)


def executions(seconds: Any, rows: Any = 1, error: Any = 0) -> Executions:
    return Executions(
        np.broadcast_to(np.asarray(seconds, np.float32), COUNT).copy(),
        np.broadcast_to(np.asarray(rows, np.int32), COUNT).copy(),
        np.broadcast_to(np.asarray(error, np.int16), COUNT).copy(),
    )


def compared(recording: Recording, base: Executions, new: Executions) -> Any:
    return compare_executions(recording, recording.segments(20), base, new, np.ones(COUNT, np.bool_))


def test_a_slower_statement_has_an_interval_below_one(recording: Recording) -> None:
    noise = np.random.default_rng(3).lognormal(0, 0.1, COUNT)
    # Only the second statement takes twice as long.
    factor = np.where(np.arange(COUNT) % 2, 2.0, 1.0)
    comparison = compared(recording, executions(0.001), executions(0.001 * noise * factor))
    slower, other = comparison.statements
    assert (slower.statement, slower.speed.verdict) == ("select b", "slower")
    assert slower.speed.ratio.low < 0.5 < slower.speed.ratio.high
    # Of two intervals that hold together with 95 %.
    assert slower.speed.ratio.confidence == pytest.approx(0.975)
    assert other.speed.verdict != "slower" and other.speed.ratio.low < 1 < other.speed.ratio.high
    assert slower.base_p50_ms == pytest.approx(1)
    assert slower.new_p50_ms == pytest.approx(2, rel=0.1)
    assert comparison.differing == 0


def test_rows_and_errors_are_compared_one_by_one(recording: Recording) -> None:
    unique, missing = (recording.codes.number(code) for code in ("23505", "42P01"))
    rows, error = np.ones(COUNT), np.zeros(COUNT)
    rows[[0, 2]] = 7
    error[[4, 6, 8]] = [missing, missing, unique]
    base_error = np.zeros(COUNT)
    base_error[[8, 10]] = [missing, unique]
    # An execution that failed has no rows to compare, nor one whose rows are unknown.
    rows[4], rows[12] = 9, -1
    comparison = compared(recording, executions(0.001, error=base_error), executions(0.001, rows, error))
    first, other = comparison.statements
    assert first.statement == "select a" and first.differs and not other.differs
    assert first.rows == 2
    assert first.failed == Counter({"42P01": 2})
    assert first.succeeded == Counter({"23505": 1})
    assert first.other_errors == 1
    assert comparison.differing == 6


def test_executions_that_did_not_end_are_left_out(recording: Recording) -> None:
    done = np.zeros(COUNT, np.bool_)
    segments = recording.segments(20)
    assert compare_executions(recording, segments, executions(1), executions(1), done).statements == ()
    done[:7] = True
    found = compare_executions(recording, segments, executions(1), executions(1), done)
    assert {each.statement: each.count for each in found.statements} == {"select a": 4, "select b": 3}


def test_the_main_cause_of_lateness_is_named() -> None:
    late = np.full(100, 0.002, np.float32)
    lag = lag_of(late, {"system": 0.15, "machine": 0.03, "tool": 0.02})
    assert lag.kept_up and lag.p99_s == pytest.approx(0.002)
    late[:10] = 0.5
    lag = lag_of(late, {"system": 1.0, "machine": 4.0, "tool": 0.18})
    assert (lag.kept_up, lag.main_cause, lag.max_s) == (False, "machine", 0.5)
    assert sum(lag.causes.values()) == pytest.approx(1)
