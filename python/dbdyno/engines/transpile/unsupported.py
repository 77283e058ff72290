"""Find the parts of a statement in SQLite's SQL that can't be translated for another engine."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.engines.transpile.sql_target import SqlTarget

if TYPE_CHECKING:
    from sqlglot import exp

# Functions that only SQLite has, or that have another meaning on other engines, by SQLite's names.
_OWN_FUNCTIONS = frozenset(
    (
        "changes",
        "date",
        "datetime",
        "glob",
        "json",
        "json_array_length",
        "json_each",
        "json_patch",
        "json_tree",
        "julianday",
        "last_insert_rowid",
        "likelihood",
        "likely",
        "printf",
        "quote",
        "randomblob",
        "strftime",
        "time",
        "timediff",
        "total",
        "total_changes",
        "typeof",
        "unicode",
        "unixepoch",
        "unlikely",
        "zeroblob",
    )
)

# Parts that no other engine supports with SQLite's meaning: names of sqlglot's classes, and names in messages.
_OWN_WORDS: Mapping[str, str] = {
    "Command": "this statement",
    "CurrentVersion": "the function `sqlite_version`",
    "Date": "the function `date`",
    "Glob": "`glob`",
    "HexString": "a blob literal such as `x'00'`",
    "JSONType": "the function `json_type`",
    "Match": "`match`",
    "Pragma": "`pragma`",
    "Rand": "the function `random`",
    "RegexpLike": "`regexp`",
    "TimeToStr": "the function `strftime`",
    "Typeof": "the function `typeof`",
}

NAMES: Mapping[str, str] = {
    "CurrentTime": "`current_time`",
    "Format": "the function `format` with SQLite's meaning",
    "Hex": "the function `hex`",
    "JSONArrayAgg": "the function `json_group_array`",
    "JSONObjectAgg": "the function `json_group_object`",
    "JSONRemove": "the function `json_remove`",
    "JSONSet": "the function `json_set`",
    "Unhex": "the function `unhex`",
    "json_insert": "the function `json_insert`",
    "json_quote": "the function `json_quote`",
    "json_replace": "the function `json_replace`",
    "json_valid": "the function `json_valid`",
}
"""Names in messages of parts that some engines lack, by sqlglot's class, or by the function without a class."""

# Functions whose translations keep their meaning, by the name of sqlglot's class, except in dialects that lack them.
# sqlglot treats `and`, `cast` and `case` as functions.
_TRANSLATED = frozenset(
    (
        "Abs", "And", "Avg", "Case", "Cast", "Ceil", "Coalesce", "Cos", "Count", "CumeDist", "CurrentDate",
        "CurrentTime", "CurrentTimestamp", "Degrees", "DenseRank", "Exists", "Exp", "FirstValue", "Floor", "Format",
        "GroupConcat", "Hex", "If", "JSONArrayAgg", "JSONExtract", "JSONExtractScalar", "JSONObjectAgg",
        "JSONRemove", "JSONSet", "Lag", "LastValue", "Lead", "Length", "Ln", "Log", "Lower", "Max", "Min",
        "NthValue", "Ntile", "Nullif", "Or", "PercentRank", "Pi", "Pow", "Radians", "Rank", "Replace", "Round",
        "RowNumber", "Sign", "Sin", "Sqrt", "StrPosition", "Substring", "Sum", "Tan", "Trim", "Unhex", "Upper",
    )
) | {name for name in NAMES if name.islower()}  # fmt: skip

# Functions whose further arguments have another meaning on other engines, with sqlglot's name for these arguments.
_OF_ONE_ARGUMENT = {"Max": "expressions", "Min": "expressions", "Trim": "expression"}

# Syntax that sqlglot accepts in SQLite's SQL but SQLite doesn't have.
_FOREIGN = frozenset(
    (
        "All", "Any", "Array", "AtTimeZone", "Bracket", "Connect", "Fetch", "ILike", "Interval", "Into", "Kwarg",
        "Lambda", "Lateral", "Lock", "Parameter", "Pivot", "Qualify", "SafeCast", "SessionParameter", "SimilarTo",
        "Struct", "TableSample", "TryCast", "Unnest",
    )
)  # fmt: skip

# Format strings that work if `format` only supports `%s`.
_ITS_FORMATS = re.compile(r"(?:[^%]|%%|%s)*")


class Names:
    """The names that an experiment gives to tables and columns.

    SQLite ignores their case, but engines differ, so a translation spells them as in their definitions.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """``names``: the names as spelled in the definitions."""
        self._by_lower_case = {name.lower(): name for name in names}

    def find(self, name: str) -> str | None:
        """Return a name as spelled in its definition; ``None`` if it isn't defined."""
        return self._by_lower_case.get(name.lower())


def unsupported_by(tree: "exp.Expr", target: SqlTarget, names: Names) -> Iterator[str]:
    """Yield why parts of a statement can't be expressed in the other dialect."""
    from sqlglot import exp

    for node in tree.walk():
        yield from (f"{words} is specific to SQLite" for words in _own(node, target, names))
        yield from _unknown(node, target)
        if isinstance(node, exp.Log) and node.args.get("expression") is None and not target.log_is_of_ten:
            yield "the function `log` has another base in the target; use `ln` or `log10`"


def _own(node: "exp.Expr", target: SqlTarget, names: Names) -> Iterator[str]:
    """Yield the name of a node's feature that only SQLite has."""
    from sqlglot import exp

    kind = type(node).__name__
    if kind in _OWN_WORDS:
        yield _OWN_WORDS[kind]
    elif isinstance(node, exp.Insert) and node.args.get("alternative"):
        yield f"`insert or {str(node.args['alternative']).lower()}`"
    elif isinstance(node, exp.OnConflict) and not target.on_conflict:
        yield "`on conflict`"
    elif isinstance(node, exp.Table) and node.args.get("indexed") is not None:
        yield "`indexed by`"
    elif isinstance(node, exp.Collate) and node.expression.name.lower() in ("nocase", "rtrim", "binary"):
        yield f"`collate {node.expression.name.lower()}`"
    elif isinstance(node, exp.Anonymous) and node.name.lower() in _OWN_FUNCTIONS:
        yield f"the function `{node.name.lower()}`"
    elif isinstance(node, exp.Identifier) and _is_row_id(node) and names.find(node.name) is None:
        yield f"`{node.name.lower()}`"


def _is_row_id(name: "exp.Identifier") -> bool:
    return name.name.lower() in ("rowid", "_rowid_", "oid") and not name.quoted


def _unknown(node: "exp.Expr", target: SqlTarget) -> Iterator[str]:
    """Yield why a node is not supported by the dialect's engine."""
    from sqlglot import exp

    kind = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
    if kind in _FOREIGN:
        written = node.sql("postgres").lower() if isinstance(node, exp.Lock) else kind.lower()
        yield f"`{written}` is not SQLite's SQL"
    if kind in target.lacks:
        yield f"the target doesn't support {NAMES[kind]}"
    elif isinstance(node, exp.Func) and (kind not in _TRANSLATED or node.args.get(_OF_ONE_ARGUMENT.get(kind, ""))):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        yield f"the function `{name.lower()}` has no translation with the same meaning"
    yield from _unknown_of_functions(node, target)
    if isinstance(node, exp.Join):
        yield from _unknown_of_joins(node, target)
    if isinstance(node, exp.IndexParameters) and node.args.get("where") and not target.partial_index:
        yield "the target doesn't support `create index … where`"
    if isinstance(node, exp.Analyze) and not target.analyze:
        yield "the target has another syntax for `analyze`"
    if isinstance(node, exp.In) and not target.limit_in_subquery:
        query = node.args.get("query")
        if query is not None and query.unnest().args.get("limit"):
            yield "the target doesn't support `in (select … limit …)`"
    # The operators `->` and `->>` work on columns of type `json`, which the user's own database may have.
    looks = isinstance(node, exp.JSONExtract | exp.JSONExtractScalar) and "only_json_types" not in node.args
    if looks and not target.json_extract:
        yield "the target doesn't support the function `json_extract`"
    if isinstance(node, exp.Insert | exp.Update | exp.Delete):
        yield from _unknown_of_changes(node, target)


def _unknown_of_functions(node: "exp.Expr", target: SqlTarget) -> Iterator[str]:
    from sqlglot import exp

    if isinstance(node, exp.Filter) and not target.filter_clause:
        yield "the target doesn't support `filter (where …)`"
    if isinstance(node, exp.Limit | exp.Offset) and _is_negative(node.expression):
        yield f"the target doesn't support negative values of `{type(node).__name__.lower()}`"
    if isinstance(node, exp.Substring):
        start = node.args.get("start")
        if _is_negative(start) and not target.substr_from_end:
            yield "the target doesn't support `substr` from the end"
        if isinstance(start, exp.Literal) and start.name == "0" and not target.substr_from_zero:
            yield "`substr` from 0 returns an empty string in the target"
        if _is_negative(node.args.get("length")):
            yield "the target doesn't support a negative length of `substr`"
    if isinstance(node, exp.Format) and target.format_of_texts:
        form = node.args.get("this")
        if not isinstance(form, exp.Literal) or not _ITS_FORMATS.fullmatch(form.name):
            yield "the target's function `format` only supports `%s`, in a format that is a string literal"


def _is_negative(node: "exp.Expr | None") -> bool:
    from sqlglot import exp

    return node is not None and isinstance(node.unnest(), exp.Neg)


def _unknown_of_joins(node: "exp.Join", target: SqlTarget) -> Iterator[str]:
    if node.side.upper() == "FULL" and not target.full_join:
        yield "the target doesn't support `full join`"
    if node.method.upper() == "NATURAL" and not target.natural_join:
        yield "the target doesn't support `natural join`"
    if node.args.get("using") and not target.join_using:
        yield "the target doesn't support `join … using`"


def _unknown_of_changes(node: "exp.Insert | exp.Update | exp.Delete", target: SqlTarget) -> Iterator[str]:
    from sqlglot import exp

    kind = type(node).__name__
    if isinstance(node, exp.Insert) and node.args.get("default") and not target.default_values:
        yield "the target doesn't support `default values`"
    if node.args.get("returning") and not target.returning:
        partly = "" if isinstance(node, exp.Update) else target.returning_of
        clause = f"`{kind.lower()} … returning`"
        yield f"{clause} is {partly}" if partly else f"the target doesn't support {clause}"
    for word in ("order", "limit"):
        if node.args.get(word) and not target.ordered_changes:
            yield f"the target doesn't support `{kind.lower()} … {word}{' by' if word == 'order' else ''}`"
