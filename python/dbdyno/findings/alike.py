"""Cells that differ in one factor alone, for findings along that factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dbdyno.document.cell import Cell


def cells_along(cells: Sequence[Cell], factor: str) -> Iterator[tuple[str, list[Cell]]]:
    """Give the measured cells that differ in a factor alone, with the levels of the other factors that are several."""
    groups: dict[tuple[tuple[str, Any], ...], list[Cell]] = {}
    for cell in cells:
        if factor in cell["factors"]:
            others = tuple((name, level) for name, level in cell["factors"].items() if name != factor)
            groups.setdefault(others, []).append(cell)
    several = {name for others in groups for name, _ in others if len({dict(each).get(name) for each in groups}) > 1}
    for others, group in groups.items():
        measured = [cell for cell in group if cell["throughput"]["mean"] is not None]
        if len(measured) > 1:
            yield ", ".join(f"{name}={level}" for name, level in others if name in several), measured
