"""Systems that speak the protocol of another product."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.engines import known_engine
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

OTHER_PRODUCT = Kind("other product", ("product",))


def other_products(cells: Sequence[Cell]) -> list[Finding]:
    """Say where what was measured speaks another product's protocol."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        system = cell["system"]
        engine = known_engine(system["name"].partition(":")[0])
        if engine.original and system["engine"] not in (None, "", engine.name, engine.original):
            product = " ".join(each for each in (system["engine"], system["version"]) if each)
            found.setdefault((system["name"], product, engine.original), []).append(cell["id"])
    return [
        OTHER_PRODUCT.found(f"`{name}` is {product} here, and not {original}.", ids, {"product": product})
        for (name, product, original), ids in found.items()
    ]


RULE = Rule(lambda material: other_products(material.cells), (OTHER_PRODUCT,))
