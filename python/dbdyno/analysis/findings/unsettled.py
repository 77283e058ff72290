"""Windows whose level changed from their begin to their end."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.timeline import rate_of_interval, stall
from dbdyno.analysis.measured.metrics import done, is_open_loop
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding
from dbdyno.stats import trend
from dbdyno.stats.stability import thirds

UNSETTLED = Kind("unsettled", ("warning", "change"))


def _unsettled(cell: Cell, measure: Measure) -> tuple[str, JsonObject] | None:
    """The level changed over the window."""
    # What stopped a round, and when, says nothing of how long it takes to settle.
    rounds = [each for each in done(cell) if not stall(each, measure)]
    # The last interval is cut short by the window's end.
    windows = [
        [rate for each in one["intervals"] if (rate := rate_of_interval(each, measure)) is not None][:-1]
        for one in rounds
    ]
    change = trend(windows, [_cut(each, is_open_loop(cell)) for each in rounds])
    if change is None:
        return None
    verb = "rose" if change > 0 else "fell"
    words = (
        f"Throughput {verb} by {abs(change) * 100:.0f} % from the first to the last third of the window: it had not "
        "settled; lengthen `load.warmup` or the window."
    )
    return words, {"change": change}


def _cut(one: Round, is_open: bool) -> float:
    """Return by what share the counts of a window's thirds may differ at a steady rate.

    Clients that take equally long end their transactions together, so a third holds one more of each client or not.
    """
    fewest = min(thirds([float(each["ok"]) for each in one["intervals"][:-1]]))
    together = 1 if is_open else int(one["window"].get("clients") or 1)
    return together / fewest if fewest else 0.0


def unsettled(material: Material) -> Iterator[Finding]:
    """Say of which cells the window had not settled."""
    for cell in material.cells:
        said = _unsettled(cell, material.measure)
        if said is not None:
            words, observed = said
            yield UNSETTLED.found(words, [cell["id"]], {"warning": UNSETTLED.name, **observed})


RULE = Rule(unsettled, (UNSETTLED,))
