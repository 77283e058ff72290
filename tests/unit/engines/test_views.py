"""Views in a statement become derived tables, so that their tables get candidates."""

from __future__ import annotations

from typing import Any

from dbdyno.engines.index_advice import index_candidates
from dbdyno.engines.views import expand_views

ORDERS = {
    "name": "orders",
    "schema": None,
    "columns": [{"name": each, "type": "int", "collation": None} for each in ("id", "customer", "status", "total")],
    "primary_key": ["id"],
    "indexes": [],
}
OPEN = "create view open_orders as select id, customer, total from orders where status = 1"


def catalog(*definitions: tuple[str, str]) -> dict[str, Any]:
    views = [{"name": name, "schema": None, "definition": definition} for name, definition in definitions]
    return {"tables": [ORDERS], "foreign_keys": [], "views": views}


def keys(sql: str, *definitions: tuple[str, str], engine: str = "sqlite") -> list[list[str]]:
    found = index_candidates(sql, engine, catalog(*definitions))
    return [[key.name for key in each.keys] for each in found]


def test_conditions_inside_and_outside_of_a_view_are_combined() -> None:
    assert ["customer", "status"] in keys("select total from open_orders where customer = 7", ("open_orders", OPEN))


def test_views_of_views_and_their_column_names_are_followed() -> None:
    renamed = "CREATE VIEW mine (who, what) AS SELECT customer, total FROM open_orders"
    views = (("mine", renamed), ("open_orders", OPEN))
    assert ["customer", "status"] in keys("select what from mine m where m.who = 7", *views)


def test_a_view_as_mysql_reports_it() -> None:
    definition = (
        "select `shop`.`orders`.`customer` AS `customer` from `shop`.`orders` where (`shop`.`orders`.`status` = 1)"
    )
    assert ["customer", "status"] in keys("select 1 from v where customer = 7", ("v", definition), engine="mysql")


def test_common_table_expressions_hide_views() -> None:
    sql = "with open_orders as (select 1 as customer) select * from open_orders"
    assert expand_views(sql, "sqlite", catalog(("open_orders", OPEN))) == sql


def test_statements_that_write_to_a_view_and_unknown_definitions_stay_unchanged() -> None:
    for sql, definition in (
        ("delete from open_orders where customer = 7", OPEN),
        ("select * from open_orders", "create view open_orders as something else"),
        ("select * from", OPEN),
    ):
        assert expand_views(sql, "sqlite", catalog(("open_orders", definition))) == sql


def test_a_view_that_reads_itself_ends() -> None:
    sql = expand_views("select * from v", "sqlite", catalog(("v", "create view v as select * from v")))
    assert sql.count("SELECT") == 8
