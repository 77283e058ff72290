"""Statements as trees."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def sql_tree(text: str, dialect: str) -> "exp.Expr | None":
    """Read a statement in a dialect of sqlglot's; ``None`` where it cannot be read, or is not one statement."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    # What it cannot read it would say on standard error, and go on.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        trees = sqlglot.parse(text, read=dialect)
    except SqlglotError:
        return None
    return trees[0] if len(trees) == 1 else None
