"""Further columns of figures by cell, which have a table of their own beside that of the throughput."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CellColumn:
    """A head and a text for each cell.

    ``published``: its figures are those of others; ``spare``: it is left out where there is no room for all.
    """

    head: str
    values: list[str]
    published: bool = False
    spare: bool = False
