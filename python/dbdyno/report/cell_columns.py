"""Columns with one value per cell, shown in a separate table below the throughput."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CellColumn:
    """A column heading with one string per cell.

    ``published``: the values were published elsewhere. ``spare``: the column is dropped first if space is short.
    """

    head: str
    values: list[str]
    published: bool = False
    spare: bool = False
