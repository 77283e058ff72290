"""Clients that did much of what they can with an engine that does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule
from dbdyno.results.client import share_of_busy_client

BUSY_CLIENT = Kind("busy client", ("warning", "share"))


def _busy_client(cell: Cell) -> tuple[str, JsonObject] | None:
    share = share_of_busy_client(cell)
    if share is None:
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
