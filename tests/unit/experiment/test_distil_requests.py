"""Workloads of applications that open a connection for each request."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.experiment.distil.parameters import Chooser
from dbdyno.experiment.distil.units import Units, opens_connections, recognize
from dbdyno.experiment.distil.workload import Workload, WorkloadWriter
from dbdyno.experiment.mix import mix_experiment
from dbdyno.experiment.queries import read_statements
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.reading import Trace, open_trace

READ = "select id from authors limit 3"
BOOKS = "select title from books where author = ?"
CHANGE = "update authors set books = ? where id = ?"


def record(path: Path, sessions: list[list[str]], *, every_us: int = 10_000) -> None:
    """Record sessions, each of which sends its statements 100 µs apart. They last 100 µs each."""
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number, statements in enumerate(sessions):
            for place, text in enumerate(statements):
                values = ["unknown"] * text.count("?")
                writer.add(number, text, Execution(number * every_us + place * 200, 100_000, 1, None, None, values))


def recognized(path: Path) -> tuple[Trace, Units]:
    opened = open_trace(path)
    return opened, recognize(opened, connects=opens_connections(opened.header, path))


def distilled(path: Path) -> Workload:
    opened, units = recognized(path)
    return WorkloadWriter(opened.header, opened.texts, Chooser(None, None), str(path)).write(units)


def test_a_short_session_is_a_request(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    record(path, [[READ, *[BOOKS] * 5]] * 30 + [[READ, "begin", CHANGE, "commit"]] * 10)
    made = distilled(path)
    assert made.transactions == 2
    assert "-- request: select books and others\n" in made.text
    assert "-- An N+1 loop: repeated 5 times.\n" in made.text
    assert made.text.count("select title from books") == 5
    assert "begin;\n-- name: update authors\n" in made.text
    experiment = mix_experiment(read_statements(made.text, "a.sql", "sqlite"), {}, "a.sql", "sqlite")
    assert experiment.factors["connect"].levels[0].name == "per-transaction"


def test_transactions_of_requests_end_as_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    body = ["begin immediate", CHANGE, "rollback"]
    record(path, [[READ, *body, *body, READ, "begin", "commit", READ]] * 30)
    (unit,) = recognized(path)[1].units
    assert [(slot.begin, slot.end) for slot in unit.slots] == [
        ("", ""), ("begin immediate", "rollback"), ("", "")
    ]  # fmt: skip
    assert [max(item.repeats) for item in unit.items] == [1, 2, 2]


def test_a_session_of_one_transaction_or_statement_is_no_request(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    record(path, [["begin", CHANGE, READ, "commit"]] * 30 + [[READ]] * 30)
    text = distilled(path).text
    assert "-- request:" not in text
    assert "-- transaction: update authors and others\n" in text


def test_a_request_without_an_end_of_its_transaction_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    record(path, [[READ, READ]] * 30 + [[READ, "begin", CHANGE]] * 2)
    _, units = recognized(path)
    assert units.failed == 2
    assert [unit.count for unit in units.units] == [30]


@pytest.mark.parametrize(
    ("sessions", "every_us", "opens"),
    [
        ([[READ] * 10] * 30, 10_000, True),
        # Connections of a pool last as long as the recording.
        ([[READ] * 100] * 30, 10, False),
        ([[READ] * 10] * 4, 10_000, False),
        ([[READ] * 300] * 30, 1_000_000, False),
    ],
)
def test_sessions_that_are_many_and_short_are_requests(
    tmp_path: Path, sessions: list[list[str]], every_us: int, opens: bool
) -> None:
    path = tmp_path / "a.trace"
    record(path, sessions, every_us=every_us)
    assert opens_connections(open_trace(path).header, path) is opens


def test_a_statement_after_the_setup_of_a_session_is_a_statement(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    record(path, [["select set_config(?, ?, false)", READ]] * 30)
    text = distilled(path).text
    assert "set_config" not in text.partition("\n\n")[2] and "begin" not in text
    assert "-- Recorded 30 times" in text


def test_a_worker_beside_requests_has_transactions(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    record(path, [[READ, BOOKS]] * 100 + [["begin", CHANGE, "commit"] * 80])
    kinds = {(unit.is_request, unit.is_transaction): unit.count for unit in recognized(path)[1].units}
    assert kinds == {(True, False): 100, (False, True): 80}


def test_open_sessions_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.experiment.distil.units._MOST_OPEN", 5)
    record(tmp_path / "a.trace", [[READ, CHANGE]] * 40)
    assert [unit.count for unit in recognized(tmp_path / "a.trace")[1].units] == [40]


def test_statements_with_too_few_values_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    with TraceWriter(path, Header("sqlite", "test")) as writer:
        for number in range(20):
            writer.add(1, BOOKS, Execution(number * 1000, 1000, values=[]))
            writer.add(1, READ, Execution(number * 1000 + 500, 1000))
    made = distilled(path)
    assert made.transactions == 1
    assert [words for words in made.left_out if "too few values" in words]
