"""The engine of a measured cell."""

from __future__ import annotations

from dbdyno.engines import Engine, engine_of_product
from dbdyno.model.result.cell import Cell


def engine_of_cell(cell: Cell) -> Engine:
    """Return a cell's engine, identified by the product name that the system reports."""
    return engine_of_product(cell.system.engine)


def engine_name(cell: Cell) -> str:
    """Return the engine name that experiments use, or an empty string if the engine is unknown."""
    return engine_of_cell(cell).name
