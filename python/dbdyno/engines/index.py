"""An index that there could be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Index:
    """An index on columns of a table. ``there``: the name of one that begins with them, which the plan leaves aside.

    ``sql``: the statement that makes it.
    """

    table: str
    columns: tuple[str, ...]
    there: str | None = None
    sql: str = ""


def index_name(table: str, columns: Sequence[str]) -> str:
    """Name an index that is to be made."""
    return "_".join(map(_word, ("on", table, *columns)))


def _word(name: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in name)
