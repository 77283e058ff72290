"""What findings about growing tables have in common: their series, and what of the data is to be cached, in what."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.analysis.findings.rule import Material
from dbdyno.analysis.measured.alike import cells_along, words_of
from dbdyno.analysis.measured.data import memory_limit
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import number, part, text


@dataclass(frozen=True, slots=True)
class Series:
    """The measured cells of a growing table that differ in its size alone, the smallest first.

    ``where``: the levels of the other factors, of those that have several in the run.
    """

    where: str
    factor: str
    cells: tuple[Cell, ...]

    def size(self, cell: Cell) -> int:
        """Give the rows that a cell is named by."""
        return int(cell["factors"][self.factor])

    def rows(self, cell: Cell) -> str:
        """Write the rows that there were when its trials began, on average: those that trials insert count."""
        rows = float(self.size(cell)) if cell["growth"] is None else cell["growth"]["rows"]
        # Two digits and no more: they differ from trial to trial.
        return f"{float(f'{rows:.2g}'):,.0f}"


def series_of(material: Material) -> list[Series]:
    """Give the series of a run, of which at least two sizes were measured."""
    factor = text(part(material.run.design, "growth"), "factor")
    if factor is None:
        return []
    return [
        Series(words_of(levels), factor, tuple(sorted(cells, key=lambda cell: int(cell["factors"][factor]))))
        for levels, cells in cells_along(material.cells, factor)
    ]


def cache_of(cell: Cell, material: Material) -> tuple[float, str] | None:
    """Give the bytes of memory that can cache a cell's data, and what they are; none: not known."""
    limit = memory_limit(cell)
    if limit is not None:
        return limit, "the memory that it may take"
    engine = engine_of_product(cell["system"]["engine"])
    settings = cell["system"]["settings"]
    if engine.passes_os_cache_by(settings):
        own = engine.cache_bytes(settings)
        return None if own is None else (own, "its own cache")
    memory = number(material.run.host, "memory_bytes")
    return None if memory is None else (memory, "the machine's memory")
