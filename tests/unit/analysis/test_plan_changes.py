"""Plans that differ in kind are found, and harmless changes give no alarm. The plans are those of a real SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count, product
from typing import Any

import pytest

from dbdyno.analysis.gate import Violation
from dbdyno.analysis.gate_conditions import judge_conditions, read_condition
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.analysis.plan_changes import plan_changes
from dbdyno.base.errors import InputError
from dbdyno.model.result.cell import Cell, CellStatement, PlanNode, System
from dbdyno.model.result.convert import from_json
from synthetic_cells import some

SCHEMA = """
create table customers (id integer primary key, name text not null, city text not null, email text);
create table orders (id integer primary key, customer integer not null references customers (id),
    state text not null, placed integer not null, total integer not null);
create table "Order Details" (id integer primary key, "order id" integer not null, product integer not null, n int);
create index customers_city on customers (city);
create unique index customers_email on customers (email collate nocase);
create index orders_customer on orders (customer, placed);
create index orders_state on orders (state);
create index orders_placed on orders (placed);
create index details_order on "Order Details" ("order id");
create index details_product on "Order Details" (product, n);
"""
FILL = """
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into customers (id, name, city, email)
    select i, 'c' || i, 'city' || (i % 90), 'c' || i || '@example.com' from n where i <= 300;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into orders select i, 1 + i % 300, 'state' || (i % 40), i, i % 97 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into "Order Details" select i, 1 + i % 1500, i % 70, i % 9 from n;
"""
QUERIES = {
    "latest of a customer": "select * from orders where customer = 7 order by placed desc limit 5",
    "open": "select count(*) from orders where state = 'state3'",
    "range": "select id, total from orders where placed between 100 and 140",
    "by key": "select * from orders where id = 5",
    "in a city": "select o.id from customers c join orders o on o.customer = c.id where c.city = 'city4'",
    "details": 'select d.product from "Order Details" d where d."order id" = 12',
    "sums": 'select product, sum(n) from "Order Details" group by product',
    "mail": "select id from customers where email = 'C3@example.com' collate nocase",
    "of a state": "select total from orders where state = 'state3' and customer = 7",
    "newest": "select id, placed from orders order by placed desc limit 10",
    "none": "select c.id from customers c where not exists (select 1 from orders o where o.customer = c.id)",
}


def made(*changes: str, queries: dict[str, str] | None = None, fill: str = FILL) -> Cell:
    """A cell with the plans of the queries after some changes."""
    queries = QUERIES if queries is None else queries
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA + fill + "analyze;")
        for each in changes:
            database.executescript(each)
        system = from_json(System, {"engine": "sqlite", "name": "sqlite:", "catalog": catalog(database)})
        statements = []
        for name, sql in queries.items():
            plan = [str(row[3]) for row in database.execute(f"explain query plan {sql}")]
            nodes = plan_nodes(system, sql, plan)
            statements.append(some(CellStatement, name=name, sql=sql, plan=plan, plan_nodes=nodes))
    return from_json(Cell, {"id": "a"}) if not statements else _cell(system, statements)


def _cell(system: System, statements: list[CellStatement]) -> Cell:
    cell = from_json(Cell, {"id": "a"})
    cell.system, cell.statements = system, statements
    return cell


def catalog(database: sqlite3.Connection) -> dict[str, Any]:
    tables = []
    for (name,) in database.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite%'"):
        indexes = []
        for _, index, _, _, partial in database.execute(f'pragma index_list("{name}")').fetchall():
            rows = database.execute(f'pragma index_xinfo("{index}")').fetchall()
            keys = [{"column": row[2], "collation": {"name": row[4]}} for row in rows if row[5]]
            indexes.append({"name": index, "partial": bool(partial), "usable": True, "keys": keys})
        columns = [{"name": row[1]} for row in database.execute(f'pragma table_info("{name}")')]
        tables.append({"name": name, "columns": columns, "indexes": indexes})
    return {"tables": tables}


FLIPS: list[tuple[str, str, dict[str, str]]] = [
    # A dropped index.
    *(
        (f"drop index {index}", query, {})
        for index, query in [
            ("orders_customer", "latest of a customer"),
            ("orders_state", "open"),
            ("orders_placed", "range"),
            ("customers_city", "in a city"),
            ("details_order", "details"),
            ("details_product", "sums"),
            ("customers_email", "mail"),
            ("orders_placed", "newest"),
            ("orders_customer", "none"),
        ]
    ),
    # An index on other columns, or with another collation, by the same name.
    ("drop index orders_customer; create index orders_customer on orders (customer)", "latest of a customer", {}),
    ("drop index orders_customer; create index orders_customer on orders (placed, customer)", "in a city", {}),
    ("drop index orders_state; create index orders_state on orders (state collate nocase)", "open", {}),
    ("drop index customers_email; create index customers_email on customers (email)", "mail", {}),
    ("drop index orders_placed; create index orders_placed on orders (placed) where total > 3", "range", {}),
    # Statistics that are skewed.
    ("update orders set customer = 7 where id > 20; analyze", "of a state", {}),
    # Other SQL.
    ("", "open", {"open": "select count(*) from orders where state || '' = 'state3'"}),
    ("", "range", {"range": "select id, total from orders where placed + 0 between 100 and 140"}),
    ("", "latest of a customer", {"latest of a customer": "select * from orders where customer = 7 order by total"}),
    ("", "by key", {"by key": "select * from orders where abs(id) = 5"}),
    ("", "sums", {"sums": 'select distinct n from "Order Details" order by product'}),
]


@pytest.mark.parametrize(("change", "query", "other"), FLIPS)
def test_planted_changes_of_plans_are_found(change: str, query: str, other: dict[str, str]) -> None:
    changed = plan_changes(made(), made(change, queries=QUERIES | other))
    assert query in {each.statement for each in changed}
    assert all(each.was != each.now for each in changed)


def test_twenty_plans_are_planted() -> None:
    assert len(FLIPS) == 20


def harmless() -> Iterator[tuple[list[str], dict[str, str]]]:
    """Changes after which each statement is carried out in the same way."""
    numbers = count()
    for rows, table in product((1, 20, 100, 300), ("orders", "customers", "details")):
        start = 100_000 + 1000 * next(numbers)
        values = {
            "orders": "into orders select i, 1 + i % 300, 'state' || (i % 40), i, 5 from n",
            "customers": "into customers select i, 'x', 'city' || (i % 90), 'x' || i from n",
            "details": 'into "Order Details" select i, i % 1500, i % 70, 1 from n',
        }[table]
        insert = (
            f"with recursive n(i) as (select {start} union all select i + 1 from n where i < {start + rows - 1}) "
            f"insert {values};"
        )
        yield [insert], {}
        yield [insert, "analyze"], {}
    yield ["analyze", "analyze"], {}
    yield ["delete from orders where id % 50 = 0", "analyze"], {}
    yield ["vacuum"], {}
    yield ["reindex"], {}
    yield ["alter table orders rename column total to amount; alter table orders rename column amount to total"], {}
    yield ["create table more (id integer primary key); insert into more values (1)"], {}
    yield ["create index more_total on orders (total, id)"], {}
    # The same index by another name.
    yield ["drop index orders_state; create index by_state on orders (state); analyze"], {}
    yield ["drop index customers_city; create index by_city on customers (city); analyze"], {}
    yield ['drop index details_order; create index by_order on "Order Details" ("order id"); analyze'], {}
    for name, sql in QUERIES.items():
        yield [], {name: f"-- a remark\n{sql}"}
        yield [], {name: f"/* another */ {sql}"}
        yield [], {name: sql.replace(" from ", "\n  from ").replace(" where ", "\n  where ")}
        yield [], {name: sql.upper() if "'" not in sql and '"' not in sql else sql.replace("select", "SELECT")}
    for old, new, name in [
        ("customer = 7", "customer = 8", "latest of a customer"),
        ("'state3'", "'state17'", "open"),
        ("between 100 and 140", "between 900 and 940", "range"),
        ("id = 5", "id = 500", "by key"),
        ("'city4'", "'city80'", "in a city"),
        ("= 12", "= 1400", "details"),
        ("C3@", "c4@", "mail"),
        ("limit 10", "limit 20", "newest"),
        ("limit 5", "limit 6", "latest of a customer"),
    ]:
        yield [], {name: QUERIES[name].replace(old, new)}
    for alias in ("x", "orders_", "of", "a1"):
        quoted = f'"{alias}"'
        yield [], {"open": f"select count(*) from orders as {quoted} where {quoted}.state = 'state3'"}
        yield [], {"range": f"select {quoted}.id, total from orders {quoted} where {quoted}.placed between 100 and 140"}
        yield [], {"by key": f"select {quoted}.* from orders {quoted} where {quoted}.id = 5"}
        join = f"from customers {quoted} join orders o on o.customer = {quoted}.id where {quoted}.city = 'city4'"
        yield [], {"in a city": f"select o.id {join}"}
    yield [], {"in a city": "select o.id from orders o join customers c on o.customer = c.id where c.city = 'city4'"}


HARMLESS = list(harmless())


def test_harmless_changes_give_no_alarm() -> None:
    """As the gate decides by `--fail-on plan-change`."""
    before = made()
    condition = [read_condition("plan-change")]
    alarms = []
    for changes, queries in HARMLESS:
        judged = judge_conditions(condition, [(before, made(*changes, queries=QUERIES | queries))])
        alarms += [(changes, queries, each.reason) for _, each in judged if each.verdict != "pass"]
    assert len(HARMLESS) >= 100
    assert alarms == []


def test_another_order_of_statements_is_no_change() -> None:
    turned = dict(reversed(QUERIES.items()))
    assert plan_changes(made(), made(queries=turned)) == []


def test_a_plan_without_any_step_is_no_change() -> None:
    lines = (
        ["simple, o, const, key PRIMARY, ref const"],
        ["simple, Impossible WHERE noticed after reading const tables"],
    )
    system = from_json(System, {"engine": "MariaDB", "catalog": {}})
    a, b = (
        _cell(system, [some(CellStatement, name="q", sql="q", plan_nodes=plan_nodes(system, "q", plan))])
        for plan in lines
    )
    assert plan_changes(a, b) == plan_changes(b, a) == []


def test_a_changed_statement_is_paired_by_its_name_if_others_were_added() -> None:
    queries = {"new": "select count(*) from orders", **QUERIES, "by key": "select * from orders where id + 0 = 5"}
    assert [each.statement for each in plan_changes(made(), made(queries=queries))] == ["by key"]


def words(*changes: str, **queries: str) -> list[str]:
    before = {each: QUERIES[each.replace("_", " ")] for each in queries}
    after = {name: sql or before[name] for name, sql in queries.items()}
    return [each.words for each in plan_changes(made(queries=before), made(*changes, queries=after))]


def test_a_change_is_told_in_one_line() -> None:
    assert words("drop index orders_customer; drop index orders_placed", latest_of_a_customer="") == [
        "latest_of_a_customer: was index orders_customer; is scan of orders, sort"
    ]
    assert words(
        "drop index orders_customer; create index orders_customer on orders (customer)", latest_of_a_customer=""
    ) == ["latest_of_a_customer: was index orders_customer; is index orders_customer, sort"]
    assert words("drop index details_order", details="") == [
        "details: was index details_order; is scan of Order Details"
    ]
    assert words(by_key="select * from orders where abs(id) = 5") == ["by_key: was key of orders; is scan of orders"]


def violations(condition: str, queries: dict[str, str], *changes: str) -> list[Violation]:
    judged = judge_conditions([read_condition(condition)], [(None, made(*changes, queries=queries))])
    return [each.violation for _, each in judged if each.violation is not None]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select count(*) from orders o where total = 3", ["orders"]),
        ("select count(*) from customers", ["customers"]),
        ('select sum(n + id) from "Order Details" d', ["Order Details"]),
        ("select * from orders where id = 4", []),
        # It ends after ten rows.
        ("select id from orders order by placed limit 10", []),
        # Not after ten rows of the table.
        ("select total from orders order by total limit 10", ["orders"]),
        ("with few as (select id from orders where id < 5 limit 4) select count(*) from few", []),
        ("select count(*) from (select distinct city from customers where city > 'b' limit 9) x", []),
        ("insert into orders select max(id) + 1, 1, 'a', 1, 1 from orders", []),
    ],
)
def test_a_scan_is_of_a_table_that_is_read_whole(sql: str, tables: Sequence[str]) -> None:
    found = violations("scan", {"q": sql})
    assert [each.what for each in found] == [f"scans the whole table {each}" for each in tables]
    for table in tables:
        assert violations(f"scan:{table.upper()}", {"q": sql}) == [
            Violation(f"scan:{table.upper()}", "q", each.what, None, each.now) for each in found
        ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("scans", "unknown condition; use `scan`, `scan:TABLE`, `plan-change`, `missing-index` or `estimates:FACTOR`"),
        ("scan:", "unknown condition"),
        ("plan-change:orders", "unknown condition"),
        ("estimates", "unknown condition"),
        ("estimates:many", "unknown condition"),
        ("estimates:1x", "the factor is less than 2"),
    ],
)
def test_a_wrong_condition_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=f"--fail-on {text}") as caught:
        read_condition(text)
    assert why in str(caught.value)


def test_a_table_that_no_statement_names_is_refused() -> None:
    with pytest.raises(InputError, match="no statement names a table `ordres`; did you mean `orders`"):
        violations("scan:ordres", QUERIES)


def test_the_index_of_a_table_that_is_read_in_part_only_may_lack_the_table() -> None:
    covered = [
        PlanNode(kind="search", line="", depth=0, table="t", index="i", index_only=only) for only in (True, False)
    ]
    a, b = (
        _cell(from_json(System, {"engine": engine}), [some(CellStatement, name="q", sql="q", plan_nodes=[each])])
        for engine in ["sqlite"]
        for each in covered
    )
    assert [each.words for each in plan_changes(a, b)] == ["q: was only index i; is index i"]
    # PostgreSQL decides by what was vacuumed.
    for each in (a, b):
        each.system.engine = "PostgreSQL"
    assert plan_changes(a, b) == []
