"""Questions about upgrades that people ask in public, on systems with a planted change whose cause is known."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target as target_of
from dbdyno.engines.server.server import start_server
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask, write_amalgamation
from directories import server_directory
from fresh_data import fresh_data
from installed_servers import needs_mysql, needs_postgresql
from repeated import repeated

# They start servers, or build libraries.
pytestmark = pytest.mark.slow

NUMBERS = (
    "(select 1 + i.d + 10 * j.d + 100 * k.d + 1000 * l.d as n from digits i, digits j, digits k, digits l) s "
    "where n <= 9000"
)
TABLES = (
    "create table digits (d int)",
    "insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "create table orders (id int primary key, customer int, total int)",
    f"insert into orders select n, n % 3000, n % 7 from {NUMBERS}",
    "create index orders_customer on orders (customer)",
)
LATEST = "-- name: latest\nselect max(id), sum(total) from orders where customer = 77;\n"


@contextmanager
def server(kind: str, statements: Sequence[str]) -> Iterator[str]:
    """A server with tables; gives its URL."""
    with server_directory(mode=0o755) as directory:
        installation = find_installations(kind)[0]
        fresh_data(installation, directory / "data")
        with start_server(installation, directory / "data", directory, {}) as started:
            for each in statements:
                task = {"kind": "load", "target": target_of(started), "before": [each], "tables": [], "after": []}
                ask({"schema": PLAN, "seed": 1, "task": task}, Loaded)
            host = str(started.socket).replace("/", "%2F")
            yield f"{installation.engine}://{started.user}@{host}:{started.port}/{started.database}"


def upgrade(cli: Cli, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Give the exit code, the output, and what is said of the only statement."""
    made = cli.invoke("upgrade", "q.sql", *arguments, "--budget", "20s", "--json", "out.json", "--store", "runs.db")
    assert made.code in (0, 3), made.errors
    (statement,) = json.loads((cli.directory / "out.json").read_text())["statements"]
    return made.code, " ".join(made.out.split()), statement


@needs_postgresql
@repeated
def test_1_one_query_is_slower_after_an_upgrade_of_postgresql(cli: Cli) -> None:
    """The plan that changed, and the setting that brings the old one back."""
    cli.write("q.sql", LATEST)
    with server("postgresql", [*TABLES, "analyze"]) as url:
        code, out, found = upgrade(cli, "--from", url, "--to", f"{url}?enable_indexscan=off&enable_bitmapscan=off")
    assert (code, found["verdict"], found["rows"]) == (3, "regression", "equal")
    assert found["plan_was"] == "index orders_customer" and found["plan_is"] == "scan of orders"
    assert "was index orders_customer; is scan of orders" in out
    assert {each["change"] for each in found["remedies"]} <= {
        "without enable_indexscan=off",
        "without enable_bitmapscan=off",
    }
    assert "brings the old plan back: without enable_" in out


@needs_mysql
@repeated
def test_17_a_newer_server_is_slower(cli: Cli) -> None:
    """Another version's defaults for the optimizer's flags; one of them is named."""
    cli.write("q.sql", "-- name: latest\nselect sum(total) from (select * from orders) o where customer = 77;\n")
    flags = "derived_merge=off,condition_pushdown_for_derived=off,split_materialized=off"
    with server("mysql", [*TABLES, "analyze table orders"]) as url:
        code, out, found = upgrade(cli, "--from", url, "--to", f"{url}?optimizer_switch={flags}")
    assert (code, found["verdict"], found["rows"]) == (3, "regression", "equal"), out
    assert found["plan_was"] == "index orders_customer" and "scan of orders" in found["plan_is"]
    assert {each["change"] for each in found["remedies"]} == {
        f"without optimizer_switch={flags}",
        "?optimizer_switch=derived_merge=on",
    }


def release(cli: Cli, package: str, version: str, before: str = "") -> str:
    """Keep a source as a package of this version. ``before``: its first lines; returns the URL of a build."""
    directory = cli.directory / "cache" / "sources" / f"npm-{package}"
    directory.mkdir(parents=True)
    write_amalgamation(directory)
    source = directory / "sqlite3.c"
    text, count = re.subn(r'(#define SQLITE_VERSION\s+)"[^"]+"', rf'\1"{version}"', source.read_text())
    assert count == 1
    source.write_text(f"{before}\n{text}")
    return f"sqlite:shop.db?cflags=-O1&source={directory}"


@repeated
def test_24_a_release_of_sqlite_made_this_query_slower(cli: Cli) -> None:
    """The release is named, by building those between both. Their plans tell, not times."""
    with closing(sqlite3.connect(cli.directory / "shop.db")) as made:
        made.execute("create table orders (customer int, total int)")
        made.execute("create table customers (id int, town int)")
        made.executemany("insert into orders values (?, ?)", ((n % 700, n) for n in range(1400)))
        made.executemany("insert into customers values (?, ?)", ((n, n % 2) for n in range(700)))
        made.commit()
    cli.write(
        "q.sql",
        "-- name: towns\nselect sum(total) from customers join orders on orders.customer = customers.id "
        "where customers.town = 1;\n",
    )
    without = "#define SQLITE_OMIT_AUTOMATIC_INDEX 1"
    old = release(cli, "90.0.0", "3.90.0")
    release(cli, "91.0.0", "3.91.0")
    release(cli, "92.0.0", "3.92.0", without)
    new = release(cli, "93.0.0", "3.93.0", without)
    code, out, found = upgrade(cli, "--from", old, "--to", new, "--bisect")
    assert (code, found["verdict"], found["rows"]) == (3, "regression", "equal"), out
    assert out.startswith("upgrade q.sql SQLite 3.90.0 -> SQLite 3.93.0 1 statement: 1 slower, all rows equal")
    assert "temporary index on orders" in found["plan_was"]
    assert found["since"] == {"release": "SQLite 3.92.0", "before": "SQLite 3.91.0"}
    assert "since SQLite 3.92.0 (not in SQLite 3.91.0)" in out
