"""Where inserts fall as a table grows, and what they then wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.findings.growing import Series, cache_of, series_of
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.words import with_interval
from dbdyno.analysis.measured.data import asked_of_device, tree
from dbdyno.analysis.measured.judging import Pair, judge
from dbdyno.engines.server.facts import size
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Comparison, Finding

CLIFF = Kind("falls as it grows", ("ratio", "ci95", "before_rows", "rows"))

# Throughput has fallen where the upper end of its interval is below this share of that at the smallest size, and stays
# there at all later sizes. It is judgement, as bounds of bottlenecks are: less is what layouts and caches do anyway.
_FALLEN = 0.8


def cliff(material: Material) -> Iterator[Finding]:
    """Say of each series from which size on it is slower, in rows and in relation to what caches it, and why."""
    series = series_of(material)
    pairs = [(each, cell) for each in series for cell in each.cells[1:]]
    asked = [Pair(each.cells[0], cell, confidence=material.confidence) for each, cell in pairs]
    made = judge(asked, material.margin, material.family, material.cells)
    compared = {cell["id"]: one for (_, cell), one in zip(pairs, made, strict=True)}
    for each in series:
        at = _first_fallen([compared[cell["id"]] for cell in each.cells[1:]])
        if at is not None:
            yield _found(each, at, compared[each.cells[at]["id"]], compared[each.cells[-1]["id"]], material)


def _first_fallen(compared: Sequence[Comparison]) -> int | None:
    """Give the place of the first cell from which on all have fallen; none where the last has not."""
    fallen = [
        one["verdict"] == "slower" and one["ci95"] is not None and one["ci95"][1] < _FALLEN and not one["lacking"]
        for one in compared
    ]
    if not fallen or not fallen[-1]:
        return None
    return next(place + 1 for place in range(len(fallen)) if all(fallen[place:]))


def _found(series: Series, at: int, there: Comparison, last: Comparison, material: Material) -> Finding:
    before, cell, end = series.cells[at - 1], series.cells[at], series.cells[-1]
    label = material.measure.label
    where = f"With {series.where}, {label}" if series.where else label.capitalize()
    words = f"{where} fall between {series.rows(before)} and {series.rows(cell)} rows"
    evidence: dict[str, object] = {
        "ratio": there["ratio"],
        "ci95": there["ci95"],
        "before_rows": series.size(before),
        "rows": series.size(cell),
    }
    stored, cache = (tree(before), tree(cell)), cache_of(cell, material)
    if stored[0] is not None and stored[1] is not None:
        evidence |= {"before_bytes": stored[0]["bytes"], "bytes": stored[1]["bytes"]}
        words += f", where the {stored[1]['kind']} grows from {size(stored[0]['bytes'])} to {size(stored[1]['bytes'])}"
        if cache is not None:
            shares = [each["bytes"] / cache[0] for each in stored if each is not None]
            evidence |= {"cache_bytes": cache[0], "before_share": shares[0], "share": shares[1]}
            words += f", {shares[0]:.2g} to {shares[1]:.2g} times {cache[1]}"
    words += f": to {with_interval(there, 2)} of the rate at {series.rows(series.cells[0])} rows"
    words += f", and at {series.rows(end)} rows to {with_interval(last, 2)}." if cell is not end else "."
    limits = _what_limits(before, end)
    return CLIFF.found(words + limits, [each["id"] for each in series.cells[at:]], evidence)


def _what_limits(before: Cell, end: Cell) -> str:
    """Say what an insert asks of the device at the largest size, beside what it asked before it fell."""
    told = []
    for word in ("reads", "writes", "flushes"):
        first, last = asked_of_device(before, word), asked_of_device(end, word)
        if first is not None and last is not None and last >= 0.01 and (last > 1.25 * first):
            told.append(f"{last:.2g} {word} ({first:.2g} before)")
    words = f" At the largest size an insert asks the device for {', '.join(told)}." if told else ""
    if end["bottleneck"] is not None:
        words += f" The bottleneck is {end['bottleneck']['resource']} there."
    return words


RULE = Rule(cliff, (CLIFF,))
