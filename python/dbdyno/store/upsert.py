"""Inserts that say what becomes of a row that is there already: each kind of store has its own of them."""

from typing import TYPE_CHECKING

from sqlalchemy import Table

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


def insert_into(table: Table, *, is_file: bool) -> "postgresql.Insert | sqlite.Insert":
    """Give an insert into a table of a store, in SQLite or in PostgreSQL."""
    # Whoever has a file needs nothing of the other, which takes a while to import.
    if is_file:
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
