"""Classes of durability that what was counted contradicts."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Rule

CONTRADICTED = Kind("durability contradicted", ("durability", "observed"))


def contradictions(cells: Sequence[Cell]) -> list[Finding]:
    """Say where a class of durability cannot be what the settings say, with what was counted."""
    return [
        CONTRADICTED.found(
            f"By its settings {cell['system']['name']} is {cell['system']['durability']}, and what was counted "
            f"contradicts that: {cell['observed']['contradiction']}. It is not ranked.",
            [cell["id"]],
            {"durability": cell["system"]["durability"], "observed": dict(cell["observed"])},
        )
        for cell in cells
        if cell["observed"]["contradiction"]
    ]


RULE = Rule(lambda material: contradictions(material.cells), (CONTRADICTED,))
