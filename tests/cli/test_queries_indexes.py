"""`dbdyno queries` builds and measures candidate indexes on a copy of a database file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from measured_indexes import measured_indexes

STATEMENTS = """
-- name: latest
select * from orders where customer = 77 order by at desc limit 5;
-- name: nearly all
select id, total from orders where customer > 10 order by total desc limit 10;
-- name: key
select * from orders where id = 5;
"""


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = Path(cli.directory) / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table orders (id integer primary key, customer int, at int, total real, note text)")
        made.executemany(
            "insert into orders (customer, at, total, note) values (?, ?, ?, ?)",
            ((n * 7919 % 1000, n * 31 % 5000, n * 17 % 9973, "x" * 60) for n in range(40_000)),
        )
        made.commit()
    cli.write("q.sql", STATEMENTS)
    return path


def measured(cli: Cli, *arguments: str) -> tuple[str, dict[str, Any]]:
    return measured_indexes(cli, "sqlite:shop.db", *arguments)


def test_only_what_helps_is_taken_with_its_price_and_the_file_stays_as_it_is(cli: Cli, shop: Path) -> None:
    before = shop.read_bytes()
    told, found = measured(cli, "--report", "r.html")
    assert shop.read_bytes() == before
    tried = {each["name"]: each for each in found["tried"]}
    taken = [tried[name] for name in found["chosen"]]
    latest = next(each for each in found["statements"] if each["statement"] == "latest")
    assert latest["times"] > 5
    assert any(each["keys"].startswith("orders (customer") for each in taken)
    assert all(each["bytes"] > 0 for each in taken)
    # What the planner uses to do harm is never taken.
    assert all(speed["times"] > 0.9 for speed in found["statements"] if speed["uses"])
    writes = {(each["table"], each["operation"]) for each in found["writes"]}
    assert writes == {("orders", "insert"), ("orders", "update"), ("orders", "delete")}
    assert "Take " in told
    assert f"{taken[0]['sql'][0]};" in " ".join(told.split())
    assert taken[0]["sql"][0] in (Path(cli.directory) / "r.html").read_text()
    # The stored run has it, too.
    assert f"{taken[0]['sql'][0]};" in " ".join(cli("show", "last").split())


def test_the_index_budget_holds(cli: Cli, shop: Path) -> None:
    told, found = measured(cli, "--index-budget", "4kB")
    assert found["chosen"] == []
    assert found["over_budget"]
    assert "Over the index budget: orders (" in told


def test_without_trials_indexes_are_only_suggested(cli: Cli, shop: Path) -> None:
    cli("queries", "q.sql", "--system", "sqlite:shop.db", "--budget", "4s", "--json", "out.json", "--no-try-indexes")
    assert json.loads((Path(cli.directory) / "out.json").read_text())["indexes"] == []


def test_options_without_effect_are_refused(cli: Cli, shop: Path) -> None:
    told = cli("queries", "q.sql", "--no-try-indexes", "--index-budget", "1MB", code=2)
    assert "no index is tried" in told
    assert "not a size" in cli("queries", "q.sql", "--index-budget", "much", code=2)


def test_statements_that_write_are_measured_and_undone(cli: Cli, shop: Path) -> None:
    cli.write("q.sql", "-- name: gone\ndelete from orders where customer = 5;\n")
    _, found = measured(cli)
    (speed,) = found["statements"]
    assert speed["times"] > 2


def test_existing_indexes_that_are_not_needed_are_named(cli: Cli, shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as made:
        made.executescript("create index by_at on orders (at); create index by_at_total on orders (at, total);")
    told, _ = measured(cli)
    assert "by_at (covered by by_at_total)" in " ".join(told.split())


def test_both_arms_of_an_or_are_one_candidate(cli: Cli, shop: Path) -> None:
    cli.write("q.sql", "select id from orders where customer = 5 or at = 77;\n")
    _, found = measured(cli)
    (name,) = found["chosen"]
    (tried,) = [each for each in found["tried"] if each["name"] == name]
    assert len(tried["sql"]) == 2
    (speed,) = found["statements"]
    assert speed["times"] > 3


def test_the_index_of_a_foreign_key_is_found_by_deleting_the_parent(cli: Cli, shop: Path) -> None:
    with closing(sqlite3.connect(shop)) as made:
        made.executescript(
            "create table items (id integer primary key, order_id int references orders (id) on delete cascade);"
            "insert into items (order_id) select id from orders;"
        )
    cli.write("q.sql", "-- :id = 1..40000\ndelete from orders where id = :id;\n")
    _, found = measured_indexes(cli, "sqlite:shop.db?foreign_keys=on")
    assert [each["keys"] for each in found["tried"] if each["name"] in found["chosen"]] == ["items (order_id)"]


def test_indexes_for_both_sides_of_a_join_are_one_candidate(cli: Cli, shop: Path) -> None:
    """Alone, each of them still leaves a scan of the other table."""
    with closing(sqlite3.connect(shop)) as made:
        made.executescript(
            "create table visits (id integer primary key, at int, page int, note text);"
            "insert into visits (at, page, note) select at, id % 3000, note from orders;"
        )
    cli.write(
        "q.sql", "select count(*) from orders o join visits v on v.at = o.total where o.customer = 7 and page > 9;\n"
    )
    told, found = measured(cli)
    (name,) = found["chosen"]
    (tried,) = [each for each in found["tried"] if each["name"] == name]
    assert set(tried["tables"]) == {"orders", "visits"}
    assert "Take these 2: all statements" in " ".join(told.split())
    assert {each["table"] for each in found["writes"]} == {"orders", "visits"}
