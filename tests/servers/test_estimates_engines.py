"""Estimates of rows on the real engines: told where they are off, for one execution, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.engines.server.installations import find_installations, installation_of
from dbdyno.engines.server.managed import target as target_of
from dbdyno.engines.server.server import start_server
from dbdyno.engines.statements import places
from dbdyno.model.events.answers import Answer, Loaded
from dbdyno.model.events.facts import Estimate
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import Document
from dbdyno.report.html import html_report
from dbdyno.runtime.worker import ask
from dbdyno.store import open_store
from directories import server_directory
from duckdb_library import LIBRARY, needs_duckdb
from fresh_data import fresh_data
from installed_servers import needs_mysql, needs_postgresql
from real_mysql import PROGRAM, needs_real_mysql

NUMBERS = (
    "(select 1 + i.d + 10 * j.d + 100 * k.d + 1000 * l.d + 10000 * m.d as n "
    "from digits i, digits j, digits k, digits l, digits m) s where n <="
)
TABLES = (
    "create table digits (d int)",
    "insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "create table customers (id int primary key, city varchar(20))",
    "create table orders (id int primary key, customer int, state varchar(10), a int, b int, c int)",
    f"insert into customers select n, concat('c', n % 100) from {NUMBERS} 2000",
    "insert into orders select n, 1 + n % 2000, "
    "case when n < 20 then 'rare' when n % 2 = 0 then 'open' else 'sent' end, "
    f"n % 30, n % 30, n % 30 from {NUMBERS} 40000",
)
# Many thousand million rows to look through.
SLOW = "select count(*) from orders x, orders y, orders z where x.id + y.id + z.id = 7"
RIGHT = "select count(*) from customers where id between ? and 300"
RARE = "select count(*) from orders o join customers c on c.id = o.customer where o.state = 'rare'"
COUNTED = "stats_auto_recalc = 0 stats_sample_pages = 10000"
QUIET = "create function quiet() returns int deterministic modifies sql data begin delete from orders; return 1; end"


@dataclass
class Place:
    """A database with the tables.

    ``off``: a statement of which the planner expects other rows by far, and in which ``step``; ``writing``: those that
    write; ``before``: what makes the database; ``slow``: a statement that takes longer than any is given.
    """

    url: str
    target: dict[str, Any]
    off: str = RARE
    step: str = "orders"
    writing: Sequence[str] = ()
    before: Sequence[str] = field(default_factory=tuple)
    slow: str = SLOW

    def do(self, *statements: str) -> None:
        for each in statements:
            ask(task("load", target=self.target, before=[each], tables=[], after=[]), Loaded)

    def ask(self, sql: str) -> str | None:
        return ask(task("ask", target=self.target, sql=sql), Answer).answer

    def analysed(self, statements: dict[str, tuple[str, list[Any]]]) -> dict[str, list[Estimate]]:
        """What a trial tells of statements that it does not run."""
        asked = [
            {"name": name, "sql": sql, "places": places(sql), "analyze": values}
            for name, (sql, values) in statements.items()
        ]
        step = {"do": "execute", "statement": 0, "params": [], "into": []}
        trial = task(
            "trial",
            target=self.target,
            clients=1,
            window={"transactions": 3},
            prepare="never",
            statements=[{"name": "one", "sql": "select 1"}, *asked],
            transactions=[{"name": "t", "steps": [step]}],
        )
        result = ask(trial, TrialResult)
        assert result.accounting.ok == 3
        return result.engine.estimates


def task(kind: str, **keys: Any) -> dict[str, Any]:
    return {"schema": PLAN, "seed": 1, "task": {"kind": kind, **keys}}


POSTGRESQL: dict[str, Any] = {
    "before": (
        *(each.replace("concat('c', n % 100)", "'c' || n % 100") for each in TABLES[:-1]),
        "alter table orders set (autovacuum_enabled = false)",
        TABLES[-1],
        "analyze",
        "create sequence numbers",
        "create function quiet() returns bigint language sql as "
        "'with gone as (delete from orders returning 1) select count(*) from gone'",
    ),
    "slow": "select pg_sleep(60)",
    # All three are the same.
    "off": "select count(*) from orders o join customers c on c.id = o.customer where a = 7 and b = 7 and c = 7",
    "writing": (
        "delete from orders",
        "with gone as (delete from orders returning id) select count(*) from gone",
        "select quiet()",
        "select nextval('numbers')",
        "select 1; commit; delete from orders",
        "select * from orders for update",
    ),
}
MYSQL: dict[str, Any] = {
    "before": (
        # What the server counts by itself while rows still come may be written after what `analyze table` counted. That
        # counts all pages: of the usual 20, some are half full, and the rows come out at half of what there are.
        *(f"{each} {COUNTED}" if each.startswith("create table") else each for each in TABLES),
        "analyze table customers, orders",
        QUIET,
    ),
    # A statement of nothing but `sleep` does not say that it was ended.
    "slow": "select count(*) from customers where sleep(1) = 7",
    "writing": (
        "delete from orders",
        "select quiet()",
        "select 1; delete from orders",
        "insert into customers select id + 9000, 'x' from orders",
        "select id from orders for update",
    ),
}
DUCKDB: dict[str, Any] = {
    "before": (*TABLES, "create sequence numbers"),
    # It goes by how many states there are, and not by how often each is.
    "step": "HASH_JOIN customer = id",
    "writing": (
        "delete from orders",
        "delete from orders returning id",
        "select nextval('numbers')",
        "select 1; delete from orders",
    ),
}

# They start servers, and wait for as long as a statement may take.
pytestmark = pytest.mark.slow

KINDS = [
    pytest.param("postgresql", marks=needs_postgresql),
    pytest.param("mariadb", marks=needs_mysql),
    pytest.param("mysql", marks=needs_real_mysql),
    pytest.param("duckdb", marks=needs_duckdb),
]


@pytest.fixture(scope="module", params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    kind = request.param
    with ExitStack() as stack:
        directory = stack.enter_context(server_directory(mode=0o755))
        if kind == "duckdb":
            path = directory / "shop.duckdb"
            target = {"engine": "duckdb", "path": str(path), "library": str(LIBRARY)}
            made = Place(f"duckdb:{path}?library={LIBRARY}", target, **DUCKDB)
        else:
            installation = (
                installation_of("mysql", str(PROGRAM), "a test")
                if kind == "mysql"
                else find_installations("mysql" if kind == "mariadb" else kind)[0]
            )
            fresh_data(installation, directory / "data")
            server = stack.enter_context(start_server(installation, directory / "data", directory, {}))
            host = str(server.socket).replace("/", "%2F")
            url = f"{installation.engine}://{server.user}@{host}:{server.port}/{server.database}"
            made = Place(url, target_of(server), **(POSTGRESQL if kind == "postgresql" else MYSQL))
        made.do(*made.before)
        yield made


def file_of(cli: Cli, **statements: str) -> str:
    text = "".join(f"-- name: {name}\n{sql};\n" for name, sql in statements.items())
    values = "-- :low = 1..199\n" if ":low" in text else ""
    return cli.write("my.sql", values + text)


def told(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in document["findings"] if each["kind"] == "row estimate"]


def test_what_is_off_is_told_and_what_is_right_is_not(cli: Cli, place: Place) -> None:
    asked = file_of(cli, off=place.off, right=RIGHT.replace("?", ":low"))
    document = cli.run(asked, "--system", place.url, "--rounds", "1")
    off, right = document["cells"]
    assert off["failed"] == right["failed"] == {}
    (found,) = told(document)
    assert found["cells"] == [off["id"]]
    assert place.step in (found["evidence"]["table"], found["evidence"]["step"])
    assert found["text"].startswith("`off`: the planner expects ") and "times off" in found["text"]
    assert "(not measured)" in found["text"]
    (statement,) = right["statements"]
    assert statement["analyzed"] == [100]
    # From the value that stands for the others to 300.
    assert 201 in [each["found"] for each in statement["estimates"]]
    assert all(0.3 < each["expected"] / each["found"] < 3 for each in statement["estimates"] if each["table"])
    page = html_report(from_json(Document, document))
    assert "expected" in page and "rows of" in page
    assert "times off" in cli("show", document["id"], "--store", "runs.db", "--verbose")


def test_the_first_round_alone_has_statements_run_for_it(cli: Cli, place: Place) -> None:
    asked = file_of(cli, right=RIGHT.replace("?", ":low"))
    document = cli.run(asked, "--system", place.url, "--rounds", "3")
    store = open_store(str(cli.directory / "runs.db"))
    trials = store.trials(document["id"])
    store.close()
    planned = {each.block: "analyze" in each.plan["task"]["statements"][0] for each in trials}
    assert planned == {0: True, 1: False, 2: False}
    found = {each.block: bool(each.result and each.result["engine"].get("estimates")) for each in trials}
    assert found == planned


def test_nothing_that_writes_is_run_and_what_takes_too_long_is_given_up(place: Place) -> None:
    count = "select count(*) from orders"
    rows = place.ask(count)
    writing: dict[str, tuple[str, list[Any]]] = {each: (each, []) for each in place.writing}
    wrong: dict[str, tuple[str, list[Any]]] = {
        "no table": ("select * from nowhere", []),
        "no statement": ("this is none", []),
        "too few values": (RIGHT, []),
        "slow": (place.slow, []),
    }
    estimates = place.analysed({**writing, **wrong, "right": (RIGHT, [100]), "off": (place.off, [])})
    assert set(estimates) == {"right", "off"}
    assert place.ask(count) == rows == "40000"
    assert place.ask("select count(*) from customers") == "2000"
    if place.target["engine"] == "postgresql":
        _divided(place)


def _divided(place: Place) -> None:
    """Each process tells its own rows, and those of all count."""
    costs = ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size")
    session = [[name, "0"] for name in costs]
    several = Place(place.url, place.target | {"session": session})
    (scan,) = [each for each in several.analysed({"all": ("select count(*) from orders", [])})["all"] if each.table]
    assert scan.step == "Parallel Seq Scan on orders" and scan.executions == 1
    assert abs(scan.found - 40_000) < 3 and 20_000 < scan.expected < 80_000


def test_the_advice_betters_the_estimate(cli: Cli, place: Place) -> None:
    asked = file_of(cli, off=place.off)
    document = cli.run(asked, "--system", place.url, "--rounds", "1")
    (found,) = told(document)
    statements = re.findall("`([^`]+)`", found["evidence"]["advice"])
    if place.target["engine"] == "duckdb":
        # Its counts are right, and tell nothing of how often each value is.
        assert statements == ["analyze", "="]
        return
    # What is to be made before comes behind.
    place.do(*reversed(statements))
    assert told(cli.run(asked, "--system", place.url, "--rounds", "1")) == []


def test_what_stands_behind_a_statement_is_not_run_when_its_plan_is_asked_for(tmp_path: Path) -> None:
    path = str(tmp_path / "t.db")
    sqlite = Place("sqlite:", {"engine": "sqlite", "path": path})
    sqlite.do("create table t (id int)", "insert into t values (1), (2)")
    assert sqlite.analysed({"two": ("select * from t; delete from t", [])}) == {}
    assert sqlite.ask("select count(*) from t") == "2"


def test_sqlite_tells_nothing(cli: Cli) -> None:
    document = cli.run(file_of(cli, one="select 1"), "--system", "sqlite:", "--rounds", "1")
    assert document["cells"][0]["statements"][0]["estimates"] == []
