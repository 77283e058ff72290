"""Types with which engines describe which indexes support a pattern with a fixed prefix."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.engines.string_rules import Settings

Json = Mapping[str, Any]


@dataclass(frozen=True)
class ColumnName:
    """A column as a statement names it. ``table``: the name of its table; ``None`` if unknown."""

    name: str
    table: str | None = None


@dataclass(frozen=True)
class PrefixSearch:
    """A ``LIKE`` search for values that begin with ``prefix``; ``written``: the column as the statement writes it.

    ``escape``: the escape character, if the statement names it.
    """

    written: str
    pattern: str
    prefix: str
    column: ColumnName
    escape: str | None = None

    @property
    def text(self) -> str:
        """The condition as SQL, including the pattern."""
        pattern = self.pattern.replace("'", "''")
        return f"{self.written} like '{pattern}'"


@dataclass(frozen=True)
class Search:
    """A prefix search with the catalog's entries for its table and column."""

    prefix: PrefixSearch
    table: Json
    column: Json
    settings: Settings
    version: tuple[int, ...]

    @property
    def name(self) -> str:
        """The column's name for messages."""
        return f"`{self.column['name']}`"


# Returns why an index doesn't support a search, a predicate; empty: it does; None: unknown.
_Judge = Callable[[Search, Json], str | None]


@dataclass(frozen=True)
class PrefixRules:
    """Which indexes support a prefix search on an engine.

    ``of_column``: returns why no index on the column can support it, empty if one can; ``of_index``: returns why an
    index doesn't support it; ``help``: returns what would support it, empty if nothing is known to.
    """

    of_column: Callable[[Search], str]
    of_index: _Judge
    help: Callable[[Search], str]


def begins_with(index: Json, column: str) -> bool:
    """Whether the first key of an index is a column."""
    keys = index.get("keys") or []
    return bool(keys) and str(keys[0].get("column") or "").lower() == column.lower()


def key_collation(index: Json) -> Json:
    """Return the collation of an index's first key; empty if the catalog contains none."""
    return index["keys"][0].get("collation") or {}
