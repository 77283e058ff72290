"""What a statement searches for, as far as its text tells: a pattern that begins with fixed characters."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbdyno.experiment.sql import numbered, places
from dbdyno.sql_tree import DIALECTS, VALUE, sql_tree

if TYPE_CHECKING:
    from sqlglot import exp

_LIKE = re.compile(
    r"""(?P<column>\b(?!not\b)[A-Za-z_][\w.]*|"[^"]+") \s+ like \s+ (?: (?P<place>\?) | '(?P<text>(?:[^']|'')*)' )""",
    re.VERBOSE | re.IGNORECASE,
)
_WILDCARD = re.compile("[%_]")
_ONE_ROW = re.compile(r"\s*select\s+(count|sum|avg|min|max)\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class PrefixSearch:
    """A search by ``LIKE`` for what begins with ``prefix``."""

    column: str
    pattern: str
    prefix: str

    @property
    def text(self) -> str:
        """The condition as SQL, with the pattern in it."""
        return f"{self.column} like '{self.pattern}'"


def prefix_search(sql: str, values: Sequence[Any], engine: str) -> PrefixSearch | None:
    """Find the first ``LIKE`` of a statement whose pattern begins with fixed characters, and does not end there.

    ``values``: those of its parameters, or none where they are not the same each time; ``engine``: whose it is, which
    says what brackets are. ``None``: it has no such search, or its pattern is not known. A pattern with ``ESCAPE`` is
    not looked into.
    """
    for found in _LIKE.finditer(sql):
        pattern = found["text"]
        if found["place"]:
            index = places(sql[: found.start("place")], engine)
            pattern = values[index] if index < len(values) else None
        if not isinstance(pattern, str) or re.match(r"\s+escape\b", sql[found.end() :], re.IGNORECASE):
            continue
        wildcard = _WILDCARD.search(pattern)
        if wildcard and wildcard.start() > 0:
            return PrefixSearch(found["column"], pattern, pattern[: wildcard.start()])
    return None


def text_comparison(sql: str, values: Sequence[Any], engine: str) -> str | None:
    """Give the operator by which an engine's statement compares texts, ``LIKE`` or ``=``.

    ``values``: those of its parameters. ``None``: it compares none, or not by the engine's usual rule, or cannot be
    read. Whether a column is compared with a column as texts is not in the statement; that is taken for no.
    """
    from sqlglot import exp

    found = [isinstance(each, exp.Like) for each in _text_comparisons(sql, values, engine)]
    if not found:
        return None
    return "LIKE" if any(found) else "="


def may_find_less(sql: str, values: Sequence[Any], engine: str) -> bool:
    """Whether a statement may return fewer rows where more texts compare equal.

    It asks for what does not compare equal, or keeps one of those that do.
    """
    from sqlglot import exp

    unlike = (exp.NEQ, exp.NullSafeNEQ)
    return any(
        isinstance(each, unlike)
        or each.args.get("negate")
        or each.find_ancestor(exp.Not, exp.Case, exp.If) is not None
        or each.root().find(exp.Distinct, exp.Group, exp.SetOperation) is not None
        for each in _text_comparisons(sql, values, engine)
    )


def _text_comparisons(sql: str, values: Sequence[Any], engine: str) -> Iterator["exp.Expr"]:
    """Give where a statement compares texts by the engine's usual rule."""
    dialect = DIALECTS.get(engine)
    # With a name for each place for a value.
    tree = sql_tree(numbered(sql, VALUE, engine), dialect) if dialect else None
    if tree is None:
        return
    from sqlglot import exp

    kinds = (exp.Like, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In)
    for node in tree.find_all(*kinds):
        sides = node.expressions if isinstance(node, exp.In) else [node.this, node.expression]
        of_texts = isinstance(node, exp.Like) or any(_is_text(each, values) for each in sides)
        # What is set is compared with nothing.
        of_texts = of_texts and not isinstance(node.parent, exp.Update | exp.OnConflict)
        if of_texts and node.find(exp.Collate, exp.Lower, exp.Upper) is None and not _casts_to_bytes(node):
            yield node


def _is_text(node: "exp.Expr", values: Sequence[Any]) -> bool:
    """Whether a side of a comparison is a text that stands in the statement, or is given as a value."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Cast | exp.Any):
        return _is_text(node.this, values)
    if isinstance(node, exp.Array | exp.Tuple):
        return any(_is_text(each, values) for each in node.expressions)
    if isinstance(node, exp.Column) and node.name.startswith(VALUE):
        index = int(node.name.removeprefix(VALUE)) - 1
        return index < len(values) and isinstance(values[index], str)
    return isinstance(node, exp.National) or (isinstance(node, exp.Literal) and node.is_string)


def _casts_to_bytes(node: "exp.Expr") -> bool:
    from sqlglot import exp

    kinds = (exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY)
    return any(each.to.this in kinds for each in node.find_all(exp.Cast))


def gives_one_row(sql: str) -> bool:
    """Whether a statement surely returns one row whatever it finds, as a count does."""
    return bool(_ONE_ROW.match(sql)) and not re.search(r"\b(group\s+by|over|union)\b", sql, re.IGNORECASE)
