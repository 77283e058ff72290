"""Statements as trees."""

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

VALUE = "dbdyno_value_"
"""With its number, from 1, what stands in a tree for a place for a value."""

TOO_DEEP = "it is nested too deeply"


def parsed(text: str, dialect: "str | Dialect") -> "Sequence[exp.Expr | None]":
    """Read statements in a dialect of sqlglot's. Raises its SqlglotError if they cannot be read."""
    import sqlglot
    from sqlglot.errors import ParseError, SqlglotError

    # What it cannot read it would say on standard error, and go on.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        return sqlglot.parse(text, read=dialect)
    except SqlglotError:
        raise
    except RecursionError as error:
        raise ParseError(TOO_DEEP) from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        # It raises these as well for SQL that its grammar does not foresee.
        raise ParseError("the parser does not know this form of SQL") from error


@functools.lru_cache(maxsize=1024)
def sql_tree(text: str, dialect: str) -> "exp.Expr | None":
    """Read a statement; ``None`` where it cannot be read, or is not one. The tree is everybody's: it stays as it is."""
    from sqlglot.errors import SqlglotError

    try:
        trees = parsed(text, dialect)
    except SqlglotError:
        return None
    return trees[0] if len(trees) == 1 else None
