"""`distil` with a database: parameters have the values that the application used."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dbdyno.base.errors import InputError
from dbdyno.engines.url import parse_url
from dbdyno.run.column_samples import sample_column
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.values import Values, trace_key


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create a database whose open orders are rare."""
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect("shop.db")
    connection.execute("create table orders (id integer primary key, status text, stock int)")
    rows = ((number, "open" if number % 100 == 0 else "done", number % 50) for number in range(1, 2001))
    connection.executemany("insert into orders values (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return "sqlite:shop.db"


def record(statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
    """Write a trace, and its key beside it."""
    path = Path("day.trace")
    values = Values(trace_key(path))
    with TraceWriter(path, Header("sqlite", "test", values.kept)) as writer:
        for number, (text, parameters) in enumerate(statements):
            written = [values.of(each) for each in parameters]
            writer.add(1, text, Execution(1_700_000_000_000_000 + number * 1000, 10_000, 1, None, None, written))


def test_ranks_name_values_by_their_frequency(shop: str) -> None:
    system = parse_url(shop)
    assert sample_column(system, "orders", "status rank 1, 2, 2", 10) == ["done", "open", "open"]
    assert sample_column(system, "orders", "stock rank 1, 50", 10) == [0, 49]
    with pytest.raises(InputError, match="the column has 2 different values, so none has rank 3"):
        sample_column(system, "orders", "status rank 3", 10)
