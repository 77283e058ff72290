"""Question 25: a gate that cries wolf."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dbdyno.trace
from conftest import Cli
from repeated import repeated

WHO = {f"GIT_{who}_{what}": "n@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# A pass, and a comparison that is not settled.
QUIET, REGRESSION = 0, 3


def git(directory: Path, *arguments: str) -> None:
    environment = {**os.environ, **WHO}
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True)


@pytest.fixture
def recorded(tmp_path: Path) -> Cli:
    """A repository with the distilled load of an application, whose database is beside it."""
    (tmp_path / "load").mkdir()
    cli = Cli(tmp_path / "load")
    with sqlite3.connect(cli.directory.parent / "app.db") as connection:
        connection.execute("create table item (id integer primary key, kind int, name text)")
        rows = [(number, number % 50, f"item {number}") for number in range(5000)]
        connection.executemany("insert into item values (?, ?, ?)", rows)
        connection.execute("create index item_kind on item (kind)")
    connection.close()
    application: Any = dbdyno.trace.sqlite(
        sqlite3.connect(cli.directory.parent / "app.db"), cli.directory / "day.journal"
    )
    for number in range(200):
        application.execute("select name from item where id = ?", (number,)).fetchall()
        application.execute("select count(*) from item where kind = ?", (number % 50,)).fetchall()
    dbdyno.trace.flush()
    cli(
        "distil",
        "day.journal",
        "-o",
        "load.sql",
        "--think",
        "none",
        "--system",
        f"sqlite:{cli.directory.parent}/app.db",
    )
    git(cli.directory, "init", "-q")
    git(cli.directory, "add", "load.sql")
    git(cli.directory, "commit", "-q", "-m", "load")
    return cli


def gate(cli: Cli) -> int:
    options = ("--mix", "--set", "seconds=0.3", "--rounds", "6", "--margin", "3%", "--against", "HEAD")
    return cli.invoke("gate", "load.sql", *options, "--system", f"sqlite:{cli.directory.parent}/app.db").code


@repeated
def test_25_a_gate_does_not_cry_wolf(recorded: Cli) -> None:
    """A change of the documentation is no regression, however often the gate runs; a lost index is one."""
    with (recorded.directory / "load.sql").open("a") as file:
        file.write("-- Only a comment.\n")
    assert [gate(recorded) for _ in range(4)] == [QUIET] * 4
    load = recorded.directory / "load.sql"
    load.write_text(load.read_text().replace("where kind = ", "where kind + 0 = "))
    assert gate(recorded) == REGRESSION
