"""The lines on durability: each class with its cells, the observed syncs, and deferred work."""

from __future__ import annotations

from dbdyno.analysis.measured.durable import class_of, notable_backlog
from dbdyno.base.numbers import rough
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Document
from dbdyno.report.lines import Statement, cell_names

_KIB = 1024.0

_LEFT = {
    "unsynced_bytes": "written and not synced",
    "log_bytes_since_checkpoint": "of log to checkpoint",
    "dirty_bytes": "changed in memory and not written",
    "dirty_pages": "dirty pages",
    "old_versions": "old versions of rows to remove",
}


def durability(document: Document) -> list[Statement]:
    """Return each durability class with its cells and their syncs per commit."""
    classes: dict[str, list[Cell]] = {}
    for cell in document.cells:
        found = class_of(cell)
        # The durability of a service's databases is not visible, so leave services out.
        if found is not None or engine_of_product(cell.system.engine).durability_is_known:
            classes.setdefault(found or "unknown", []).append(cell)
    return [Statement(name + _seen(cells), [cell.id for cell in cells]) for name, cells in classes.items()]


def syncs(cell: Cell) -> str:
    """Return a cell's syncs per commit, named by their source; empty if unknown."""
    each, by = cell.observed.syncs_per_commit, cell.observed.seen_by
    return "" if each is None else f"{rough(each)} {_SYNCS[by or 'device']} per commit"


def left_unpaid(document: Document) -> list[str]:
    """Return the work that the cells' transactions deferred, at the window's end, as far as the engine reports it."""
    lines: dict[str, list[str]] = {}
    for cell in document.cells:
        parts = [
            f"{_amount(name, value)} {_LEFT[name]}"
            for name, value in notable_backlog(cell.observed.backlog).items()
            if name in _LEFT
        ]
        if parts:
            lines.setdefault(", ".join(parts), []).append(cell.id)
    several = len(document.cells) > 1
    return [
        f"deferred per transaction: {text}" + (f" ({cell_names(document, ids)})" if several else "")
        for text, ids in lines.items()
    ]


_SYNCS = {"files": "syncs", "server": "syncs", "device": "disk flushes"}


def _seen(cells: list[Cell]) -> str:
    """Return the range of the cells' syncs per commit; empty if no cell commits."""
    seen = [cell for cell in cells if cell.observed.syncs_per_commit is not None]
    if not seen:
        return ""
    least = min(seen, key=lambda cell: cell.observed.syncs_per_commit or 0.0)
    most = max(seen, key=lambda cell: cell.observed.syncs_per_commit or 0.0)
    low, high = syncs(least), syncs(most)
    text = high if low == high else f"{rough(least.observed.syncs_per_commit or 0.0)} to {high}"
    return f", {text}, {_flushes(cells)}"


def _flushes(cells: list[Cell]) -> str:
    """Return the range of disk flushes per commit, including those of other programs."""
    seen = [each for cell in cells if (each := cell.observed.flushes_per_commit) is not None]
    if not seen:
        return "disk flushes not observed"
    low, high = rough(min(seen)), rough(max(seen))
    return f"{low if low == high else f'{low} to {high}'} disk flushes"


def _amount(name: str, value: float) -> str:
    if "bytes" not in name:
        return rough(value)
    return f"{rough(value / _KIB)} KiB" if value >= _KIB else f"{rough(value)} bytes"
