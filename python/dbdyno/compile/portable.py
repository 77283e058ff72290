"""A statement written once, in the SQL that SQLite reads, as other engines write it."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dbdyno.errors import InputError
from dbdyno.text import shortened

if TYPE_CHECKING:
    from sqlglot import exp

# Functions that only SQLite has, or that mean something else elsewhere, as SQLite writes them.
_OWN_FUNCTIONS = frozenset(
    (
        "changes",
        "date",
        "datetime",
        "glob",
        "julianday",
        "last_insert_rowid",
        "likelihood",
        "likely",
        "printf",
        "quote",
        "randomblob",
        "strftime",
        "time",
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
    "Glob": "`glob`",
    "HexString": "a text of bytes, as in `x'00'`,",
    "Pragma": "`pragma`",
    "Rand": "the function `random`",
    "TimeToStr": "the function `strftime`",
}


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

    # What it cannot read it would say on standard error, and go on.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        trees = sqlglot.parse(text, read="sqlite")
    except SqlglotError as error:
        why = str(error).splitlines()[0].rstrip(".").lower()
        raise _untranslatable(place, text, dialect, f"it cannot be read as SQLite's SQL: {why}") from None
    tree = trees[0]
    if tree is None or len(trees) != 1:
        raise _untranslatable(place, text, dialect, "it is not one statement")
    foreign = next(_foreign(tree, dialect), None)
    if foreign is not None:
        raise _untranslatable(place, text, dialect, f"{foreign} is SQLite's own")
    small_nulls = dialect in ("mysql", "tsql")
    for node in list(tree.walk()):
        if isinstance(node, exp.Placeholder):
            node.replace(exp.Var(this="?"))
        elif isinstance(node, exp.Ordered) and not _says_nulls(node):
            descending = bool(node.args.get("desc"))
            node.set("nulls_first", descending != small_nulls)
        elif isinstance(node, exp.Limit) and dialect == "tsql" and isinstance(node.expression, exp.Placeholder):
            # It would come first, and the values with it in another order.
            raise _untranslatable(place, text, dialect, "`limit ?` stands elsewhere there, and so would its value")
        elif isinstance(node, exp.Div):
            node.set("safe", False)
        elif isinstance(node, exp.Identifier):
            known = names.find(node.name)
            if known is not None:
                node.replace(exp.to_identifier(known, quoted=True))
    try:
        return tree.sql(dialect=dialect, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except SqlglotError as error:
        why = str(error).splitlines()[0].rstrip(".").lower()
        raise _untranslatable(place, text, dialect, why) from None


def _says_nulls(node: "exp.Ordered") -> bool:
    """Whether an order says where nulls come: it then differs from what it is in SQLite, where null is small."""
    return bool(node.args.get("nulls_first")) == bool(node.args.get("desc"))


def _foreign(tree: "exp.Expr", dialect: str) -> Iterator[str]:
    """Give what stands in a statement that only SQLite has."""
    from sqlglot import exp

    for node in tree.walk():
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
        elif isinstance(node, exp.Identifier) and node.name.lower() in ("rowid", "_rowid_", "oid") and not node.quoted:
            yield f"`{node.name.lower()}`"


def _untranslatable(place: str, text: str, dialect: str, why: str) -> InputError:
    engine = {"postgres": "postgresql", "tsql": "sqlserver"}.get(dialect, dialect)
    short = shortened(text, 60)
    remedy = f"give it as `{{ any = …, {engine} = … }}` with a text for each"
    return InputError(place, f"`{short}` cannot be written for {engine}: {why}", remedy)
