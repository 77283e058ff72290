"""Questions that people ask in public and that a trace answers, on applications with a planted cause."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dbdyno.trace
from conftest import Cli
from repeated import repeated

AUTHORS = 40


def library(path: Path, *more: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table author (id integer primary key, name text)")
        connection.execute("create table book (id integer primary key, author_id int, title text)")
        connection.executemany(
            "insert into author values (?, ?)", [(each, f"author {each}") for each in range(AUTHORS)]
        )
        books = [(each, each % AUTHORS, f"book {each}") for each in range(8000)]
        connection.executemany("insert into book values (?, ?, ?)", books)
        for each in more:
            connection.execute(each)
    connection.close()


def test_20_the_orm_is_slower_than_the_driver(cli: Cli) -> None:
    """The statements of both say where the time goes: the ORM sends one more for each row."""
    orm = pytest.importorskip("sqlalchemy.orm", reason="there is no SQLAlchemy here")
    import sqlalchemy as sa

    library(cli.directory / "app.db")

    class Base(orm.DeclarativeBase):  # type: ignore[misc, name-defined]
        pass

    class Author(Base):
        __tablename__ = "author"
        id = orm.mapped_column(sa.Integer, primary_key=True)
        books = orm.relationship("Book")

    class Book(Base):
        __tablename__ = "book"
        id = orm.mapped_column(sa.Integer, primary_key=True)
        author_id = orm.mapped_column(sa.ForeignKey("author.id"))

    engine = sa.create_engine(f"sqlite:///{cli.directory / 'app.db'}")
    dbdyno.trace.sqlalchemy(engine, cli.directory / "orm.journal")
    for _ in range(5):
        with orm.Session(engine) as session:
            by_orm = sum(len(each.books) for each in session.scalars(sa.select(Author)))
    driver = dbdyno.trace.sqlite(sqlite3.connect(cli.directory / "app.db"), cli.directory / "driver.journal")
    query = "select author.id, book.id from author join book on book.author_id = author.id"
    for _ in range(5):
        assert len(driver.execute(query).fetchall()) == by_orm
    dbdyno.trace.flush()
    counts: dict[str, dict[str, int]] = {}
    for name in ("orm", "driver"):
        cli("trace", "show", f"{name}.journal", "--json", "out.json")
        found = json.loads((cli.directory / "out.json").read_text())["statements"]
        counts[name] = {
            each["statement"]: each["count"] for each in found if each["statement"].lower().startswith("select")
        }
    assert list(counts["driver"].values()) == [5]
    assert sorted(counts["orm"].values()) == [5, 5 * AUTHORS]


@repeated
def test_46_a_and_b_in_turn(cli: Cli) -> None:
    """The application's own statements, on both in turns: one statement is slower, because B lacks an index."""
    library(cli.directory / "a.db", "create index book_author on book (author_id)")
    library(cli.directory / "b.db")
    library(cli.directory / "app.db", "create index book_author on book (author_id)")
    connection: Any = dbdyno.trace.sqlite(
        sqlite3.connect(cli.directory / "app.db"), cli.directory / "day.journal", values="keep"
    )
    for number in range(400):
        connection.execute("select name from author where id = ?", (number % AUTHORS,)).fetchall()
        connection.execute("select title from book where author_id = ?", (number % AUTHORS,)).fetchall()
    dbdyno.trace.flush()
    systems = ("--system", "sqlite:a.db", "--system", "sqlite:b.db")
    shown = cli("replay", "day.journal", *systems, "--speed", "max", "--json", "out.json")
    assert "sqlite:b.db compared with sqlite:a.db: Rows and errors are equal" in shown
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["segments"] == 20
    first, other = document["comparisons"][-1]["statements"]
    assert (first["statement"], first["verdict"]) == ("select title from book where author_id = ?", "slower")
    assert first["speed_interval"][1] < 1
    assert other["verdict"] != "slower" or other["speed"] > 2 * first["speed"]
