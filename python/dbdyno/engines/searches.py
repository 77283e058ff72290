"""Analyze the conditions in a statement's text: ``LIKE`` patterns with a fixed prefix, and comparisons of strings."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.prefix_rules import ColumnName, PrefixSearch
from dbdyno.engines.statements import numbered

if TYPE_CHECKING:
    from sqlglot import exp

# ``LIKE`` and PostgreSQL's operator for it.
_LIKE = re.compile(r"like|~~", re.IGNORECASE)
_ONE_ROW = re.compile(r"\s*select\s+(count|sum|avg|min|max)\s*\(", re.IGNORECASE)


def prefix_search(sql: str, values: Sequence[Any], engine: str) -> PrefixSearch | None:
    """Find the first ``LIKE`` of a statement whose pattern is a fixed prefix followed by a wildcard.

    ``values``: parameter values, empty if they vary; ``engine``: the statement's engine. ``None``: the statement has no
    such condition, or its pattern is unknown.
    """
    if not _LIKE.search(sql):
        # Importing sqlglot takes long, and most statements don't contain LIKE.
        return None

    from sqlglot import exp

    tree = _tree(sql, engine)
    for node in tree.find_all(exp.Like) if tree is not None else ():
        column, pattern = node.this.unnest(), _text(node.expression, values)
        denied = node.args.get("negate") or node.find_ancestor(exp.Not) is not None
        escape: str | None = "\\" if known_engine(engine).backslash_escapes else None
        if isinstance(node.parent, exp.Escape):
            escape = _text(node.parent.expression, values)
        # A condition that is part of an OR doesn't decide whether an index is used.
        is_asked = node.find_ancestor(exp.Where, exp.Join) is not None and node.find_ancestor(exp.Or, exp.Case) is None
        if denied or not is_asked or pattern is None or not isinstance(column, exp.Column):
            continue
        prefix, whole = _beginning(pattern, escape)
        if prefix and not whole:
            written = ".".join(part.name for part in column.parts)
            said = escape if isinstance(node.parent, exp.Escape) else None
            return PrefixSearch(written, pattern, prefix, _named(column), said)
    return None


def _beginning(pattern: str, escape: str | None) -> tuple[str, bool]:
    """Return a pattern's fixed prefix, and whether the prefix is the whole pattern."""
    fixed, characters = "", iter(pattern)
    for character in characters:
        if character == escape:
            fixed += next(characters, "")
        elif character in "%_":
            return fixed, False
        else:
            fixed += character
    return fixed, True


def _named(column: "exp.Column") -> ColumnName:
    """Determine a column's table: the one that it names, or the only table of its query."""
    from sqlglot import exp

    kinds = (exp.Select, exp.Update, exp.Delete)
    scope = column.find_ancestor(*kinds)
    tables = [table for table in scope.find_all(exp.Table) if table.find_ancestor(*kinds) is scope] if scope else []
    if column.table:
        tables = [table for table in tables if table.alias_or_name.lower() == column.table.lower()]
    return ColumnName(column.name, tables[0].name if len(tables) == 1 else None)


def compared_columns(sql: str, values: Sequence[Any], engine: str) -> set[ColumnName]:
    """Return the columns that a statement compares with strings by the engine's default rule."""
    from sqlglot import exp

    sides = (
        side.unnest()
        for node in _text_comparisons(sql, values, engine)
        for side in (node.this, node.args.get("expression"))
        if side is not None
    )
    return {_named(side) for side in sides if isinstance(side, exp.Column) and not side.name.startswith(VALUE)}


def has_indexable_condition(sql: str, engine: str) -> bool:
    """Whether a statement has a condition that an index could look up: ``=``, ``<``, ``>``, ``BETWEEN`` or ``IN``.

    False if the statement can't be parsed.
    """
    from sqlglot import exp

    tree = _tree(sql, engine)
    kinds = (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
    return tree is not None and any(
        isinstance(node.this.unnest(), exp.Column)
        and node.find_ancestor(exp.Where, exp.Join) is not None
        and node.find_ancestor(exp.Not, exp.Or) is None
        for node in tree.find_all(*kinds)
    )


def text_comparison(sql: str, values: Sequence[Any], engine: str) -> str | None:
    """Return the operator with which a statement compares strings, ``LIKE`` or ``=``.

    ``values``: parameter values. ``None``: it doesn't compare strings by the engine's default rule, or can't be parsed.
    Comparisons of two columns are ignored, because the statement doesn't show their types.
    """
    from sqlglot import exp

    found = [isinstance(expression, exp.Like) for expression in _text_comparisons(sql, values, engine)]
    if not found:
        return None
    return "LIKE" if any(found) else "="


def may_return_fewer_rows(sql: str, values: Sequence[Any], engine: str) -> bool:
    """Whether a statement may return fewer rows if more strings compare equal.

    This is true if it searches for unequal strings, or keeps only one of several equal ones.
    """
    from sqlglot import exp

    differing = (exp.NEQ, exp.NullSafeNEQ)
    return any(
        isinstance(expression, differing)
        or expression.args.get("negate")
        or expression.find_ancestor(exp.Not, exp.Case, exp.If) is not None
        or expression.root().find(exp.Distinct, exp.Group, exp.SetOperation) is not None
        for expression in _text_comparisons(sql, values, engine)
    )


def _tree(sql: str, engine: str) -> "exp.Expr | None":
    """Parse a statement, with a column name for each placeholder; ``None`` if it can't be parsed."""
    dialect = known_engine(engine).grammar
    return sql_tree(numbered(sql, VALUE, engine), dialect) if dialect else None


def _text_comparisons(sql: str, values: Sequence[Any], engine: str) -> Iterator["exp.Expr"]:
    """Yield the comparisons of strings by the engine's default rule."""
    tree = _tree(sql, engine)
    if tree is None:
        return
    from sqlglot import exp

    kinds = (exp.Like, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In)
    for node in tree.find_all(*kinds):
        sides = node.expressions if isinstance(node, exp.In) else [node.this, node.expression]
        of_texts = isinstance(node, exp.Like) or any(_is_text(side, values) for side in sides)
        # In `set a = 'b'`, the `=` is an assignment.
        of_texts = of_texts and not isinstance(node.parent, exp.Update | exp.OnConflict)
        if of_texts and node.find(exp.Collate, exp.Lower, exp.Upper) is None and not _casts_to_bytes(node):
            yield node


def _is_text(node: "exp.Expr", values: Sequence[Any]) -> bool:
    """Whether a side of a comparison is a string literal or a parameter with a string value."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Array | exp.Tuple):
        return any(_is_text(expression, values) for expression in node.expressions)
    return _text(node, values) is not None


def _text(node: "exp.Expr", values: Sequence[Any]) -> str | None:
    """Return the value of a string literal or parameter; ``None`` for anything else."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Cast):
        return _text(node.this, values)
    if isinstance(node, exp.Any):
        return "" if _is_text(node.this, values) else None
    if isinstance(node, exp.Column) and node.name.startswith(VALUE):
        index = int(node.name.removeprefix(VALUE)) - 1
        value = values[index] if index < len(values) else None
        return value if isinstance(value, str) else None
    return (
        str(node.this) if isinstance(node, exp.National) or (isinstance(node, exp.Literal) and node.is_string) else None
    )


def _casts_to_bytes(node: "exp.Expr") -> bool:
    from sqlglot import exp

    kinds = (exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY)
    return any(cast.to.this in kinds for cast in node.find_all(exp.Cast))


def returns_one_row(sql: str) -> bool:
    """Whether a statement always returns exactly one row, e.g. ``select count(*)``."""
    return bool(_ONE_ROW.match(sql)) and not re.search(r"\b(group\s+by|over|union)\b", sql, re.IGNORECASE)
