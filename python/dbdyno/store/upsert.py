"""Inserts with ``ON CONFLICT``, which SQLAlchemy supports per database only."""

from typing import TYPE_CHECKING

from sqlalchemy import Table

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


def insert_into(table: Table, *, is_file: bool) -> "postgresql.Insert | sqlite.Insert":
    """Return an insert statement for a table of a store. ``is_file``: for SQLite, otherwise for PostgreSQL."""
    # Import only the required dialect, because importing takes time.
    if is_file:
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
