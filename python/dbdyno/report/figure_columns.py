"""Columns of the figures of cells that declare a heading (``head`` in dbdyno.report.frames.cells)."""

from __future__ import annotations

from dbdyno.base.numbers import figure
from dbdyno.model.result.shape import Document
from dbdyno.report.cell_columns import CellColumn
from dbdyno.report.frames.cells import CELL, CellRow
from dbdyno.report.frames.frame import as_kind


def figure_columns(document: Document) -> list[CellColumn]:
    """Return the columns whose values are not all 0."""
    rows = [CellRow(document.id, cell) for cell in document.cells]
    columns = [(each.head, [as_kind(each.read(row), "number") for row in rows]) for each in CELL if each.head]
    return [CellColumn(head, list(map(figure, values))) for head, values in columns if any(values)]
