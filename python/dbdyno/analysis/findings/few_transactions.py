"""Windows that held few transactions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.measured.metrics import done
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding
from dbdyno.stats.rates import FEW

FEW_TRANSACTIONS = Kind("few transactions", ("warning", "completed"))


def few_transactions(material: Material) -> Iterator[Finding]:
    """Say once of which cells the figures rest on few transactions.

    In a window of a given time that holds few of them, rounds differ by which ones fell into it.
    """
    held: dict[str, float] = {}
    longest = 0
    for cell in material.cells:
        rounds = [each for each in done(cell) if each["ended_by"] == "seconds" and each["transactions_per_s"]]
        completed = fmean(each["completed"] for each in rounds) if rounds else FEW
        if completed < FEW:
            held[cell["id"]] = completed
            per_s = fmean(each["transactions_per_s"] or 0.0 for each in rounds)
            longest = max(longest, math.ceil(FEW / per_s))
    if not held:
        return
    words = (
        f"A window held {_numbers(list(held.values()))}: with fewer than {FEW} the figures rest on few of them; "
        f"`stop = {{ seconds = {longest:,} }}` would hold as many."
    )
    observed: JsonObject = {"warning": FEW_TRANSACTIONS.name, "completed": min(held.values()), "by_cell": held}
    yield FEW_TRANSACTIONS.found(words, list(held), observed)


def _numbers(completed: list[float]) -> str:
    fewest, most = f"{min(completed):.3g}", f"{max(completed):.3g}"
    if fewest == most:
        return f"{fewest} transaction{'' if fewest == '1' else 's'}"
    return f"{fewest} to {most} transactions"


RULE = Rule(few_transactions, (FEW_TRANSACTIONS,))
