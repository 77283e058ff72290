"""The phases of a transaction, if they were recorded, and the time to load the data."""

from __future__ import annotations

from dbdyno.base.numbers import NONE, figure, level, milliseconds, whole
from dbdyno.model.result.cell import Cell, Load
from dbdyno.model.result.shape import Document
from dbdyno.report.cell_columns import CellColumn
from dbdyno.report.lines import factor_level, factor_names

PHASES = ("connect", "prepare", "execute", "fetch", "commit")


def phase_columns(document: Document) -> list[CellColumn]:
    """Return rows per transaction and the median of each phase in milliseconds; empty if phases were not recorded.

    The connect phase alone doesn't count, because every trial with one connection per transaction has it.
    """
    cells = document.cells
    named = [name for name in PHASES if any(_median(cell, name) is not None for cell in cells)]
    if not {"execute", "fetch"} <= set(named):
        return []
    columns = [CellColumn("rows", [figure(cell.rows_per_transaction) for cell in cells])]
    if any("rows" in (cell.published or {}) for cell in cells):
        columns.append(CellColumn("published rows", [_published_rows(cell) for cell in cells], published=True))
    for name in named:
        columns.append(CellColumn(f"{name} ms", [milliseconds(_median(cell, name)) for cell in cells]))
        published = [_published(cell, name) for cell in cells]
        if any(value != NONE for value in published):
            columns.append(CellColumn(f"published {name} ms", published, published=True))
    return columns


def _median(cell: Cell, name: str) -> float | None:
    latency = cell.latency_ms.get(name)
    return latency.p50 if latency else None


def _published(cell: Cell, name: str) -> str:
    return milliseconds((cell.published or {}).get("phases_ms", {}).get(name))


def _published_rows(cell: Cell) -> str:
    return whole((cell.published or {}).get("rows"))


def loads(document: Document) -> list[str]:
    """Return the time of each load of the data, with the levels that it was for."""
    found: dict[str, list[Cell]] = {}
    for cell in document.cells:
        if cell.load is not None and cell.load.rows:
            found.setdefault(_load(cell.load, document.started), []).append(cell)
    if len(found) <= 1:
        return list(found)
    return [
        text + (f", with {', '.join(common)}" if (common := _in_common(cells, document)) else "")
        for text, cells in found.items()
    ]


def _in_common(cells: list[Cell], document: Document) -> list[str]:
    """Return the levels that these cells have in common, but not all cells."""
    levels = {name: {level(cell.factors.get(name, "")) for cell in document.cells} for name in factor_names(document)}
    own = {name: {level(cell.factors.get(name, "")) for cell in cells} for name in levels}
    return [factor_level(name, *own[name]) for name in levels if len(own[name]) == 1 < len(levels[name])]


def _load(load: Load, started: str) -> str:
    text = f"loaded {load.rows:,} rows in {figure(load.rows_s)} s"
    if load.indexes_s:
        text += f", indexes in {figure(load.indexes_s)} s"
    if load.other_s:
        text += f", setup and syncing in {figure(load.other_s)} s"
    return text + (" (for an earlier run)" if load.at < started else "")
