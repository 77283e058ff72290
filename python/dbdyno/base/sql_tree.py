"""Syntax trees of SQL statements."""

import functools
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

VALUE = "dbdyno_value_"
"""Name of a parameter in a syntax tree, followed by the parameter's number, from 1."""

TOO_DEEP = "it is nested too deeply"


def parsed(text: str, dialect: "str | Dialect") -> "Sequence[exp.Expr | None]":
    """Parse SQL statements. ``dialect``: one of sqlglot's. Raises sqlglot's SqlglotError if it can't parse them."""
    import sqlglot
    from sqlglot.errors import ParseError, SqlglotError

    # Suppress sqlglot's warnings about unsupported syntax on standard error.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        return sqlglot.parse(text, read=dialect)
    except SqlglotError:
        raise
    except RecursionError as error:
        raise ParseError(TOO_DEEP) from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        # sqlglot also raises these for some SQL that it doesn't support.
        raise ParseError("the parser does not know this form of SQL") from error


@functools.lru_cache(maxsize=1024)
def sql_tree(text: str, dialect: str) -> "exp.Expr | None":
    """Parse a statement; ``None`` if that fails or the text isn't exactly one statement.

    Don't change the tree: it is cached and shared by all callers.
    """
    from sqlglot.errors import SqlglotError

    try:
        trees = parsed(text, dialect)
    except SqlglotError:
        return None
    return trees[0] if len(trees) == 1 else None
