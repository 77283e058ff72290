"""Expressions that can be keys of an index, and their SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.base.sql_tree import VALUE, parsed

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

# How many tokens an expression's text may extend beyond its outermost names.
_WIDEST = 12
# Names of functions without a node of their own that always return the same for the same arguments.
_SQLITE_FUNCTIONS = frozenset({"datetime", "hex", "json_extract", "julianday", "time", "unicode", "unixepoch"})
_MYSQL_FUNCTIONS = frozenset({"json_unquote"})
# Characters of a document's text that MySQL indexes.
_LENGTH = 64
_NOW = frozenset({"now", "localtime", "utc"})
# Types whose conversion from and to strings depends on no setting.
_PLAIN_TYPES = frozenset(
    {"BIGINT", "BOOLEAN", "DECIMAL", "DOUBLE", "FLOAT", "INT", "SMALLINT", "TEXT", "UUID", "VARCHAR"}
)


def can_be_key(node: exp.Expr, engine: str, types: Mapping[str, str]) -> bool:
    """Whether an engine can index an expression: it always returns the same for the same row.

    ``types``: the declared types of the table's columns, by their names in lower case.
    """
    from sqlglot import exp

    if any(is_value(column) for column in node.find_all(exp.Column)) or node.find(exp.Column) is None:
        return False
    if engine == "mysql" and not _is_short(node, types):
        return False
    return all(_is_fixed(expression, engine, types) for expression in node.walk())


def _is_short(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether the value is neither a document nor a long text, which MySQL can't index."""
    from sqlglot import exp

    is_document = isinstance(node, exp.JSONExtract) and not isinstance(node, exp.JSONExtractScalar)
    return not is_document and not any(
        _type_of(column, types).endswith(("text", "blob")) for column in node.find_all(exp.Column)
    )


def is_value(node: exp.Expr) -> bool:
    """Whether a column's name represents a placeholder for a value."""
    from sqlglot import exp

    return isinstance(node, exp.Column) and node.name.startswith(VALUE)


def _is_fixed(node: exp.Expr, engine: str, types: Mapping[str, str]) -> bool:
    from sqlglot import exp

    plain = (exp.Column, exp.Identifier, exp.Paren, exp.Boolean, exp.Null, exp.DataType, exp.DataTypeParam)
    pure = (exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Length, exp.Abs, exp.Coalesce, exp.Left, exp.Right)
    arithmetic = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Round, exp.DPipe, exp.Replace)
    tests = (exp.Case, exp.If, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And, exp.Or, exp.Not, exp.Is)
    documents = (exp.JSONExtractScalar, exp.JSONExtract, exp.JSONPath, exp.JSONPathPart)
    match node:
        case exp.Literal():
            found = not node.is_string or node.name.lower() not in _NOW
        case exp.Cast():
            found = _is_fixed_cast(node, engine, types)
        case exp.Anonymous():
            found = _is_fixed_function(node, engine)
        case _ if engine == "postgresql":
            found = _is_fixed_time(node, types)
        case _:
            dates = (exp.Date, exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.TimeToStr, exp.Year, exp.Month, exp.Day)
            found = engine in ("sqlite", "mysql") and isinstance(node, dates)
    return found or isinstance(node, plain + pure + arithmetic + tests + documents)


def _is_fixed_function(node: exp.Anonymous, engine: str) -> bool:
    """Whether a function that sqlglot doesn't know always returns the same for the same arguments."""
    from sqlglot import exp

    if engine == "postgresql":
        # Without the configuration, the result of to_tsvector() depends on a setting.
        first = node.expressions[0] if len(node.expressions) > 1 else None
        return node.name.lower() == "to_tsvector" and isinstance(first, exp.Literal) and first.is_string
    return node.name.lower() in {"sqlite": _SQLITE_FUNCTIONS, "mysql": _MYSQL_FUNCTIONS}.get(engine, frozenset())


def _is_fixed_time(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether PostgreSQL's part of a time doesn't depend on the time zone."""
    from sqlglot import exp

    match node:
        case exp.Date() | exp.TimestampTrunc():
            return _is_local_time(node.this, types)
        case exp.Extract():
            return _is_local_time(node.expression, types)
        case _:
            # The unit of the two functions above.
            return isinstance(node, exp.Var) and isinstance(node.parent, exp.TimestampTrunc | exp.Extract)


def _is_fixed_cast(node: exp.Cast, engine: str, types: Mapping[str, str]) -> bool:
    from sqlglot import exp

    to = node.args["to"].this
    kind = to.name if isinstance(to, exp.DataType.Type) else str(to)
    if engine == "postgresql":
        if kind == "DATE":
            return _is_local_time(node.this, types)
        from_text = node.this.unnest()
        # A number or a string: the text of other types may depend on settings.
        is_text = isinstance(from_text, exp.JSONExtractScalar)
        return kind in _PLAIN_TYPES and (is_text or _type_of(from_text, types).startswith(("text", "character", "int")))
    return engine == "sqlite" or kind in _PLAIN_TYPES or kind in ("UBIGINT", "DATE", "CHAR")


def _is_local_time(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether a column is a date or time whose conversion doesn't depend on PostgreSQL's time zone."""
    return _type_of(node.unnest(), types).startswith(("timestamp without", "date"))


def _type_of(node: exp.Expr, types: Mapping[str, str]) -> str:
    from sqlglot import exp

    return types.get(node.name.lower(), "") if isinstance(node, exp.Column) else ""


def key_text(node: exp.Expr, statement: str, grammar: str) -> str:
    """Return an expression as the key of an index, in parentheses unless it is a call."""
    from sqlglot import exp

    text = text_of(node, statement, grammar)
    is_string = isinstance(node, exp.JSONExtractScalar) or (
        isinstance(node, exp.Anonymous) and node.name.lower() == "json_unquote"
    )
    if grammar == "mysql" and is_string:
        # The text has no length otherwise; MySQL ignores the conversion when it compares the expression.
        return f"(cast({text} as char({_LENGTH})) collate utf8mb4_bin)"
    return text if isinstance(node, exp.Lower | exp.Upper) and grammar != "mysql" else f"({text})"


def text_of(node: exp.Expr, statement: str, grammar: str) -> str:
    """Return an expression as in its statement, without the names of tables before columns.

    Engines use an index on an expression only if it is written in the same way, so sqlglot's own spelling is only used
    if the expression isn't found.
    """
    from sqlglot import exp

    found = _slice(node, statement, grammar)
    if found is None:
        bare = node.copy()
        for column in bare.find_all(exp.Column):
            column.set("table", None)
            column.set("db", None)
        return bare.sql(dialect=grammar)
    start, end = found
    text, at = "", start
    for begin, stop in sorted(_qualifiers(node)):
        text += statement[at:begin]
        at = stop
    return text + statement[at:end]


def _qualifiers(node: exp.Expr) -> Iterator[tuple[int, int]]:
    """Yield the places of the names of tables before columns."""
    from sqlglot import exp

    for column in node.find_all(exp.Column):
        parts = column.parts
        if len(parts) > 1 and "start" in parts[0].meta and "start" in parts[-1].meta:
            yield int(parts[0].meta["start"]), int(parts[-1].meta["start"])


def _slice(node: exp.Expr, statement: str, grammar: str) -> tuple[int, int] | None:
    """Return the place of an expression in its statement: the shortest part that is parsed to the same tree."""
    from sqlglot.dialects.dialect import Dialect

    places = [expression.meta for expression in node.walk() if "start" in expression.meta and "end" in expression.meta]
    if not places:
        return None
    low, high = min(int(place["start"]) for place in places), max(int(place["end"]) for place in places)
    tokens = Dialect.get_or_raise(grammar).tokenize(statement)
    first = next((place for place, token in enumerate(tokens) if token.end >= low), None)
    last = next((place for place in reversed(range(len(tokens))) if tokens[place].start <= high), None)
    if first is None or last is None:
        return None
    widths = sorted(((left, right) for left in range(_WIDEST) for right in range(_WIDEST)), key=sum)
    for left, right in widths:
        begin, end = first - left, last + right
        if begin < 0 or end >= len(tokens) or not _is_balanced(tokens[begin : end + 1]):
            continue
        text = statement[tokens[begin].start : tokens[end].end + 1]
        if _is_same(text, node, grammar):
            return tokens[begin].start, tokens[end].end + 1
    return None


def _is_balanced(tokens: list[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth < 0:
            return False
    return depth == 0


def _is_same(text: str, node: exp.Expr, grammar: str) -> bool:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        trees = parsed(f"select {text}", grammar)
    except SqlglotError:
        return False
    items = trees[0].expressions if len(trees) == 1 and isinstance(trees[0], exp.Select) else []
    return len(items) == 1 and bool(items[0] == node)
