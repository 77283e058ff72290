"""Clients that did much of what they can with an engine that does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.bottleneck import IDLE
from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.engines import engine_of_product
from dbdyno.findings.rule import Material, Rule

BUSY_CLIENT = Kind("busy client", ("warning", "share"))


# Above this share of what the client can do with an engine that does nothing, the client is part of the result.
_CLIENT = 0.5


def _busy_client(cell: Cell) -> tuple[str, JsonObject] | None:
    share = cell["share_of_ceiling"]["harness"]
    if share is None or share < _CLIENT or not engine_of_product(cell["system"]["engine"]).has_data:
        return None
    # Clients that had nothing to do for most of the time could have done more.
    if cell["time"] is not None and (cell["time"]["shares"].get("idle") or 0.0) >= IDLE:
        return None
    words = (
        f"The client did {share * 100:.0f} % of what it can with an engine that does nothing: the result is as much "
        "about the client; give it more threads or machines."
    )
    return words, {"share": share}


def busy_clients(material: Material) -> Iterator[Finding]:
    """Say of which cells the client is part of the result."""
    for cell in material.cells:
        said = _busy_client(cell)
        if said is not None:
            words, observed = said
            yield BUSY_CLIENT.found(words, [cell["id"]], {"warning": BUSY_CLIENT.name, **observed})


RULE = Rule(busy_clients, (BUSY_CLIENT,))
