"""Statements whose plan is worse in kind than the baseline's: they fail a gate whatever the noise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Cli
from dbdyno.analysis.worse_plans import worse_plans
from dbdyno.engines.lookup import known_engine
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.convert import from_json, to_json

SQL = "select * from orders where customer = ? order by id"
SEARCH, SCAN = "SEARCH orders USING INDEX by_customer (customer=?)", "SCAN orders"
PG_SEARCH = ["Index Scan using by_customer on orders", "  Index Cond: (customer = $1)"]
PG_SCAN = ["Seq Scan on orders", "  Filter: (customer = $1)"]
MY_SEARCH, MY_SCAN = "SIMPLE, orders, ref, key by_customer, ", "SIMPLE, orders, ALL, Using where"


def cell(
    plan: list[str],
    engine: str = "sqlite",
    *,
    indexes: tuple[str, ...] = (),
    sql: str = SQL,
    p50: float | None = None,
    mean: float | None = None,
) -> Cell:
    """What is looked at of a cell with one statement."""
    tables = [{"name": "orders", "indexes": [{"name": each} for each in indexes]}]
    statement = {"name": sql, "sql": sql, "plan": plan, "values": [], "rows": 1.0, "analyzed": [], "estimates": []}
    read = known_engine(engine).read_plan(plan)
    statement["plan_nodes"] = [] if read is None else [to_json(each) for each in read.nodes]
    timed = {"kind": "statement", "name": sql, "latency_ms": {"p50": p50, "mean": mean}}
    made: Any = {
        "system": {"engine": engine, "catalog": {"tables": tables}},
        "statements": [statement],
        "operations": [timed] if p50 or mean else [],
    }
    return from_json(Cell, made)


@pytest.mark.parametrize(
    ("engine", "before", "after"),
    [("sqlite", [SEARCH], [SCAN]), ("postgresql", PG_SEARCH, PG_SCAN), ("mysql", [MY_SEARCH], [MY_SCAN])],
)
def test_a_lost_index_is_named_with_what_it_costs(engine: str, before: list[str], after: list[str]) -> None:
    a = cell(before, engine, indexes=("by_customer",), p50=0.5, mean=3.0)
    b = cell(after, engine, p50=2.0, mean=6.0)
    (found,) = worse_plans(a, b)
    assert found.reason == (
        f"`{SQL}` now scans the whole table orders: index by_customer no longer exists "
        f"(`{found.before}` → `{found.after}`), "
        "4 times as long (median)"
    )
    assert worse_plans(b, a) == worse_plans(a, a) == worse_plans(b, b) == []


def test_the_average_that_grew_more_counts() -> None:
    a, b = cell([SEARCH], p50=1.0, mean=1.0), cell([SCAN], p50=1.0, mean=3.0)
    (found,) = worse_plans(a, b)
    assert (found.times, found.average) == (3.0, "mean")
    (found,) = worse_plans(cell([SEARCH]), cell([SCAN]))
    assert found.times is None and "times as long" not in found.reason


def test_an_index_that_is_left_aside_and_a_new_sort_count() -> None:
    kept = ("by_customer",)
    (found,) = worse_plans(cell([SEARCH], indexes=kept), cell([SCAN], indexes=kept))
    assert found.change == "now scans the whole table orders without index by_customer"
    (found,) = worse_plans(cell([SEARCH]), cell([SEARCH, "USE TEMP B-TREE FOR ORDER BY"]))
    assert found.change == "now sorts its rows"


def test_a_planner_that_estimates_from_samples_needs_a_cause() -> None:
    kept = ("by_customer",)
    a, b = (cell(plan, "postgresql", indexes=kept) for plan in (PG_SEARCH, PG_SCAN))
    assert worse_plans(a, b) == []
    # A statement that was rewritten is one.
    (found,) = worse_plans(
        a, cell(PG_SCAN, "postgresql", indexes=kept, sql="select * from orders where customer + 0 = ?")
    )
    assert "without index by_customer" in found.change


EXPERIMENT = """
name = "mine"
title = "A statement"

[tables.orders]
rows = 3000
[tables.orders.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
customer = { type = "integer", fill = { uniform = [1, 3000] } }
INDEX
[load]
stop = { transactions = 20 }

[[transactions]]
name = "t"
steps = [{ execute = "select * from orders where customer = ?", params = [{ key = "orders.customer" }] }]
"""


def test_a_dropped_index_fails_the_gate_by_its_plan(cli: Cli) -> None:
    cli.write("with.toml", EXPERIMENT.replace("INDEX", '[[tables.orders.indexes]]\ncolumns = ["customer"]'))
    cli.write("without.toml", EXPERIMENT.replace("INDEX", ""))
    options = ("--rounds", "2", "--store", "g.db")
    cli("gate", "./without.toml", "--against", "./with.toml", *options, "--json", "gate.json", code=3)
    (judged,) = json.loads((cli.directory / "gate.json").read_text())["cells"]
    assert judged["verdict"] == "regression"
    assert "now scans the whole table orders: index orders_customer no longer exists" in judged["reason"]
    # A plan that became better is no regression.
    out = cli("gate", "./with.toml", "--against", "./without.toml", *options)
    assert "regression" not in out
