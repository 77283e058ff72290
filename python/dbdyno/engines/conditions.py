"""What a statement compares of a table with values, on which a planner's estimate of its rows rests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Conditions:
    """A table by its own name, and its columns that a statement compares with values, in the order of its text.

    ``indexed``: those of them with which an index begins.
    """

    table: str
    columns: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()

    @property
    def unindexed(self) -> tuple[str, ...]:
        """The columns with which no index begins."""
        return tuple(each for each in self.columns if each not in self.indexed)
