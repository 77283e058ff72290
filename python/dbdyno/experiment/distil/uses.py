"""Find out what the parameters of a statement are compared with, inserted into, or set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines import engine_of
from dbdyno.engines.catalog_table import quoted

if TYPE_CHECKING:
    from sqlglot import exp

Role = Literal["equals", "range", "pattern", "escape", "inserted", "set", "limit", "offset", "other", "unknown"]


@dataclass(frozen=True)
class Use:
    """What a parameter is for; ``unknown`` if the statement can't be parsed.

    ``table``, ``column``: as the statement names them, empty if unknown. ``cast``: the type that it is cast to, if any;
    ``is_list``: it is an array of values. ``position``: of the column in a table whose columns aren't named.
    """

    role: Role = "other"
    table: str = ""
    column: str = ""
    cast: str = ""
    is_list: bool = False
    position: int | None = None


@dataclass(frozen=True)
class Parsed:
    """A statement: ``name``, such as `update orders`, and the use of each `?`.

    ``table``: the first one. ``columns``: of its result, as table and column; empty if unknown. ``inserted``: columns
    that an insert gives values for. ``tables``: all tables; ``None`` if unknown.
    """

    name: str
    uses: Sequence[Use]
    table: str = ""
    columns: Sequence[tuple[str, str]] = ()
    inserted: frozenset[str] = frozenset()
    tables: Sequence[str] | None = None

    @property
    def verb(self) -> str:
        """Its first word."""
        return self.name.partition(" ")[0]


_ESCAPE = re.compile(r"\bescape\s*$", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def parse_uses(text: str, engine: str) -> Parsed:
    """Parse a statement with `?`. What can't be parsed has parameters of unknown use."""
    places = engine_of(engine).placeholders(text)
    pieces, start = [], 0
    escapes: set[int] = set()
    for number, each in enumerate(places, 1):
        before = text[start : each.start]
        if _ESCAPE.search(before):
            # The parser takes only a literal here.
            escapes.add(number)
        # A word may follow directly.
        pieces += [before, "'!' " if number in escapes else f"{VALUE}{number} "]
        start = each.end
    grammar = engine_of(engine).grammar
    verb = next(iter(text.split(maxsplit=1)), "").lower()
    tree = sql_tree("".join([*pieces, text[start:]]), grammar) if grammar else None
    if tree is None:
        return Parsed(verb, [Use("unknown")] * len(places))
    found = {number: Use("escape") for number in escapes}
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        if column.name.startswith(VALUE) and not column.table:
            found[int(column.name.removeprefix(VALUE))] = _use(column, str(grammar))
    tables = _tables(tree)
    name = f"{verb} {tables[0].name if tables else ''}".strip()
    uses = [found.get(number, Use()) for number in range(1, len(places) + 1)]
    table = _written(tables[0], str(grammar)) if tables else ""
    schema = tree.this if isinstance(tree, exp.Insert) and isinstance(tree.this, exp.Schema) else None
    inserted = frozenset(_written_name(each, str(grammar)) for each in schema.expressions) if schema else frozenset()
    written = [_written(each, str(grammar)) for each in tables]
    return Parsed(name, uses, table, _columns(tree, table, str(grammar)), inserted, written)


def _columns(tree: exp.Expr, table: str, grammar: str) -> Sequence[tuple[str, str]]:
    """Return the columns of a statement's result; empty names for what isn't a column, nothing if it has a `*`."""
    from sqlglot import exp

    returning = tree.args.get("returning")
    results = tree.expressions if isinstance(tree, exp.Select) else returning.expressions if returning else []
    if any(each.is_star for each in results):
        return ()
    found = []
    for each in results:
        use = _of(each.unalias(), "other", grammar)
        found.append((use.table or (table if returning and use.column else ""), use.column))
    return found


def _tables(tree: exp.Expr) -> Sequence[exp.Table]:
    from sqlglot import exp

    with_ = {each.alias for each in tree.find_all(exp.CTE)}
    return [each for each in tree.find_all(exp.Table, bfs=False) if each.name and each.name not in with_]


def _use(column: exp.Column, grammar: str) -> Use:
    from sqlglot import exp

    node: exp.Expr = column
    parent = node.parent
    cast, is_list = "", False
    while isinstance(parent, exp.Paren | exp.Cast | exp.Neg | exp.Tuple | exp.Any) and not isinstance(
        parent.parent, exp.Values
    ):
        if isinstance(parent, exp.Cast) and not cast:
            cast = parent.to.sql(grammar).lower()
        is_list = is_list or isinstance(parent, exp.Any)
        node, parent = parent, parent.parent
    if isinstance(parent, exp.Cast) and not cast:
        cast = parent.to.sql(grammar).lower()
    found = _inserted(column, grammar)
    if found is None and isinstance(parent, exp.Limit | exp.Fetch | exp.Offset):
        found = Use("offset" if isinstance(parent, exp.Offset) else "limit")
    return replace(found or _compared(node, parent, grammar), cast=cast, is_list=is_list)


def _compared(node: exp.Expr, parent: exp.Expr | None, grammar: str) -> Use:
    from sqlglot import exp

    match parent:
        case exp.EQ() | exp.NullSafeEQ() | exp.ArrayContainsAll() | exp.ArrayOverlaps():
            other = parent.expression if parent.this is node else parent.this
            is_set = isinstance(parent.parent, exp.Update) and parent.arg_key == "expressions"
            return _of(other, "set" if is_set else "equals", grammar)
        case exp.In() if parent.this is not node:
            return _of(parent.this, "equals", grammar)
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _of(parent.expression if parent.this is node else parent.this, "range", grammar)
        case exp.Between() if parent.this is not node:
            return _of(parent.this, "range", grammar)
        case exp.Like() | exp.ILike() | exp.Glob():
            return _of(parent.this, "pattern", grammar)
    return Use()


def _inserted(column: exp.Column, grammar: str) -> Use | None:
    from sqlglot import exp

    row = column.find_ancestor(exp.Tuple)
    insert = column.find_ancestor(exp.Insert)
    if row is None or insert is None or not isinstance(row.parent, exp.Values):
        return None
    value: exp.Expr = column
    while isinstance(value.parent, exp.Cast | exp.Paren):
        value = value.parent
    at = next((index for index, each in enumerate(row.expressions) if each is value), None)
    if at is not None and isinstance(insert.this, exp.Table):
        return Use("inserted", _written(insert.this, grammar), position=at)
    names = insert.this.expressions if isinstance(insert.this, exp.Schema) else []
    if at is None or at >= len(names):
        return Use("inserted")
    return Use("inserted", _written(insert.this.this, grammar), _written_name(names[at], grammar))


def _of(other: exp.Expr | None, role: Role, grammar: str) -> Use:
    from sqlglot import exp

    if not isinstance(other, exp.Column) or other.name.startswith(VALUE):
        return Use(role)
    scope = other.find_ancestor(exp.Select, exp.Update, exp.Delete)
    tables = [] if scope is None else _own_tables(scope)
    if other.table:
        tables = [each for each in tables if each.alias_or_name.lower() == other.table.lower()]
    if len(tables) != 1:
        return Use(role, "", _written_name(other.this, grammar))
    return Use(role, _written(tables[0], grammar), _written_name(other.this, grammar))


def _own_tables(scope: exp.Expr) -> Sequence[exp.Table]:
    """Return the tables of a statement without those of its subqueries."""
    from sqlglot import exp

    return [each for each in _tables(scope) if each.find_ancestor(exp.Select, exp.Update, exp.Delete) is scope]


def _written(table: exp.Expr, grammar: str) -> str:
    return ".".join(_written_name(each, grammar) for each in (table.args.get("db"), table.this) if each is not None)


def _written_name(name: exp.Expr, grammar: str) -> str:
    """Return a name as it is written in SQL."""
    from sqlglot import exp

    identifier = name if isinstance(name, exp.Identifier) else name.this
    if not isinstance(identifier, exp.Identifier):
        return name.name
    return quoted(identifier.name, grammar) if identifier.args.get("quoted") else identifier.name
