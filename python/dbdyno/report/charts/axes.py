"""Choose the factor of a chart's x axis and the factors that distinguish its lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dbdyno.analysis.answer.short import SYSTEM
from dbdyno.base.numbers import level
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Document
from dbdyno.report.lines import factor_level, factor_names


@dataclass(frozen=True, slots=True)
class Axes:
    """The factor of the x axis, and the factors whose levels name the lines."""

    x: str | None
    by: tuple[str, ...]
    levels: list[str]
    """The levels of x, sorted if they are numbers, otherwise in the order of the experiment."""
    series: list[str]
    numeric: bool
    """Whether all levels of x are numbers, so that lines connect the points."""
    systems: Mapping[str, str]
    """The short names of systems."""

    def x_of(self, cell: Cell) -> str:
        """Return the cell's place on the x axis."""
        return self._level(cell, self.x) if self.x else cell.id

    def series_of(self, cell: Cell) -> str:
        """Return the name of the line the cell belongs to."""
        levels = [self._level(cell, name) for name in self.by]
        if len(self.by) == 1:
            return levels[0]
        return " ".join(factor_level(name, each) for name, each in zip(self.by, levels, strict=True))

    def _level(self, cell: Cell, name: str) -> str:
        return _named(name, cell.factors.get(name, ""), self.systems)

    @property
    def by_title(self) -> str | None:
        """Return the factor that distinguishes the lines; None unless there is exactly one."""
        return self.by[0] if len(self.by) == 1 else None


def axes(document: Document) -> Axes:
    """Choose the axes: the experiment's ``report.x`` if it varies, otherwise the last factor that varies, loads first.

    All other factors that vary distinguish the lines, ``report.by`` first, so that no two cells share a point.
    """
    cells = document.cells
    varied = factor_names(document)
    wanted_x, wanted_by = document.report.get("x"), document.report.get("by")
    others = [name for name in reversed(varied) if name != wanted_by]
    # Loads go on the x axis, so that colors distinguish the choices at each load.
    others.sort(key=lambda name: document.roles.get(name) != "load")
    x = wanted_x if wanted_x in varied else next(iter(others), None)
    if x is None and varied:
        x = varied[-1]
    by = tuple(sorted((name for name in varied if name != x), key=lambda name: name != wanted_by))
    found = [cell.factors.get(x) for cell in cells] if x else []
    numeric = bool(found) and all(isinstance(each, int | float) and not isinstance(each, bool) for each in found)
    ordered = sorted(set(found), key=float) if numeric else list(dict.fromkeys(found))  # type: ignore[arg-type]
    systems = document.answer.systems
    levels = [_named(x, each, systems) for each in ordered] if x else [cell.id for cell in cells]
    chosen = Axes(x, by, levels, [], numeric, systems)
    return replace(chosen, series=list(dict.fromkeys(chosen.series_of(cell) for cell in cells)))


def _named(factor: str, value: object, systems: Mapping[str, str]) -> str:
    return systems.get(str(value), str(value)) if factor == SYSTEM else level(value)
