"""Rounds of two levels."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule
from dbdyno.results.metrics import done
from dbdyno.stats import two_levels

TWO_LEVELS = Kind("two levels", ("warning", "levels"))


def _bistable(cell: Cell) -> tuple[str, JsonObject] | None:
    levels = two_levels([each["throughput"] for each in done(cell) if each["throughput"] is not None])
    if levels is None:
        return None
    words = (
        f"The rounds are of two levels, about {levels[0]:,.4g} and {levels[1]:,.4g}: the mean says which came up more "
        "often; take more rounds, and look at what differs between them."
    )
    return words, {"levels": list(levels)}


def in_two_levels(material: Material) -> Iterator[Finding]:
    """Say of which cells the rounds are of two levels."""
    for cell in material.cells:
        said = _bistable(cell)
        if said is not None:
            words, observed = said
            yield TWO_LEVELS.found(words, [cell["id"]], {"warning": TWO_LEVELS.name, **observed})


RULE = Rule(in_two_levels, (TWO_LEVELS,))
