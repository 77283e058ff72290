"""Columns on the data of each cell: its size, leaf fill, and the log and device I/O per transaction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dbdyno.analysis.measured.data import device_calls, memory_limit, tree
from dbdyno.base.numbers import NONE, figure, percent, short
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Document
from dbdyno.report.cell_columns import CellColumn

# The columns that fit a terminal of 80 characters.
_FIRST = ("index MB", "of memory", "leaf fill", "log bytes", "cache misses", "reads", "writes")


def data_columns(document: Document) -> list[CellColumn]:
    """Return the columns with known values; empty if no table grows and neither space nor times were recorded."""
    cells = document.cells
    if not any(cell.growth or cell.space or cell.timed for cell in cells):
        return []
    values_of: dict[str, Callable[[Cell], str]] = {
        "rows": lambda cell: short(cell.growth.rows if cell.growth else None),
        "table MB": lambda cell: _megabytes(cell, "table"),
        "index MB": lambda cell: _megabytes(cell, "index"),
        "of memory": _of_memory,
        "leaf fill": _leaf_fill,
        "filled rows/s": lambda cell: short(cell.growth.fill_rows_per_s if cell.growth else None),
        "log bytes": lambda cell: short(cell.observed.counters.get("log_bytes")),
        "page images": lambda cell: figure(cell.observed.counters.get("page_images")),
        "cache misses": _misses,
        "reads": lambda cell: figure(device_calls(cell, "reads")),
        "writes": lambda cell: figure(device_calls(cell, "writes")),
        "queue": lambda cell: figure(cell.disk.queue_length),
        "read ms": lambda cell: figure(cell.disk.read_ms or None),
        "write ms": lambda cell: figure(cell.disk.write_ms or None),
    }
    for name in dict.fromkeys(name for cell in cells for name in cell.timed):
        values_of[f"{name} s"] = partial(_timed, name)
    columns = [
        CellColumn(head, [text(cell) for cell in cells], spare=head not in _FIRST) for head, text in values_of.items()
    ]
    return [column for column in columns if any(value != NONE for value in column.values)]


#: The note under the table.
DATA_NOTE = (
    "rows: when a trial began, mean; of memory: the largest tree over the memory that it may take; log bytes, page "
    "images, cache misses, reads and writes: of a transaction, reads and writes as the device served them"
)


def _megabytes(cell: Cell, kind: str) -> str:
    sizes = [stored_object.bytes for stored_object in cell.space if stored_object.kind == kind]
    return figure(sum(sizes) / 1e6) if sizes else NONE


def _of_memory(cell: Cell) -> str:
    stored, limit = tree(cell), memory_limit(cell)
    return NONE if stored is None or limit is None else f"{stored.bytes / limit:.2g}"


def _leaf_fill(cell: Cell) -> str:
    stored = tree(cell)
    return NONE if stored is None else percent(stored.leaf_fill)


def _misses(cell: Cell) -> str:
    """Return the misses of the engine's own cache per transaction, in pages."""
    own = cell.io_per_transaction.get("cache_misses")
    return figure(cell.observed.counters.get("pages_read") if own is None else own)


def _timed(name: str, cell: Cell) -> str:
    return figure(cell.timed.get(name))
