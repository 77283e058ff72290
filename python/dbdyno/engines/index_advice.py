"""Derive from a statement's conditions the index that would avoid a full scan of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines.index import Index, index_name
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.statements import numbered
from dbdyno.model.result.reading import JsonObject, objects

if TYPE_CHECKING:
    from sqlglot import exp


_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
# Words that engines reserve but sqlglot knows only as parts of phrases. Quoting a name needlessly does no harm.
_WORDS = frozenset({"ANALYSE", "GROUPS", "INDEX", "KEY", "KEYS", "LAG", "LEAD", "RANK", "SYSTEM", "USER", "VARIADIC"})


def index_for(
    sql: str, engine: str, table: str, catalog: JsonObject, *, inner: bool = False, single: bool = False
) -> Index | None:
    """Return an index with which a statement finds its rows of a table.

    ``table``: its name or alias in the statement; ``catalog``: the catalog as read back; ``inner``: the table is read
    once for each row of another table. The index begins with the columns that must equal a value, followed by one with
    a range condition or by those of the sort order. Join columns count if no other column must equal a value, no index
    begins with them, and a condition selects few rows of the other table. ``single``: the engine uses an index only for
    a single equality condition on the table. ``None``: no condition can use an index, or the statement can't be parsed.
    """
    grammar = known_engine(engine).grammar
    tree = sql_tree(numbered(sql, VALUE, engine), grammar) if grammar else None
    found = _scope(tree, table) if tree is not None else None
    if found is None:
        return None
    scope, named = found
    known = _columns(catalog, named.name)
    equal, joined, ranged = _conditions(scope, named, known)
    if not equal and (inner or _others_are_found(scope, named, catalog)):
        equal = [each for each in joined if _present(catalog, named.name, [each]) is None]
    if single and (len(equal) != 1 or ranged):
        return None
    ordered = _order(scope, named, known) if not (ranged or single) else []
    columns = [*equal, *(ranged[:1] or [each for each in ordered if each not in equal])]
    if not columns:
        return None
    # Spell names as in the catalog: a statement may use another case.
    entry = _table(catalog, named.name)
    written = [str(each.get("name")) for each in objects(entry.get("columns"))]
    table_name = str(entry.get("name") or named.name)
    quoted = [_name(_as_in(each, written), grammar) for each in columns]
    made = f"create index {index_name(named.name, columns)} on {_name(table_name, grammar)} ({', '.join(quoted)})"
    return Index(named.name, tuple(columns), _present(catalog, named.name, columns), made)


def _as_in(name: str, known: Iterable[str]) -> str:
    return next((each for each in known if each.lower() == name.lower()), name)


def _name(name: str, grammar: str | None) -> str:
    """Quote a name if it isn't a plain word or is a keyword of the engine."""
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

    keywords = Dialect.get_or_raise(grammar).tokenizer_class.KEYWORDS
    words = _WORDS.union(*(each.split() for each in keywords))
    plain = _PLAIN.fullmatch(name) is not None and name.upper() not in words
    return exp.to_identifier(name, quoted=not plain).sql(dialect=grammar)


def _scope(tree: exp.Expr, table: str) -> tuple[exp.Expr, exp.Table] | None:
    """Find the query that reads a table, and its table node; ``None`` unless there is exactly one."""
    from sqlglot import exp

    kinds = (exp.Select, exp.Update, exp.Delete)
    wanted = table.lower()
    named = [each for each in tree.find_all(exp.Table) if wanted in (each.alias_or_name.lower(), each.name.lower())]
    aliased = [each for each in named if each.alias_or_name.lower() == wanted] or named
    if len(aliased) != 1:
        return None
    scope = aliased[0].find_ancestor(*kinds)
    return None if scope is None else (scope, aliased[0])


def _conditions(scope: exp.Expr, table: exp.Table, known: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the columns compared for equality with a value, with another table's column, and by range."""
    from sqlglot import exp

    equal: list[str] = []
    joined: list[str] = []
    ranged: list[str] = []
    kinds = (exp.Select, exp.Update, exp.Delete)
    for node in scope.find_all(exp.EQ, exp.In, exp.Is, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between):
        if node.find_ancestor(*kinds) is not scope or node.find_ancestor(exp.Not, exp.Or, exp.Case) is not None:
            continue
        if node.find_ancestor(exp.Where, exp.Join) is None:
            continue
        sides = [node.this, *([node.expression] if isinstance(node, exp.Binary) else [])]
        for place, side in enumerate(sides):
            column = side.unnest()
            other = sides[1 - place] if len(sides) > 1 else None
            if not isinstance(column, exp.Column) or not _of(column, scope, table, known):
                continue
            # Two columns of one table are compared row by row.
            others = [] if other is None else [each for each in other.find_all(exp.Column) if not _is_value(each)]
            if any(_of(each, scope, table, known) for each in others):
                continue
            is_equal = isinstance(node, exp.EQ | exp.In | exp.Is)
            into = ranged if not is_equal else joined if others else equal
            if column.name not in into:
                into.append(column.name)
    return equal, joined, [each for each in ranged if each not in equal]


def _others_are_found(scope: exp.Expr, table: exp.Table, catalog: JsonObject) -> bool:
    """Whether another table of the query has an equality condition, so that few of its rows are joined."""
    others = (each for each in _tables(scope) if each is not table)
    return any(_conditions(scope, each, _columns(catalog, each.name))[0] for each in others)


def _order(scope: exp.Expr, table: exp.Table, known: Sequence[str]) -> list[str]:
    """Return the columns of ``order by`` or ``group by`` if an index can provide that order."""
    from sqlglot import exp

    order = scope.args.get("order")
    if order is not None:
        keys = [each.this.unnest() for each in order.expressions]
        if len({bool(each.args.get("desc")) for each in order.expressions}) > 1:
            return []
    else:
        group = scope.args.get("group")
        keys = [each.unnest() for each in group.expressions] if group is not None else []
    if not all(isinstance(each, exp.Column) and _of(each, scope, table, known) for each in keys):
        return []
    return list(dict.fromkeys(each.name for each in keys))


def _of(column: exp.Column, scope: exp.Expr, table: exp.Table, known: Sequence[str]) -> bool:
    """Whether a column is one of the table's."""
    if _is_value(column):
        return False
    if column.table:
        return column.table.lower() == table.alias_or_name.lower()
    if known:
        return column.name.lower() in known
    return len(list(_tables(scope))) == 1


def _is_value(column: exp.Column) -> bool:
    """Whether it represents a placeholder for a value."""
    return column.name.startswith(VALUE)


def _tables(scope: exp.Expr) -> Iterator[exp.Table]:
    from sqlglot import exp

    kinds = (exp.Select, exp.Update, exp.Delete)
    return (each for each in scope.find_all(exp.Table) if each.find_ancestor(*kinds) is scope)


def _columns(catalog: JsonObject, table: str) -> list[str]:
    return [str(each.get("name")).lower() for each in objects(_table(catalog, table).get("columns"))]


def _table(catalog: JsonObject, name: str) -> JsonObject:
    named = (each for each in objects(catalog.get("tables")) if str(each.get("name")).lower() == name.lower())
    return next(named, {})


def _present(catalog: JsonObject, table: str, columns: Sequence[str]) -> str | None:
    """Return the name of a usable index that begins with these columns, in any order."""
    wanted = {each.lower() for each in columns}
    for index in objects(_table(catalog, table).get("indexes")):
        keys = [str(each.get("column")).lower() for each in objects(index.get("keys"))][: len(wanted)]
        if set(keys) == wanted and index.get("usable", True) and not index.get("partial"):
            return str(index.get("name"))
    return None
