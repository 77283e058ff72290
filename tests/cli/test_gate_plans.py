"""`gate --fail-on` and the plans in `compare`, on databases of SQLite that are there."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from xml.etree import ElementTree

import pytest

from conftest import Cli

QUERIES = """
-- name: latest orders
-- :customer = @customer of orders
select * from orders o where o.customer = :customer order by o.placed desc;

-- name: one order
-- :id = 1..20000
select total from orders where id = :id;
"""
INDEX = "create index orders_customer on orders (customer, placed)"
STORE = ("--store", "runs.db")
ON_ITS_OWN = ("gate", "q.sql", "--system", "sqlite:app.db", *STORE)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A database with an index, and one that lacks it."""
    cli = Cli(tmp_path_factory.mktemp("shop"))
    cli.write("q.sql", QUERIES)
    for name, index in (("before.db", INDEX), ("app.db", "")):
        with closing(sqlite3.connect(cli.directory / name)) as database:
            database.execute("create table orders (id integer primary key, customer int, placed int, total int)")
            rows = ((each % 2000, each, each % 97) for each in range(20_000))
            database.executemany("insert into orders (customer, placed, total) values (?, ?, ?)", rows)
            database.execute(index)
            database.commit()
    return cli


def answer(cli: Cli, *arguments: str, code: int) -> str:
    ended = cli.invoke(*arguments)
    assert ended.code == code, ended.errors
    return " ".join(ended.out.split())


def written(cli: Cli) -> dict[str, str]:
    return {name: (cli.directory / f"gate.{name}").read_text() for name in ("json", "xml", "md", "html")}


def test_a_scan_fails_a_gate_without_a_baseline(shop: Cli) -> None:
    out = answer(shop, *ON_ITS_OWN, "--fail-on", "scan:orders", code=3)
    assert "failed latest orders: scan:orders: scans the whole table orders (scan of orders, sort)" in out
    assert "one order" not in out
    # The run that was stored, and a condition that holds.
    out = answer(shop, "gate", "last", "--fail-on", "scan", "--fail-on", "missing-index", *STORE, code=3)
    assert "missing-index: lacks an index: `create index" in out
    out = shop("gate", "q.sql", "--system", "sqlite:before.db", "--fail-on", "scan:orders", *STORE)
    assert "gate: pass" in out and "scan:orders: 2 statements checked" in out


def test_a_changed_plan_fails_a_gate_and_is_written(shop: Cli) -> None:
    files = [word for name in ("json", "md", "xml", "html") for word in (OPTIONS[name], f"gate.{name}")]
    conditions = ("--fail-on", "plan-change", "--fail-on", "scan:orders")
    measured = ("--against", "sqlite:before.db", "--rounds", "2")
    out = answer(shop, *ON_ITS_OWN, *measured, *conditions, *files, code=3)
    change = "index orders_customer → scan of orders, sort"
    assert f"failed latest orders: plan-change: has another plan ({change})" in out
    assert "plan of latest orders: was index orders_customer; is scan of orders, sort" in out
    texts = written(shop)
    found = json.loads(texts["json"])
    assert found["exit_code"] == 3
    assert [each["violation"]["condition"] for each in found["cells"] if each["violation"]] == [
        "plan-change",
        "scan:orders",
    ]
    assert [each["was"] for each in found["plan_changes"]] == ["index orders_customer"]
    failures = [case.get("name") for case in ElementTree.fromstring(texts["xml"]) if case.find("failure") is not None]
    assert {"latest orders plan-change", "latest orders scan:orders"} <= set(failures)
    assert f"| latest orders | failed | plan-change: has another plan ({change}) |" in texts["md"]
    assert "plan-change: has another plan" in texts["html"]


OPTIONS = {"json": "--json", "md": "--markdown", "xml": "--junit", "html": "--report"}


def test_two_runs_are_compared_by_their_plans(shop: Cli) -> None:
    path = shop.directory / "live.db"
    ids = []
    for change in (INDEX, "drop index orders_customer"):
        if not ids:
            path.write_bytes((shop.directory / "app.db").read_bytes())
        with closing(sqlite3.connect(path)) as database:
            database.execute(change)
        ids.append(shop.run("q.sql", "--system", "sqlite:live.db", "--rounds", "1")["id"])
    out = shop("compare", *ids, *STORE, "--json", "compared.json")
    assert "latest orders: was index orders_customer; is scan of orders, sort" in out
    (change,) = json.loads((shop.directory / "compared.json").read_text())["plan_changes"]
    assert (change["statement"], change["now"]) == ("latest orders", "scan of orders, sort")
    assert "plans that changed" not in shop("compare", f"{ids[0]}/statement=one order", ids[1], *STORE)
    gate = ("gate", ids[1], "--baseline", ids[0], *STORE)
    assert "plan-change: has another plan" in answer(shop, *gate, "--fail-on", "plan-change", code=3)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--fail-on", "scans"), "unknown condition; use `scan`, `scan:TABLE`, `plan-change`, `missing-index`"),
        (("--fail-on", "plan-change"), "a changed plan needs a baseline; add `--against COMMIT`"),
        (("--fail-on", "scan:ordrs"), "no statement names a table `ordrs`; did you mean `orders`?"),
        (("--fail-on", "scan", "--margin", "3%"), "--margin"),
    ],
)
def test_wrong_conditions_are_refused(shop: Cli, arguments: tuple[str, ...], why: str) -> None:
    assert why in " ".join(shop(*ON_ITS_OWN, *arguments, code=2).split())


def test_what_cannot_be_checked_does_not_pass(shop: Cli) -> None:
    out = answer(shop, *ON_ITS_OWN, "--fail-on", "estimates:100x", "--inconclusive", "fail", code=4)
    assert "estimates:100x was not checked: sqlite:app.db reports no row estimates" in out
    out = shop("gate", "--system", "exec:true", "--fail-on", "scan", *STORE)
    assert "scan was not checked" in out and "gate: not settled" in out
