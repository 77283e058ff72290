"""A hypothetical index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Index:
    """An index on columns of a table. ``existing``: the name of an index that begins with them but that isn't used.

    ``sql``: the statement that creates it.
    """

    table: str
    columns: tuple[str, ...]
    existing: str | None = None
    sql: str = ""


def index_name(table: str, columns: Sequence[str]) -> str:
    """Return a name for a new index."""
    return "_".join(map(_word, ("on", table, *columns)))


def _word(name: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in name)
