"""Detect cells whose throughput is limited by the load generator, not by the system."""

from __future__ import annotations

from dbdyno.analysis.bottleneck.common import CLIENT, IDLE
from dbdyno.engines import engine_of_product
from dbdyno.model.result.cell import Cell

# From this share of the client's maximum rate (with the null engine), the client affects the result.
BUSY = 0.5


def share_of_busy_client(cell: Cell) -> float | None:
    """Return the cell's share of the client's maximum rate (with the null engine); None if it is small or unknown."""
    share = cell.share_of_ceiling.harness
    engine = engine_of_product(cell.system.engine)
    if share is None or share < BUSY or not (engine.has_data or engine.is_server):
        return None
    # Mostly idle clients could have done more.
    if cell.time is not None and (cell.time.shares.get("idle") or 0.0) >= IDLE:
        return None
    return share


def client_is_bottleneck(cell: Cell) -> str:
    """Return why the load generator limited a cell; empty if it did not."""
    share = share_of_busy_client(cell)
    if share is not None:
        return f"the client ran at {share * 100:.0f} % of its maximum rate (with an engine that does nothing)"
    bottleneck = cell.bottleneck
    if bottleneck is not None and bottleneck.resource == CLIENT:
        return bottleneck.evidence
    return ""
