"""Intervals in which nothing ended, where usually much does."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.timeline import stall
from dbdyno.analysis.measured.metrics import done
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding

STALLED = Kind("stalled", ("warning", "seconds", "rounds"))


def _stood_still(cell: Cell, measure: Measure) -> tuple[str, JsonObject] | None:
    """For whole intervals nothing ended, where usually much does."""
    longest, rounds = 0.0, 0
    for each in done(cell):
        stood = stall(each, measure)
        rounds += stood > 0.0
        longest = max(longest, stood)
    if not rounds:
        return None
    how_many = "1 round" if rounds == 1 else f"{rounds} rounds"
    words = (
        f"In {how_many} nothing at all was done for up to {longest:.0f} s: something stopped the system; see the "
        "timeline in the report, and the greatest latency."
    )
    return words, {"seconds": longest, "rounds": rounds}


def stalled(material: Material) -> Iterator[Finding]:
    """Say of which cells something stopped the system."""
    for cell in material.cells:
        said = _stood_still(cell, material.measure)
        if said is not None:
            words, observed = said
            yield STALLED.found(words, [cell["id"]], {"warning": STALLED.name, **observed})


RULE = Rule(stalled, (STALLED,))
