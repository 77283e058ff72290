"""Systems that are less durable than their settings promise, as the counts of syncs and flushes show."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

CONTRADICTED = Kind("durability contradicted", ("durability", "observed"))


def contradictions(cells: Sequence[Cell]) -> list[Finding]:
    """Report each system whose counts contradict its class of durability, one finding for all of its cells."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell["observed"]["contradiction"]:
            found.setdefault((cell["system"]["name"], cell["system"]["durability"] or ""), []).append(cell)
    return [_finding(name, durability, hit) for (name, durability), hit in found.items()]


def _finding(name: str, durability: str, cells: Sequence[Cell]) -> Finding:
    where = f" (in {cells[0]['id']}, and in {len(cells) - 1} more cells)" if len(cells) > 1 else ""
    text = (
        f"{name} is not {durability}, whatever its settings say: {cells[0]['observed']['contradiction']}{where}. "
        "Something below the engine, or a setting of the session, swallows the syncs. dbdyno does not rank it."
    )
    observed = {cell["id"]: dict(cell["observed"]) for cell in cells}
    return CONTRADICTED.found(text, [cell["id"] for cell in cells], {"durability": durability, "observed": observed})


RULE = Rule(lambda material: contradictions(material.cells), (CONTRADICTED,))
