"""Questions 8 and 10: which index slow queries need, and which set of indexes the whole workload."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Cli

OPTIONS = ("--system", "sqlite:shop.db", "--target", "90%", "--budget", "3m")


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = Path(cli.directory) / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table tasks (id integer primary key, queue text, priority int, done int, body text)")
        made.executemany(
            "insert into tasks (queue, priority, done, body) values (?, ?, ?, ?)",
            ((f"q{n * 7919 % 400}", n * 31 % 50, int(n % 300 != 0), "x" * 50) for n in range(60_000)),
        )
        made.commit()
    return path


def test_8_which_index_do_my_slow_queries_need(cli: Cli, shop: Path) -> None:
    cli.write("q.sql", "-- name: next\nselect * from tasks where queue = 'q7' order by priority limit 3;\n")
    said = cli("queries", "q.sql", *OPTIONS)
    lines = said.strip().splitlines()[:12]
    words = " ".join(" ".join(lines).split())
    assert "next takes" in words
    assert "Take this one: all statements" in words
    assert "on disk; rows of tasks take longer: insert" in words
    assert "create index on_tasks_queue_priority on tasks (queue, priority);" in words


def test_10_which_set_of_indexes_for_the_whole_workload(cli: Cli, shop: Path) -> None:
    """One index serves two statements; a statement that hardly counts gets none."""
    cli.write(
        "q.sql",
        "-- name: next\n-- weight: 1000\nselect * from tasks where queue = 'q7' order by priority limit 3;\n"
        "-- name: length\n-- weight: 1000\nselect count(*) from tasks where queue = 'q9';\n"
        "-- name: rare\n-- weight: 0.01\nselect count(*) from tasks where body = 'y';\n",
    )
    words = " ".join(cli("queries", "q.sql", *OPTIONS).split())
    assert "Take this one: all statements weighted" in words
    assert words.count("create index") == 1
    assert "on tasks (queue, priority);" in words
