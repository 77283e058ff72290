"""Windows whose level changed from their begin to their end."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule
from dbdyno.findings.timeline import rate_of_interval, stall
from dbdyno.results.metrics import done
from dbdyno.results.rounds import Measure
from dbdyno.stats import trend

UNSETTLED = Kind("unsettled", ("warning", "change"))


def _unsettled(cell: Cell, measure: Measure) -> tuple[str, JsonObject] | None:
    """The level changed over the window."""
    windows = [
        [rate for interval in each["intervals"] if (rate := rate_of_interval(interval, measure)) is not None]
        for each in done(cell)
        # What stopped it, and when, says nothing of how long it takes to settle.
        if not stall(each, measure)
    ]
    # The last interval is cut short by the window's end.
    change = trend([window[:-1] for window in windows])
    if change is None:
        return None
    verb = "rose" if change > 0 else "fell"
    words = (
        f"Throughput {verb} by {abs(change) * 100:.0f} % from the first to the last third of the window: it had not "
        "settled; lengthen `load.warmup` or the window."
    )
    return words, {"change": change}


def unsettled(material: Material) -> Iterator[Finding]:
    """Say of which cells the window had not settled."""
    for cell in material.cells:
        said = _unsettled(cell, material.measure)
        if said is not None:
            words, observed = said
            yield UNSETTLED.found(words, [cell["id"]], {"warning": UNSETTLED.name, **observed})


RULE = Rule(unsettled, (UNSETTLED,))
