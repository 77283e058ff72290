"""The files of traces: Parquet and journals hold the same, also if a process was killed."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.trace.header import VERSION, Header, Transactions
from dbdyno.trace.journal import journal_of, packed
from dbdyno.trace.journal_writer import JournalWriter
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.reading import open_trace
from dbdyno.trace.reports import ReportRecorder, open_recording
from dbdyno.trace.sent import Sent
from dbdyno.trace.summary import summarize

Row = tuple[int, str, int, int]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["begin", "commit", "select ?", "x"]),
        st.integers(0, 10**15),
        st.integers(0, 10**9),
    )
)  # fmt: skip


def write(path: Path, rows: list[Row]) -> None:
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for session, text, start, duration in rows:
            writer.add(session, text, Execution(start, duration, 1, None, None, ["integer:1:00"]))


def journal(rows: list[Row]) -> bytes:
    texts = list(dict.fromkeys(text for _, text, _, _ in rows))
    lines: list[list[object]] = [["text", number, text] for number, text in enumerate(texts)]
    for session, text, start, duration in rows:
        lines.append([session, texts.index(text), start, duration, 1, None, None, ["integer:1:00"]])
    return packed(Header("sqlite", "test"), "1", lines)


def read(path: Path) -> list[tuple[object, ...]]:
    trace = open_trace(path)
    rows: list[tuple[object, ...]] = []
    for each in trace.batches:
        texts = [trace.texts[number] for number in each.statement]
        columns = (each.session, each.transaction, texts, each.start, each.duration_ns, map(tuple, each.values))
        rows += zip(*columns, strict=True)
    return rows


@given(ROWS)
def test_parquet_and_journal_hold_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    directory = tmp_path_factory.mktemp("traces")
    write(directory / "a.trace", rows)
    (directory / "b.trace").write_bytes(journal(rows))
    found = read(directory / "a.trace")
    assert found == read(directory / "b.trace")
    assert [(each[2], each[3], each[4]) for each in found] == [row[1:] for row in rows]
    first, second = (open_trace(directory / name).header for name in ("a.trace", "b.trace"))
    assert first == second


def test_a_killed_process_loses_its_last_member_only(tmp_path: Path) -> None:
    path = tmp_path / "day.trace"
    whole = journal([(1, "select ?", 5, 6)])
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        assert len(read(path)) == 1


def test_large_traces_have_several_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "day.trace"
    write(path, [(each % 7, "select ?", each, 1000) for each in range(70_000)])
    assert parquet.ParquetFile(path).num_row_groups == 2
    summary = summarize(open_trace(path))
    assert summary.statements[0].count == 70_000
    assert summary.statements[0].mean_ms == pytest.approx(0.001)
    assert summary.statements[0].percentile_ms(99) == pytest.approx(0.001)


def test_transactions_are_numbered_by_session() -> None:
    numbers = Transactions()
    steps = [
        (1, "begin"),
        (2, "select ?"),
        (1, "insert"),
        (2, "begin"),
        (1, "commit"),
        (1, "select ?"),
        (2, "rollback"),
    ]
    assert [numbers.of(*each) for each in steps] == [1, None, 1, 2, 1, None, 2]
    implicit = [
        (3, "set autocommit = 0"),
        (3, "insert"),
        (3, "commit"),
        (3, "select ?"),
        (3, "rollback to savepoint s"),
    ]
    assert [numbers.of(*each) for each in implicit] == [None, 3, 3, 4, 4]


def test_wrong_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    with pytest.raises(InputError, match=r"x\.trace: cannot read the trace: no such file"):
        open_trace(path)
    journal_of(path).touch()
    with pytest.raises(InputError, match=rf"no such file.*`dbdyno trace convert {path}\.journal -o {path}`"):
        open_trace(path)
    path.write_text("select 1")
    with pytest.raises(InputError, match=r"x\.trace: not a trace; record one with `dbdyno capture`"):
        open_trace(path)
    parquet.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InputError, match="a Parquet file, but not a trace"):
        open_trace(path)
    path.write_bytes(packed(Header("sqlite", "test", version=VERSION + 1), "1", []))
    with pytest.raises(InputError, match=f"the trace has version {VERSION + 1}; this dbdyno reads version {VERSION}"):
        open_trace(path)
    path.write_bytes(b"\x1f\x8b\x08 damaged")
    with pytest.raises(InputError, match="the journal is damaged; record it again"):
        open_trace(path)


def test_statements_that_only_failed_have_no_text(tmp_path: Path) -> None:
    path = tmp_path / "day.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        writer.add(1, "select * from bob@example", Execution(error="42601"))
        writer.add(1, "insert into t values (?)", Execution())
        writer.add(1, "insert into t values (?)", Execution(error="duplicate key bob"))
    rows = read(path)
    assert [each[2] for each in rows] == ["select (failed)", "insert into t values (?)", "insert into t values (?)"]
    assert summarize(open_trace(path)).errors == {"42601": 1, "error": 1}


def test_only_the_owner_may_read_kept_values(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "day.trace", Header("sqlite", "test", values="kept")) as writer:
        (partial,) = tmp_path.iterdir()
        assert partial.stat().st_mode & 0o777 == 0o600
        writer.add(1, "select ?", Execution(values=["'bob'"]))
    assert (tmp_path / "day.trace").stat().st_mode & 0o777 == 0o600


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let writes fail as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [1, 100])
def test_a_full_disk_leaves_no_partial_trace(tmp_path: Path, size: int) -> None:
    with pytest.raises(InputError), files_of_at_most(size):
        write(tmp_path / "day.trace", [(1, "select ?", 5, 6)])
    assert not list(tmp_path.iterdir())


def record(output: Path, texts: list[str]) -> None:
    problems: list[str] = []
    with open_recording(output) as made:
        recorder = made.add(ReportRecorder(JournalWriter(made.journal, "sqlite", keep=True), "1", problems.append))
        for text in texts:
            recorder.take([1, text, 1, 1, 1, None, None, None, None, None])
            recorder.flush()


def test_a_recording_on_a_full_disk_says_why_statements_are_missing(tmp_path: Path) -> None:
    output = tmp_path / "day.trace"
    problem = r"day\.trace: 0 of 1 statements were recorded: no space left"
    with pytest.raises(SystemFailed, match=problem), files_of_at_most(100):
        record(output, ["select 1"])
    hint = r"free some space, and then run `dbdyno trace convert .*day\.trace\.journal -o .*day\.trace`"
    with pytest.raises(InputError, match=hint), files_of_at_most(400):
        record(output, ["select 1"])
    assert [each.name for each in tmp_path.iterdir()] == ["day.trace.journal"]


def test_traces_from_before_statements_were_prepared_are_read(tmp_path: Path) -> None:
    new, old, lines = tmp_path / "new.trace", tmp_path / "old.trace", tmp_path / "old.journal"
    with TraceWriter(new, Header("sqlite", "test", values="kept")) as writer:
        writer.add(1, "select ?", Execution(1, 2, 1, sent=Sent("select 7")))
    table = parquet.read_table(new).drop_columns(["prepared"])
    parquet.write_table(table.replace_schema_metadata(parquet.read_metadata(new).metadata), old)
    row = [1, 0, 1, 2, 1, None, None, ["7"], None, "select 7"]
    lines.write_bytes(packed(Header("sqlite", "test", "kept"), "1", [["text", 0, "select ?"], row]))
    for each in (old, lines):
        (batch,) = open_trace(each).batches
        assert (batch.sent, batch.prepared) == (["select 7"], [None])
