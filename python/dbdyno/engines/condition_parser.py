"""Find the columns of a table that a statement compares with values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines.conditions import Conditions
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.statements import numbered
from dbdyno.model.result.reading import JsonObject, objects

if TYPE_CHECKING:
    from sqlglot import exp


def conditions_on(sql: str, engine: str, table: str, catalog: JsonObject) -> Conditions:
    """Return the conditions of a statement on a table. ``table``: its name or alias, as in the plan.

    ``catalog``: the catalog as read back. The result has no columns if the statement can't be parsed.
    """
    from sqlglot import exp

    grammar = known_engine(engine).grammar
    tree = sql_tree(numbered(sql, VALUE, engine), grammar) if grammar else None
    wanted = table.lower()
    tables = [] if tree is None else list(tree.find_all(exp.Table))
    aliased = [each for each in tables if each.alias_or_name.lower() == wanted]
    named = (aliased or [each for each in tables if each.name.lower() == wanted])[:1]
    if not named:
        return Conditions(table)
    scope = named[0].find_ancestor(exp.Select, exp.Update, exp.Delete)
    stored = next(
        (each for each in objects(catalog.get("tables")) if _lower(each, "name") == named[0].name.lower()), {}
    )
    known = [_lower(column, "name") for column in objects(stored.get("columns"))]
    columns = () if scope is None else tuple(dict.fromkeys(_compared(scope, named[0], known)))
    first = [_lower(next(iter(objects(index.get("keys"))), {}), "column") for index in objects(stored.get("indexes"))]
    return Conditions(named[0].name, columns, tuple(column for column in columns if column.lower() in first))


def _compared(scope: exp.Expr, table: exp.Table, known: Sequence[str]) -> Iterator[str]:
    """Yield the table's columns in comparisons that don't name another table's column."""
    from sqlglot import exp

    alone = len([each for each in scope.find_all(exp.Table) if _scope_of(each) is scope]) == 1
    alias = table.alias_or_name.lower()

    def is_own(column: exp.Column) -> bool:
        if column.table:
            return column.table.lower() == alias
        return column.name.lower() in known if known else alone

    for node in scope.find_all(exp.Predicate):
        if _scope_of(node) is not scope or node.find_ancestor(exp.Where, exp.Join) is None:
            continue
        named = [each for each in node.find_all(exp.Column) if not each.name.startswith(VALUE)]
        if named and all(is_own(each) for each in named):
            yield from (each.name for each in named)


def _scope_of(node: exp.Expr) -> exp.Expr | None:
    from sqlglot import exp

    return node.find_ancestor(exp.Select, exp.Update, exp.Delete)


def _lower(part: JsonObject, name: str) -> str:
    return str(part.get(name)).lower()
