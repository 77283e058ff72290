"""Rounds of two levels."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding
from dbdyno.stats import two_levels

TWO_LEVELS = Kind("two levels", ("warning", "levels"))


def levels_of(cell: Cell) -> tuple[float, float] | None:
    """Give the throughputs between which the rounds jump; ``None`` where they are of one level."""
    return two_levels([each["throughput"] for each in done(cell) if each["throughput"] is not None])


def _bistable(cell: Cell) -> tuple[str, JsonObject] | None:
    levels = levels_of(cell)
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
        # Plans that changed are told with how fast each was.
        if said is not None and not any(each["plans"] for each in done(cell)):
            words, observed = said
            yield TWO_LEVELS.found(words, [cell["id"]], {"warning": TWO_LEVELS.name, **observed})


RULE = Rule(in_two_levels, (TWO_LEVELS,))
