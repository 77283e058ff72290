"""Plans of PostgreSQL: changes that a gate must find, foreign keys without an index, and generic plans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Cli
from installed_servers import needs_postgresql

# They start servers.
pytestmark = [pytest.mark.slow, needs_postgresql]

# Each statement has an index of its own.
STATEMENTS = {
    "customer": "select total from orders where customer = 7",
    "placed": "select total from orders where placed between 50 and 90",
    "smallest": "select id from orders order by total, id limit 5",
    "name": "select count(*) from orders where name like 'ab%'",
    "lower": "select id from orders where lower(name) = 'abcd'",
    "state": "select total from orders where state = 'rare'",
    "city": "select c.id from customers c where c.city = 'c7'",
    "both": "select id from orders where a = 3 and b = 4",
    "absolute": "select id from orders where abs(placed - 500) = 5",
    "day": "select id from orders where day = 7 order by customer limit 3",
}
INDEXES = (
    "create index orders_customer on orders (customer)",
    "create index orders_placed on orders (placed)",
    "create index orders_total on orders (total, id)",
    "create index orders_name on orders (name text_pattern_ops)",
    "create index orders_lower on orders (lower(name))",
    "create index orders_state on orders (state)",
    "create index customers_city on customers (city)",
    "create index orders_both on orders (a, b)",
    "create index orders_absolute on orders (abs(placed - 500))",
    "create index orders_day on orders (day, customer)",
)
WORSE_INDEXES = (
    "create index orders_customer on orders (customer) where total < 0",
    "create index orders_placed on orders (placed)",
    "create index orders_total on orders (total, id)",
    'create index orders_name on orders (name collate "und-x-icu")',
    "create index orders_lower on orders (upper(name))",
    "update orders set state = 'rare'",
    "create index orders_state on orders (state)",
    "create index customers_city on customers (city)",
    "create index orders_b on orders (b)",
    "create index orders_absolute on orders (abs(placed - 501))",
    "create index orders_day on orders (day)",
)
OTHER_SQL = {
    "placed": "select total from orders where placed + 0 between 50 and 90",
    "smallest": "select id from orders order by total desc, id limit 5",
    "city": "select c.id from customers c where c.city || '' = 'c7'",
}
# The same statements and indexes, with other names, remarks, aliases and values, and with more rows.
HARMLESS_SQL = {
    "customer": "/* a remark */ select o.total from orders o where o.customer = 8",
    "placed": "select total from orders x where placed between 150 and 190",
    "smallest": "select id from orders order by total, id limit 6",
    "city": "select k.id from customers k where k.city = 'c8'",
    "day": "select id from orders where day = 17 order by customer limit 4",
}
TABLES = """
name = "shop"
title = "Statements with an index"
[tables.customers]
rows = 20_000
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.city = { type = "text", fill = { format = { template = "c{}", parts = [{ uniform = [1, 2000] }] } } }
[tables.orders]
rows = ROWS
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.customer = { type = "integer", fill = { uniform = [1, 20_000] } }
columns.placed = { type = "integer", fill = { uniform = [1, 60_000] } }
columns.total = { type = "integer", fill = { uniform = [1, 60_000] } }
columns.name = { type = "text", fill = { text = [6, 9] } }
columns.state = { type = "text", fill = { pick = { values = ["done", "rare"], weights = [999, 1] } } }
columns.a = { type = "integer", fill = { uniform = [1, 50] } }
columns.b = { type = "integer", fill = { uniform = [1, 50] } }
columns.day = { type = "integer", fill = { uniform = [1, 300] } }
[load]
stop = { transactions = 3 }
"""


def shop(*, indexes: tuple[str, ...] = INDEXES, sql: dict[str, str] | None = None, rows: int = 30_000) -> str:
    steps = [
        f"{{ execute = {json.dumps(text)}, name = {json.dumps(name)} }}"
        for name, text in (STATEMENTS | (sql or {})).items()
    ]
    first = TABLES.partition("[tables")[0]
    rest = TABLES.removeprefix(first).replace("ROWS", str(rows))
    transaction = f'[[transactions]]\nname = "t"\nsteps = [{", ".join(steps)}]\n'
    return f"{first}setup = {json.dumps(list(indexes))}\n{rest}{transaction}"


@pytest.mark.parametrize(
    ("candidate", "changed"),
    [
        (shop(indexes=()), set(STATEMENTS)),
        (shop(indexes=WORSE_INDEXES, sql=OTHER_SQL), set(STATEMENTS)),
        (
            shop(
                sql=HARMLESS_SQL,
                rows=30_300,
                indexes=tuple(each.replace("orders_customer", "mine") for each in INDEXES),
            ),
            set(),
        ),
    ],
    ids=["without indexes", "other indexes and statements", "harmless"],
)
def test_changed_plans_are_found_and_others_are_not(server_cli: Cli, candidate: str, changed: set[str]) -> None:
    server_cli.write("baseline.toml", shop())
    server_cli.write("candidate.toml", candidate)
    ended = server_cli.invoke(
        *("gate", "./candidate.toml", "--against", "./baseline.toml", "--system", "postgresql:", "--rounds", "1"),
        *("--fail-on", "plan-change", "--store", "g.db", "--json", "gate.json"),
    )
    found = json.loads((server_cli.directory / "gate.json").read_text())
    violations = [each["violation"] for each in found["cells"] if each["violation"]]
    assert {each["statement"] for each in violations} == changed, ended.out
    assert all(each["was"] != each["now"] for each in violations)


KEYS = """
name = "keys"
title = "Foreign keys"
setup = [
    "alter table orders add foreign key (customer) references customers on delete cascade",
    "alter table lines add foreign key (of_order) references orders (id) on delete cascade",
]
[tables.customers]
rows = 3000
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.name = { type = "text", fill = "x" }
[tables.orders]
rows = 20_000
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.customer = { type = "integer", fill = { uniform = [1, 3000] } }
[tables.lines]
rows = 20_000
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.of_order = { type = "integer", fill = { uniform = [1, 20_000] } }
[load]
stop = { transactions = 20 }
[[transactions]]
name = "t"
steps = [
    { execute = "delete from customers where id = ?", params = [{ key = "customers.id" }] },
    { execute = "update customers set name = 'y' where id = ?", params = [{ key = "customers.id" }] },
]
"""


def findings(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in document["findings"] if each["kind"] == kind]


def test_a_foreign_key_without_an_index_is_found_through_cascades(server_cli: Cli) -> None:
    document = server_cli.run(server_cli.write("keys.toml", KEYS), "--system", "postgresql:", "--rounds", "1")
    found = findings(document, "foreign key without index")
    assert [(each["evidence"]["table"], each["evidence"]["through"]) for each in found] == [
        ("orders", []),
        ("lines", ["orders"]),
    ]
    assert all(each["evidence"]["statement"].startswith("delete") for each in found)
    assert found[0]["evidence"]["sql"] == "create index on_orders_customer on orders (customer)"
    made = [each["evidence"]["sql"] for each in found]
    indexed = KEYS.replace("setup = [", f"setup = [{json.dumps(made[0])}, {json.dumps(made[1])},")
    document = server_cli.run(server_cli.write("indexed.toml", indexed), "--system", "postgresql:", "--rounds", "1")
    assert findings(document, "foreign key without index") == []


PREPARED = """
name = "prepared"
title = "Generic plans"
setup = ["create index jobs_rare on jobs (id) where state = 2"]
[tables.jobs]
rows = 40_000
columns.id = { type = "integer", primary_key = true, fill = { serial = 1 } }
columns.state = { type = "integer", fill = { pick = { values = [1, 2], weights = [9999, 1] } } }
[load]
stop = { transactions = 5 }
PREPARE
[[transactions]]
name = "t"
steps = [{ execute = "select id from jobs where state = ?", params = [2] }]
"""


def test_the_generic_plan_is_shown_beside_the_custom_one(server_cli: Cli) -> None:
    def prepared(text: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        document = server_cli.run(server_cli.write("p.toml", text), "--system", "postgresql:", "--rounds", "1")
        (statement,) = document["cells"][0]["statements"]
        return statement["prepared"], findings(document, "generic plan")

    # Only a plan for the value 2 can use the index.
    plans, found = prepared(PREPARED.replace("PREPARE\n", ""))
    assert plans is not None
    assert "Scan using jobs_rare" in "".join(plans["custom"]) and "Seq Scan" in "".join(plans["generic"])
    assert plans["generic_cost"] > plans["custom_cost"] > 5 and plans["generic_from"] is None
    assert "has the generic plan scan of jobs, which is not chosen" in found[0]["text"]
    # Of many values, one is frequent.
    many = PREPARED.replace("PREPARE\n", "").replace("params = [2]", "params = [0]")
    values = "update jobs set state = case when id % 20 > 0 then 0 else id end"
    many = many.replace("jobs_rare on jobs (id) where state = 2", f'jobs_state on jobs (state)", "{values}')
    plans, found = prepared(many)
    assert plans is not None and plans["generic_from"] == 6
    assert "from execution 6 of a session on" in found[0]["text"]
    # Without prepared statements there is one plan.
    assert prepared(PREPARED.replace("PREPARE", 'prepare = "never"')) == (None, [])
