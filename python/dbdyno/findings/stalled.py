"""Intervals in which nothing ended, where usually much does."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule
from dbdyno.findings.timeline import stall
from dbdyno.results.metrics import done
from dbdyno.results.rounds import Measure

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
