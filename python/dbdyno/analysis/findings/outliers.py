"""Rounds far from the others of their cell."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

OUTLIERS = Kind("outliers", ("blocks",))


def outlying_rounds(cells: Sequence[Cell]) -> list[Finding]:
    """Point out rounds far from the others of their cell."""
    hit = {cell["id"]: [each["block"] for each in cell["rounds"] if each["outlier"]] for cell in cells}
    hit = {cell: blocks for cell, blocks in hit.items() if blocks}
    if not hit:
        return []
    total = sum(len(blocks) for blocks in hit.values())
    words = "1 round lies" if total == 1 else f"{total} rounds lie"
    text = f"{words} far from the others of the same cell; outliers are kept and marked with an asterisk."
    return [OUTLIERS.found(text, hit, {"blocks": hit})]


RULE = Rule(lambda material: outlying_rounds(material.cells), (OUTLIERS,))
