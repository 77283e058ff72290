"""A statement written once, in the SQL that SQLite reads, as other engines write it."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.errors import InputError
from dbdyno.experiment.sql import ANY, numbered
from dbdyno.sql_tree import sql_tree
from dbdyno.text import shortened

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

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

# What some engines do not read as it is meant: by the name of sqlglot's class, or of a function that it has none for,
# its name in messages and their dialects.
_LACKED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "CurrentTime": ("`current_time`", ("postgres", "tsql")),
    "Format": ("the function `format`, as it is meant,", ("mysql", "tsql")),
    "Hex": ("the function `hex`", ("postgres", "tsql")),
    "JSONArrayAgg": ("the function `json_group_array`", ("tsql",)),
    "JSONObjectAgg": ("the function `json_group_object`", ("tsql",)),
    "JSONRemove": ("the function `json_remove`", ("postgres", "tsql")),
    "JSONSet": ("the function `json_set`", ("postgres", "tsql")),
    "Unhex": ("the function `unhex`", ("postgres", "tsql")),
    "json_insert": ("the function `json_insert`", ("postgres", "tsql")),
    "json_quote": ("the function `json_quote`", ("postgres", "tsql")),
    "json_replace": ("the function `json_replace`", ("postgres", "tsql")),
    "json_valid": ("the function `json_valid`", ("postgres", "tsql")),
}


# A savepoint is SQLite's words, PostgreSQL's and MariaDB's, but for those that may be left out.
_SAVEPOINT = re.compile(
    r"""\s* (?P<verb>savepoint | release (?:\s+savepoint)? | rollback (?:\s+transaction)? \s+ to (?:\s+savepoint)?)
    \s+ (?: (?P<name>[^\W\d]\w*) | "(?P<quoted>[^"]+)" | `(?P<ticked>[^`]+)` | \[(?P<bracketed>[^\]]+)\] ) \s*""",
    re.IGNORECASE | re.VERBOSE,
)
_SAVEPOINT_VERBS = {
    "savepoint": "SAVEPOINT",
    "release": "RELEASE SAVEPOINT",
    "rollback": "ROLLBACK TO SAVEPOINT",
}
# A place for a value, while a statement is translated: with its number, from 1.
_VALUE = "dbdyno_value_"
# Those of PostgreSQL's own `format`.
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


def columns_of(text: str) -> int | None:
    """Count the columns that a statement returns; ``None`` where its text does not say, as with ``*``."""
    from sqlglot import exp

    tree = sql_tree(text, "sqlite")
    if not isinstance(tree, exp.Query) or any(column.is_star for column in tree.selects):
        return None
    return len(tree.selects) or None


def translate(text: str, dialect: str, names: Names, place: str) -> str:
    """Write a statement in another dialect of sqlglot's: ``postgres``, ``mysql``, ``tsql``.

    Names that the experiment defines are quoted, so that none of them is taken for a keyword. Places for values stay
    ``?``. Where nulls come in an order is left to the engine unless the statement says it: an index serves an order
    only as it is. A division by zero fails or gives null as on the engine.

    Raises InputError that begins with ``place`` for what the other dialect has no words for.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    savepoint = _SAVEPOINT.fullmatch(text)
    if savepoint is not None:
        if dialect == "tsql":
            raise _untranslatable(place, text, dialect, "savepoints have other words there, and none are released")
        verb, *names_given = savepoint.groups()
        # SQLite takes no notice of the case of its name.
        name = next(each for each in names_given if each is not None).lower()
        quoted = exp.to_identifier(name, quoted=True).sql(dialect=dialect)
        return f"{_SAVEPOINT_VERBS[verb.split()[0].lower()]} {quoted}"
    # What it cannot read it would say on standard error, and go on.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        trees = sqlglot.parse(text, read="sqlite")
    except SqlglotError as error:
        raise _untranslatable(place, text, dialect, f"it cannot be read as SQLite's SQL: {_where(error)}") from None
    tree = trees[0]
    if tree is None or len(trees) != 1:
        raise _untranslatable(place, text, dialect, "it is not one statement")
    if isinstance(tree, exp.Condition | exp.Alias):
        raise _untranslatable(place, text, dialect, "it is no statement that others know")
    foreign = next(_foreign(tree, dialect, names), None)
    if foreign is not None:
        raise _untranslatable(place, text, dialect, foreign)
    # Read again with a name for each value: what the other dialect makes of them is seen by that.
    marked = numbered(text, f":{_VALUE}", ANY)
    tree = sqlglot.parse_one(marked, read="sqlite")
    _leave_nulls(tree, marked, dialect)
    _rewrite(tree, text, dialect, names, place)
    try:
        translated = tree.sql(dialect=dialect, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        why = str(error).splitlines()[0].rstrip(".").lower()
        raise _untranslatable(place, text, dialect, why) from None
    order = [int(each) for each in re.findall(rf"{_VALUE}(\d+)", translated)]
    if order != sorted(set(order)) or len(order) != marked.count(f":{_VALUE}"):
        why = "what is written `?` stands there more than once, or in another order, and so would the values"
        raise _untranslatable(place, text, dialect, why)
    return re.sub(rf"{_VALUE}\d+", "?", translated)


def _leave_nulls(tree: "exp.Expr", text: str, dialect: str) -> None:
    """Leave it to the engine where nulls come in the orders of ``text``, whose tree it is, that do not say it."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.dialects.sqlite import SQLite

    # The tree does not keep which order says it: one that does is read alike where nulls are the greatest.
    elsewhere = SQLite()
    elsewhere.NULL_ORDERING = "nulls_are_large"
    small = dialect in ("mysql", "tsql")
    orders = zip(tree.find_all(exp.Ordered), sqlglot.parse_one(text, read=elsewhere).find_all(exp.Ordered), strict=True)
    for order, other in orders:
        if bool(order.args.get("nulls_first")) != bool(other.args.get("nulls_first")):
            order.set("nulls_first", bool(order.args.get("desc")) != small)


def _rewrite(tree: "exp.Expr", text: str, dialect: str, names: Names, place: str) -> None:
    """Make of a statement, in place, what sqlglot writes as it is meant. Raises InputError."""
    from sqlglot import exp

    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            node.replace(exp.Var(this=node.name))
        elif isinstance(node, exp.Limit) and dialect == "tsql" and isinstance(node.expression, exp.Placeholder):
            # It would come first, and the values with it in another order.
            raise _untranslatable(place, text, dialect, "`limit ?` stands elsewhere there, and so would its value")
        elif isinstance(node, exp.Div):
            node.set("safe", False)
        elif isinstance(node, exp.JSONExtractScalar) and dialect == "mysql":
            # MariaDB has no `->>`. Written out, MySQL knows it too.
            looked = exp.Anonymous(this="JSON_EXTRACT", expressions=[node.this, node.expression])
            node.replace(exp.Anonymous(this="JSON_UNQUOTE", expressions=[looked]))
        elif isinstance(node, exp.Identifier):
            known = names.find(node.name)
            if known is not None:
                node.replace(exp.to_identifier(known, quoted=True))


def _foreign(tree: "exp.Expr", dialect: str, names: Names) -> Iterator[str]:
    """Say what stands in a statement that the other dialect has no words for."""
    from sqlglot import exp

    for node in tree.walk():
        yield from (f"{words} is SQLite's own" for words in _own(node, dialect, names))
        yield from _unknown(node, dialect)
        if isinstance(node, exp.Log) and node.args.get("expression") is None and dialect != "postgres":
            yield "the function `log` is of another base there; `ln` and `log10` are the same on all"


def _own(node: "exp.Expr", dialect: str, names: Names) -> Iterator[str]:
    """Name what a node is that only SQLite has."""
    from sqlglot import exp

    kind = type(node).__name__
    if kind in _OWN_WORDS:
        yield _OWN_WORDS[kind]
    elif isinstance(node, exp.Insert) and node.args.get("alternative"):
        yield f"`insert or {str(node.args['alternative']).lower()}`"
    elif isinstance(node, exp.OnConflict) and dialect != "postgres":
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


def _unknown(node: "exp.Expr", dialect: str) -> Iterator[str]:
    """Say what a node is that some engines have, and not the dialect's."""
    from sqlglot import exp

    kind = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
    words, lacking = _LACKED.get(kind, ("", ()))
    if dialect in lacking:
        yield f"{words} is not known there"
    yield from _unknown_of_functions(node, dialect)
    if isinstance(node, exp.Join):
        yield from _unknown_of_joins(node, dialect)
    if isinstance(node, exp.IndexParameters) and node.args.get("where") and dialect == "mysql":
        yield "`create index … where` is not known there"
    if isinstance(node, exp.Analyze) and dialect != "postgres":
        yield "`analyze` has other words there"
    if isinstance(node, exp.In) and dialect == "mysql":
        query = node.args.get("query")
        if query is not None and query.unnest().args.get("limit"):
            yield "`in (select … limit …)` is not known there"
    # The operators `->` and `->>` look into columns of type `json` there, which a database of one's own may have.
    looks = isinstance(node, exp.JSONExtract | exp.JSONExtractScalar) and "only_json_types" not in node.args
    if looks and dialect == "postgres":
        yield "the function `json_extract` is not known there"
    if isinstance(node, exp.Insert | exp.Update | exp.Delete):
        yield from _unknown_of_changes(node, dialect)


def _unknown_of_functions(node: "exp.Expr", dialect: str) -> Iterator[str]:
    """Say what of a function or a limit the dialect has not."""
    from sqlglot import exp

    if isinstance(node, exp.Filter) and dialect != "postgres":
        yield "`filter (where …)` is not known there"
    if isinstance(node, exp.Limit | exp.Offset) and _is_negative(node.expression):
        yield f"`{type(node).__name__.lower()}` below 0 is not known there"
    if isinstance(node, exp.Substring):
        start = node.args.get("start")
        if _is_negative(start) and dialect != "mysql":
            yield "`substr` from the end is not known there"
        if isinstance(start, exp.Literal) and start.name == "0" and dialect == "mysql":
            yield "`substr` from 0 is nothing there"
        if _is_negative(node.args.get("length")):
            yield "`substr` of what stands before is not known there"
    if isinstance(node, exp.Format) and dialect == "postgres":
        form = node.args.get("this")
        if not isinstance(form, exp.Literal) or not _ITS_FORMATS.fullmatch(form.name):
            yield "the function `format` knows only `%s` there, whose text must stand in the statement, and"


def _is_negative(node: "exp.Expr | None") -> bool:
    from sqlglot import exp

    return node is not None and isinstance(node.unnest(), exp.Neg)


def _unknown_of_joins(node: "exp.Join", dialect: str) -> Iterator[str]:
    """Say what of a join the dialect has not."""
    if dialect == "mysql" and node.side.upper() == "FULL":
        yield "`full join` is not known there"
    if dialect == "tsql" and node.method.upper() == "NATURAL":
        yield "`natural join` is not known there"
    if dialect == "tsql" and node.args.get("using"):
        yield "`join … using` is not known there"


def _unknown_of_changes(node: "exp.Insert | exp.Update | exp.Delete", dialect: str) -> Iterator[str]:
    """Say what a statement that changes rows has, and the dialect has not."""
    from sqlglot import exp

    kind = type(node).__name__
    if isinstance(node, exp.Insert) and node.args.get("default") and dialect != "postgres":
        yield "there is no translation of `default values`"
    if node.args.get("returning") and dialect != "postgres":
        where = "known to MariaDB, and not to MySQL"
        known = dialect == "mysql" and not isinstance(node, exp.Update)
        yield f"`{kind.lower()} … returning` is {where if known else 'not known there'}"
    for word in ("order", "limit"):
        if node.args.get(word) and dialect != "mysql":
            yield f"`{kind.lower()} … {word}{' by' if word == 'order' else ''}` is not known there"


def _where(error: "SqlglotError") -> str:
    """Say where a statement cannot be read, in words; sqlglot's own tell of its classes."""
    from sqlglot.errors import ParseError

    found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    near, line, end = found.get("highlight"), found.get("line"), found.get("col")
    if not near or line is None or end is None:
        return "it has a quote or a comment that is not closed, or a character that belongs nowhere"
    # What it names is the last character of the word.
    return f"something is wrong at or before `{near}`, line {line}, column {max(end - len(near) + 1, 1)}"


def _untranslatable(place: str, text: str, dialect: str, why: str) -> InputError:
    engine = {"postgres": "postgresql", "tsql": "sqlserver"}.get(dialect, dialect)
    short = shortened(text, 60)
    remedy = f"give it as `{{ any = …, {engine} = … }}` with a text for each"
    return InputError(place, f"`{short}` cannot be written for {engine}: {why}", remedy)
