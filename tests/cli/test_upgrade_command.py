"""`dbdyno upgrade`: statements on two systems, what brings old plans back, and in which release they changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Cli
from repeated import repeated

STATEMENTS = """\
-- name: by name
select count(*), sum(orders.total) from customers join orders on orders.customer = customers.name
where customers.town = 'a';

-- name: one order
-- :id = 1..900
select customer, total from orders where id = :id;

-- name: like
select id from orders where customer like 'C1_' order by id;
"""
OLD, SLOW = "sqlite:shop.db", "sqlite:shop.db?automatic_index=off"


@pytest.fixture
def shop(cli: Cli) -> Cli:
    """Tables without an index, that a join needs, and names in lowercase letters."""
    with closing(sqlite3.connect(Path(cli.directory) / "shop.db")) as made:
        made.execute("create table orders (id integer primary key, customer text, total real)")
        made.execute("create table customers (name text, town text)")
        made.executemany("insert into orders values (?, ?, ?)", ((n, f"c{n % 450}", n / 7) for n in range(900)))
        made.executemany("insert into customers values (?, ?)", ((f"c{n}", "ab"[n % 2]) for n in range(450)))
        made.commit()
    cli.write("q.sql", STATEMENTS)
    return cli


def upgrade(cli: Cli, *arguments: str) -> tuple[int, str, str]:
    process = cli.start("upgrade", *arguments, "--budget", "12s", "--store", "runs.db")
    out, errors = process.communicate(timeout=300)
    return process.returncode, " ".join(out.split()), " ".join(errors.split())


def statement(cli: Cli, name: str) -> dict[str, Any]:
    document = json.loads((Path(cli.directory) / "out.json").read_text())
    return next(each for each in document["statements"] if each["statement"] == name)


@repeated
def test_a_slower_plan_is_found_with_the_setting_that_brings_it_back(shop: Cli) -> None:
    code, out, errors = upgrade(
        *(shop, "q.sql", "--from", OLD, "--to", SLOW, "--json", "out.json", "--junit", "out.xml"),
        *("--bisect", "--via", "small=sqlite:shop.db?cache_size=-100"),
        *("--via", "off=sqlite:shop.db?cache_size=-100&automatic_index=off"),
    )
    assert code == 3, out + errors
    assert out.startswith(f"upgrade q.sql {OLD} -> {SLOW} 3 statements: 1 slower")
    assert "was scan of customers, temporary index on orders; is" in out
    assert "brings the old plan back: without automatic_index=off (" in out and "x the old time" in out
    assert "since off (not in small)" in out
    found = statement(shop, "by name")
    assert (found["verdict"], found["rows"]) == ("regression", "equal")
    assert found["time_ratio"] > 1.5 and found["remedies"][0]["time_ratio"] < found["time_ratio"]
    assert found["since"] == {"release": "off", "before": "small"}
    assert statement(shop, "one order")["rows"] == "equal"
    cases = ElementTree.parse(Path(shop.directory) / "out.xml").getroot().findall("testcase")
    assert [each.get("name") for each in cases if each.find("failure") is not None] == ["by name active"]


def test_other_rows_fail_and_the_first_one_is_shown(shop: Cli) -> None:
    new = f"{OLD}?case_sensitive_like=on"
    code, out, errors = upgrade(shop, "q.sql", "--from", OLD, "--to", new, "--json", "out.json", "--markdown", "out.md")
    assert code == 3
    assert "1 with other rows" in out and "other rows: 20 rows against 0" in out
    assert "brings the old rows back: without case_sensitive_like=on" in out
    # The values of rows are shown on the terminal only.
    assert "20 rows against 0; missing: (10)" in errors
    assert "missing" not in (Path(shop.directory) / "out.md").read_text()
    assert statement(shop, "like")["verdict"] == "failed"
    assert statement(shop, "by name")["rows"] == "equal"


def test_an_upgrade_without_harm_passes(shop: Cli) -> None:
    shop.write("one.sql", "select total from orders where id = 7;")
    code, out, _ = upgrade(shop, "one.sql", "--from", OLD, "--to", f"{OLD}?cache_size=-3000", "--margin", "90%")
    assert code == 0
    assert "1 statement: none slower, all rows equal" in out and "rows equal same plan" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("q.sql", "--from", OLD, "--to", OLD), "name the same system"),
        (("q.sql", "--from", OLD, "--to", "postgresql:"), "`--from` is SQLite and `--to` PostgreSQL"),
        (("q.sql", "--from", OLD, "--to", SLOW, "--via", OLD), "it has no effect without `--bisect`"),
        (
            ("q.sql", "--from", "postgresql:", "--to", "postgresql:?jit=off", "--bisect"),
            "dbdyno can't find the releases of PostgreSQL",
        ),
        (("q.txt", "--from", OLD, "--to", SLOW), "its name ends in neither `.sql` nor `.trace`"),
        (("q.sql", "--from", OLD, "--to", SLOW, "--margin", "much"), "--margin"),
        (("wrong.sql", "--from", OLD, "--to", SLOW), "wrong.sql: nowhere"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_measured(shop: Cli, arguments: tuple[str, ...], words: str) -> None:
    shop.write("wrong.sql", "-- name: nowhere\nselect * from nowhere;\nselect count(*) from orders;")
    code, out, errors = upgrade(shop, *arguments)
    assert code == 2 and words in errors, errors
    assert not out and not (Path(shop.directory) / "runs.db").exists()
