"""Replace the views of a statement by their queries, as the engines do."""

from __future__ import annotations

from dbdyno.base.sql_tree import sql_tree
from dbdyno.engines.catalog_table import find_entry, quoted
from dbdyno.model.result.reading import JsonObject, objects

# Views may read other views. More levels than these are left alone.
_MAX_LEVELS = 8


def expand_views(sql: str, grammar: str, catalog: JsonObject) -> str:
    """Return a statement in which derived tables replace the views.

    ``grammar``: sqlglot's name of the dialect; ``catalog``: the catalog as read back. A view whose definition can't be
    parsed is left alone.
    """
    views = objects(catalog.get("views"))
    for _ in range(_MAX_LEVELS if views else 0):
        expanded = _expand_once(sql, grammar, views)
        if expanded == sql:
            break
        sql = expanded
    return sql


def _expand_once(sql: str, grammar: str, views: list[JsonObject]) -> str:
    from sqlglot import exp

    tree = sql_tree(sql, grammar)
    if tree is None:
        return sql
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    replaced: list[tuple[int, int, str]] = []
    for node in tree.find_all(exp.Table):
        # A statement that writes to a view is left alone.
        is_read = isinstance(node.parent, exp.From | exp.Join)
        view = find_entry(views, node, grammar) if is_read and (node.db or node.name.lower() not in names) else None
        query = None if view is None else _query(str(view.get("definition")), grammar)
        if query is not None:
            first = node.args.get("db") or node.this
            alias = "" if node.alias else f" AS {quoted(node.name, grammar)}"
            replaced.append((first.meta["start"], node.this.meta["end"] + 1, f"({query}){alias}"))
    for start, end, text in sorted(replaced, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _query(definition: str, grammar: str) -> str | None:
    """Return the query of a view without database names, because a copy of the tables has another database."""
    from sqlglot import exp

    found = sql_tree(definition, grammar)
    tree = None if found is None else found.copy()
    query = tree.expression if isinstance(tree, exp.Create) else tree
    if not isinstance(query, exp.Query):
        return None
    columns = [expression.name for expression in tree.this.expressions] if isinstance(tree, exp.Create) else []
    if columns and len(columns) == len(query.selects):
        for column, item in zip(columns, query.selects, strict=True):
            item.replace(exp.alias_(item.unalias().copy(), column, quoted=True))
    if grammar == "mysql":
        for node in query.find_all(exp.Table, exp.Column):
            node.set("db", None)
    return query.sql(dialect=grammar)
