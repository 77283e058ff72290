"""What of SQLite's SQL other engines have no words for."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.engines.transpile.sql_target import SqlTarget

if TYPE_CHECKING:
    from sqlglot import exp

# Functions that only SQLite has, or that mean something else elsewhere, as SQLite writes them.
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

# What no other engine reads as it is meant, by the name of sqlglot's class, and its name in messages.
_OWN_WORDS: Mapping[str, str] = {
    "Command": "this statement",
    "CurrentVersion": "the function `sqlite_version`",
    "Date": "the function `date`",
    "Glob": "`glob`",
    "HexString": "a text of bytes, as in `x'00'`,",
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
    "Format": "the function `format`, as it is meant,",
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
"""What some engines lack: by the name of sqlglot's class, or of a function that it has none for, and in messages."""

# Functions whose translations are known to keep their meaning, by the name of sqlglot's class. Some are refused for the
# dialects that lack them. `and`, `cast` and `case` are functions to sqlglot.
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

# Of these, an argument behind the first has another meaning elsewhere: what sqlglot calls it.
_OF_ONE_ARGUMENT = {"Max": "expressions", "Min": "expressions", "Trim": "expression"}

# What sqlglot reads in SQLite's SQL and SQLite does not have.
_FOREIGN = frozenset(
    (
        "All", "Any", "Array", "AtTimeZone", "Bracket", "Connect", "Fetch", "ILike", "Interval", "Into", "Kwarg",
        "Lambda", "Lateral", "Lock", "Parameter", "Pivot", "Qualify", "SafeCast", "SessionParameter", "SimilarTo",
        "Struct", "TableSample", "TryCast", "Unnest",
    )
)  # fmt: skip

# Those that a `format` which knows `%s` alone reads alike.
_ITS_FORMATS = re.compile(r"(?:[^%]|%%|%s)*")


class Names:
    """The names an experiment gives to tables and columns.

    SQLite takes no notice of their case and engines differ, so that each is written as it was where it was made.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """``names``: as they are written in the definitions."""
        self._of = {name.lower(): name for name in names}

    def find(self, name: str) -> str | None:
        """Give a name as it is written in its definition; ``None``: there is none."""
        return self._of.get(name.lower())


def unsupported_by(tree: "exp.Expr", target: SqlTarget, names: Names) -> Iterator[str]:
    """Say what stands in a statement that the other dialect has no words for."""
    from sqlglot import exp

    for node in tree.walk():
        yield from (f"{words} is SQLite's own" for words in _own(node, target, names))
        yield from _unknown(node, target)
        if isinstance(node, exp.Log) and node.args.get("expression") is None and not target.log_is_of_ten:
            yield "the function `log` is of another base there; `ln` and `log10` are the same on all"


def _own(node: "exp.Expr", target: SqlTarget, names: Names) -> Iterator[str]:
    """Name what a node is that only SQLite has."""
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
    """Say what a node is that some engines have, and not the dialect's."""
    from sqlglot import exp

    kind = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
    if kind in _FOREIGN:
        yield f"`{kind.lower()}` is not SQLite's SQL"
    if kind in target.lacks:
        yield f"{NAMES[kind]} is not known there"
    elif isinstance(node, exp.Func) and (kind not in _TRANSLATED or node.args.get(_OF_ONE_ARGUMENT.get(kind, ""))):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        yield f"no translation of the function `{name.lower()}` is known to keep its meaning"
    yield from _unknown_of_functions(node, target)
    if isinstance(node, exp.Join):
        yield from _unknown_of_joins(node, target)
    if isinstance(node, exp.IndexParameters) and node.args.get("where") and not target.partial_index:
        yield "`create index … where` is not known there"
    if isinstance(node, exp.Analyze) and not target.analyze:
        yield "`analyze` has other words there"
    if isinstance(node, exp.In) and not target.limit_in_subquery:
        query = node.args.get("query")
        if query is not None and query.unnest().args.get("limit"):
            yield "`in (select … limit …)` is not known there"
    # The operators `->` and `->>` look into columns of type `json` there, which a database of one's own may have.
    looks = isinstance(node, exp.JSONExtract | exp.JSONExtractScalar) and "only_json_types" not in node.args
    if looks and not target.json_extract:
        yield "the function `json_extract` is not known there"
    if isinstance(node, exp.Insert | exp.Update | exp.Delete):
        yield from _unknown_of_changes(node, target)


def _unknown_of_functions(node: "exp.Expr", target: SqlTarget) -> Iterator[str]:
    """Say what of a function or a limit the dialect has not."""
    from sqlglot import exp

    if isinstance(node, exp.Filter) and not target.filter_clause:
        yield "`filter (where …)` is not known there"
    if isinstance(node, exp.Limit | exp.Offset) and _is_negative(node.expression):
        yield f"`{type(node).__name__.lower()}` below 0 is not known there"
    if isinstance(node, exp.Substring):
        start = node.args.get("start")
        if _is_negative(start) and not target.substr_from_end:
            yield "`substr` from the end is not known there"
        if isinstance(start, exp.Literal) and start.name == "0" and not target.substr_from_zero:
            yield "`substr` from 0 is nothing there"
        if _is_negative(node.args.get("length")):
            yield "`substr` of what stands before is not known there"
    if isinstance(node, exp.Format) and target.format_of_texts:
        form = node.args.get("this")
        if not isinstance(form, exp.Literal) or not _ITS_FORMATS.fullmatch(form.name):
            yield "the function `format` knows only `%s` there, whose text must stand in the statement, and"


def _is_negative(node: "exp.Expr | None") -> bool:
    from sqlglot import exp

    return node is not None and isinstance(node.unnest(), exp.Neg)


def _unknown_of_joins(node: "exp.Join", target: SqlTarget) -> Iterator[str]:
    """Say what of a join the dialect has not."""
    if node.side.upper() == "FULL" and not target.full_join:
        yield "`full join` is not known there"
    if node.method.upper() == "NATURAL" and not target.natural_join:
        yield "`natural join` is not known there"
    if node.args.get("using") and not target.join_using:
        yield "`join … using` is not known there"


def _unknown_of_changes(node: "exp.Insert | exp.Update | exp.Delete", target: SqlTarget) -> Iterator[str]:
    """Say what a statement that changes rows has, and the dialect has not."""
    from sqlglot import exp

    kind = type(node).__name__
    if isinstance(node, exp.Insert) and node.args.get("default") and not target.default_values:
        yield "there is no translation of `default values`"
    if node.args.get("returning") and not target.returning:
        partly = "" if isinstance(node, exp.Update) else target.returning_of
        yield f"`{kind.lower()} … returning` is {partly or 'not known there'}"
    for word in ("order", "limit"):
        if node.args.get(word) and not target.ordered_changes:
            yield f"`{kind.lower()} … {word}{' by' if word == 'order' else ''}` is not known there"
