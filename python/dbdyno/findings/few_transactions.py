"""Windows that held few transactions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from dbdyno.document.cell import Cell
from dbdyno.document.finding import Kind
from dbdyno.document.reading import JsonObject
from dbdyno.document.shape import Finding
from dbdyno.findings.rule import Material, Rule
from dbdyno.results.metrics import done
from dbdyno.stats.rates import FEW

FEW_TRANSACTIONS = Kind("few transactions", ("warning", "completed"))


def _few(cell: Cell) -> tuple[str, JsonObject] | None:
    """A window of a given time held so few transactions that rounds differ by which of them fell into it."""
    rounds = [each for each in done(cell) if each["ended_by"] == "seconds" and each["transactions_per_s"]]
    if not rounds:
        return None
    completed = fmean(each["completed"] for each in rounds)
    if completed >= FEW:
        return None
    per_s = fmean(each["transactions_per_s"] or 0.0 for each in rounds)
    number = f"{completed:.3g} transaction{'' if completed == 1 else 's'}"
    words = (
        f"A window held {number}: with fewer than {FEW} the figures rest on few of them; "
        f"`stop = {{ seconds = {math.ceil(FEW / per_s):,} }}` would hold as many."
    )
    return words, {"completed": completed}


def few_transactions(material: Material) -> Iterator[Finding]:
    """Say of which cells the figures rest on few transactions."""
    for cell in material.cells:
        said = _few(cell)
        if said is not None:
            words, observed = said
            yield FEW_TRANSACTIONS.found(words, [cell["id"]], {"warning": FEW_TRANSACTIONS.name, **observed})


RULE = Rule(few_transactions, (FEW_TRANSACTIONS,))
