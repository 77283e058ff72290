"""Whether a cell's throughput tells of the load generator and not of the system."""

from __future__ import annotations

from dbdyno.analysis.bottleneck.common import CLIENT, IDLE
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell

# Above this share of what the client can do with an engine that does nothing, the client is part of the result.
BUSY = 0.5


def share_of_busy_client(cell: Cell) -> float | None:
    """Return the share of what the client can do with an engine that does nothing; None where it is no great part."""
    share = cell.share_of_ceiling.harness
    engine = engine_of_product(cell.system.engine)
    if share is None or share < BUSY or not (engine.has_data or engine.is_server):
        return None
    # Clients that had nothing to do for most of the time could have done more.
    if cell.time is not None and (cell.time.shares.get("idle") or 0.0) >= IDLE:
        return None
    return share


def client_is_bottleneck(cell: Cell) -> str:
    """Say why the load generator, and not the system, stopped a cell from going faster; empty where it did not."""
    share = share_of_busy_client(cell)
    if share is not None:
        return f"the client did {share * 100:.0f} % of what it can with an engine that does nothing"
    found = cell.bottleneck
    if found is not None and found.resource == CLIENT:
        return found.evidence
    return ""
