"""Groups of cells that differ in one factor only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.base.numbers import level
from dbdyno.model.result.cell import Cell


def varied(cells: Sequence[Cell]) -> list[str]:
    """Return the factors with more than one level among the cells. Levels are compared as they are displayed."""
    names = dict.fromkeys(name for cell in cells for name in cell.factors)
    return [name for name in names if len({level(cell.factors.get(name)) for cell in cells}) > 1]


def cells_but_for(cells: Sequence[Cell], factor: str) -> Iterator[tuple[dict[str, Any], list[Cell]]]:
    """Yield groups of cells that differ only in ``factor``, each with the levels of the other factors that vary."""
    groups: dict[tuple[tuple[str, Any], ...], list[Cell]] = {}
    for cell in cells:
        if factor in cell.factors:
            others = tuple((name, level) for name, level in cell.factors.items() if name != factor)
            groups.setdefault(others, []).append(cell)
    several = {name for others in groups for name, _ in others if len({dict(each).get(name) for each in groups}) > 1}
    for others, group in groups.items():
        yield {name: level for name, level in others if name in several}, group


def cells_along(cells: Sequence[Cell], factor: str) -> Iterator[tuple[dict[str, Any], list[Cell]]]:
    """Yield the groups of :func:`cells_but_for`, reduced to measured cells, that have more than one cell."""
    for levels, group in cells_but_for(cells, factor):
        measured = [cell for cell in group if cell.throughput.mean is not None]
        if len(measured) > 1:
            yield levels, measured


def words_of(levels: Mapping[str, Any]) -> str:
    """Write levels with their factors, such as ``threads=2, cache=private``."""
    return ", ".join(f"{name}={level}" for name, level in levels.items())
