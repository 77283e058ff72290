"""A statement written once, in the SQL that SQLite reads, as other engines write it."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.errors import InputError
from dbdyno.experiment.sql import without_texts
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
    r"\s*(?P<verb>savepoint|release(?:\s+savepoint)?|rollback(?:\s+transaction)?\s+to(?:\s+savepoint)?)\s+(?P<name>[a-z_]\w*)\s*",
    re.IGNORECASE,
)
_SAVEPOINT_VERBS = {
    "savepoint": "SAVEPOINT",
    "release": "RELEASE SAVEPOINT",
    "rollback": "ROLLBACK TO SAVEPOINT",
}
_NULLS = re.compile(r"\bnulls\s+(?:first|last)\b", re.IGNORECASE)
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
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        tree = sqlglot.parse_one(text, read="sqlite")
    except SqlglotError:
        return None
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
        return f"{_SAVEPOINT_VERBS[savepoint['verb'].split()[0].lower()]} {savepoint['name']}"
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
    _rewrite(tree, text, dialect, names, place)
    try:
        return tree.sql(dialect=dialect, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        why = str(error).splitlines()[0].rstrip(".").lower()
        raise _untranslatable(place, text, dialect, why) from None


def _rewrite(tree: "exp.Expr", text: str, dialect: str, names: Names, place: str) -> None:
    """Make of a statement, in place, what sqlglot writes as it is meant. Raises InputError."""
    from sqlglot import exp

    small_nulls = dialect in ("mysql", "tsql")
    # The tree does not keep which order says it.
    says_nulls = bool(_NULLS.search(without_texts(text)))
    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            node.replace(exp.Var(this="?"))
        elif isinstance(node, exp.Ordered) and not says_nulls:
            descending = bool(node.args.get("desc"))
            node.set("nulls_first", descending != small_nulls)
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
    if isinstance(node, exp.Limit | exp.Offset) and isinstance(node.expression, exp.Neg):
        yield f"`{type(node).__name__.lower()}` below 0 is not known there"
    if isinstance(node, exp.Substring) and isinstance(node.args.get("start"), exp.Neg) and dialect != "mysql":
        yield "`substr` from the end is not known there"
    if isinstance(node, exp.Format) and dialect == "postgres":
        form = node.args.get("this")
        if not isinstance(form, exp.Literal) or not _ITS_FORMATS.fullmatch(form.name):
            yield "the function `format` knows only `%s` there, whose text must stand in the statement, and"


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
