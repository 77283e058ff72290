"""Arrivals of an open loop that were skipped."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.bottleneck.common import OVERLOADED
from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.words import percent, rate
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

SKIPPED = Kind("skipped", ("skipped", "issued"))


def never_begun(cells: Sequence[Cell]) -> list[Finding]:
    """Say where an open loop did not begin 1 % or more of the arrivals that were due, by cell."""
    found: list[Finding] = []
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done"]
        due, skipped = sum(each["issued"] for each in done), sum(each["skipped"] for each in done)
        elapsed = sum(each["elapsed_s"] or 0.0 for each in done)
        if not skipped or skipped < OVERLOADED * due or not elapsed:
            continue
        served = sum(each["ok"] for each in done)
        found.append(
            SKIPPED.found(
                f"{percent(skipped / due)} of arrivals were skipped: {rate(served / elapsed)} of "
                f"{rate(due / elapsed)} transactions/s offered were served. In the response times the others count as "
                "lower bounds: how long they had waited at the end.",
                [cell["id"]],
                {"skipped": skipped, "issued": due, "ok": served},
            )
        )
    return found


RULE = Rule(lambda material: never_begun(material.cells), (SKIPPED,))
