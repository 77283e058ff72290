"""The tier that was the bottleneck, where what is compared lies behind another: then systems cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.bottleneck.tiers import DATABASE, tier_of
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.words import percent
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

TIER = Kind("bottleneck tier", ("tier", "cells", "of"))


def tier_findings(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Say before which database another tier was the bottleneck, and whether that kept systems from being told apart.

    Of cells whose system has several tiers; a tier that is the database itself is what was asked about.
    """
    tiered = [cell for cell in cells if cell["cpu_percent"]["tiers"] and cell["bottleneck"] is not None]
    by_tier: dict[tuple[str, bool], list[Cell]] = {}
    for cell in tiered:
        tier = _tier(cell)
        if tier is not None and tier != DATABASE:
            by_tier.setdefault((tier, DATABASE in _tiers(cell)), []).append(cell)
    for (tier, is_before_database), held in by_tier.items():
        evidence = held[0]["bottleneck"]
        told = "" if evidence is None else evidence["evidence"]
        text = f"The {tier} was the bottleneck of {_share(held, tiered)}"
        text += f": {told}. " if len(held) == 1 else f", as in {held[0]['id']}: {told}. "
        helps = {cell["bottleneck"]["advice"] for cell in held if cell["bottleneck"] is not None}
        systems = {cell["system"]["name"] for cell in held}
        if not is_before_database:
            text += "What a database took of that is not told apart: it runs within, or no process of it was named"
        elif len(systems) > 1:
            text += f"Where it is, the databases behind it cannot be told apart: try {_either(helps, tier)}"
        else:
            text += f"What the database behind it can do does not show: try {_either(helps, tier)}"
        behind = [cell for cell in tiered if _tier(cell) == DATABASE]
        text += f", as where the database was ({_share(behind, tiered)})." if behind and is_before_database else "."
        observed = {"tier": tier, "cells": len(held), "of": len(tiered)}
        yield TIER.found(text, [cell["id"] for cell in held], observed)


def _tier(cell: Cell) -> str | None:
    """Give the tier that is a cell's bottleneck; ``None`` where it is none."""
    found = cell["bottleneck"]
    return found["resource"] if found is not None and found["resource"] in _tiers(cell) else None


def _tiers(cell: Cell) -> set[str]:
    return {tier_of(name) for name in cell["cpu_percent"]["tiers"]}


def _either(helps: set[str], tier: str) -> str:
    """Give what all of the cells would be helped by."""
    return next(iter(helps)) if len(helps) == 1 else f"more processors or more threads for the {tier}"


def _share(held: Sequence[Cell], of: Sequence[Cell]) -> str:
    if len(held) == len(of):
        return "the only cell" if len(of) == 1 else f"all {len(of)} cells"
    return f"{len(held)} of {len(of)} cells ({percent(len(held) / len(of))})"


def _find(material: Material) -> Iterator[Finding]:
    yield from tier_findings(material.cells)


RULE = Rule(_find, (TIER,))
