"""Which indexes serve a pattern that begins with fixed characters: what the engines' folders say it with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.engines.searching import Settings

Json = Mapping[str, Any]


@dataclass(frozen=True)
class ColumnName:
    """A column as a statement names it. ``table``: whose it is, by its own name; ``None`` where that does not show."""

    name: str
    table: str | None = None


@dataclass(frozen=True)
class PrefixSearch:
    """A search by ``LIKE`` for what begins with ``prefix``; ``written``: its column, as the statement has it.

    ``escape``: what takes the meaning from a wildcard, where the statement says it.
    """

    written: str
    pattern: str
    prefix: str
    column: ColumnName
    escape: str | None = None

    @property
    def text(self) -> str:
        """The condition as SQL, with the pattern in it."""
        pattern = self.pattern.replace("'", "''")
        return f"{self.written} like '{pattern}'"


@dataclass(frozen=True)
class Search:
    """What is searched, as the catalogue has it."""

    prefix: PrefixSearch
    table: Json
    column: Json
    settings: Settings
    version: tuple[int, ...]

    @property
    def name(self) -> str:
        """The column, as messages name it."""
        return f"`{self.column['name']}`"


# Why an index does not serve a search, a predicate; empty: it does; None: that is not known.
_Judge = Callable[[Search, Json], str | None]


@dataclass(frozen=True)
class PrefixRules:
    """Which indexes serve a search on an engine.

    ``of_column``: why no index on such a column serves, or empty; ``of_index``: why one does not; ``help``: what would,
    a clause, empty where nothing is known that would.
    """

    of_column: Callable[[Search], str]
    of_index: _Judge
    help: Callable[[Search], str]


def begins_with(index: Json, column: str) -> bool:
    """Whether the first key of an index is a column."""
    keys = index.get("keys") or []
    return bool(keys) and str(keys[0].get("column") or "").lower() == column.lower()


def key_collation(index: Json) -> Json:
    """Give the collation of the first key of an index; nothing where the catalogue has none."""
    return index["keys"][0].get("collation") or {}
