"""A statement's conditions on a table, from which a planner estimates the number of its rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Conditions:
    """A table, and its columns that a statement compares with values, in the order of the statement.

    ``table``: the table's name, not its alias. ``indexed``: the columns that are the first column of an index.
    """

    table: str
    columns: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()

    @property
    def unindexed(self) -> tuple[str, ...]:
        """The columns that are not the first column of any index."""
        return tuple(column for column in self.columns if column not in self.indexed)
