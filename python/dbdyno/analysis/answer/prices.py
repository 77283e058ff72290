"""Costs and gains of a change other than throughput: durability, failures, response times, memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.measured.comparisons import durability_differs, failures_differ, other_rows
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.effects import contrast_of
from dbdyno.analysis.measured.metrics import ANSWERS, done, failing
from dbdyno.base.numbers import milliseconds, percent, time_words
from dbdyno.engines.durability_classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import shown_times
from dbdyno.stats.effects import pooled
from dbdyno.stats.intervals import Noise

_CLASSES = ("none", PROCESS_SAFE, POWER_SAFE)
_MAY_LOSE = {
    PROCESS_SAFE: "may lose the last commits when power fails",
    "none": "may lose the last commits at a crash",
}
# Fewer failures are a gain if at most this share of them remains.
_CURE = 0.5
# A longer p99 is a price if the whole interval of its ratio is above this.
_SLOWER_ANSWERS = 1.1
# Transactions do different work if their numbers of statements differ by more than this factor.
_AS_MUCH = 1.5
# The slowest request is a cost or gain if all rounds differ by at least this factor and this time.
_SLOWEST, _SLOWEST_MS = 2.0, 100.0
# Memory is a cost if all rounds differ by at least this factor and this many bytes.
_MEMORY, _MEMORY_BYTES = 1.25, 32e6


def price_of(
    pairs: Sequence[tuple[Cell, Cell]], *, confidence: float, noise: Noise | None
) -> tuple[list[str], list[str]]:
    """Return the costs and the gains of the second cell of each pair compared with the first, as clauses.

    Costs are other rows, a weaker durability class, more failures, a longer p99 or slowest request, and more memory.
    ``confidence``: confidence of the p99's interval; ``noise``: noise of a trial's p99.
    """
    # Statements may return other rows on purpose, so they are ranked with that price.
    price = [f"returns other rows ({a.rows_differ[b.id]})" for a, b in pairs if b.id in a.rows_differ]
    gain = []
    changes = {(class_of(a), class_of(b)) for a, b in pairs if durability_differs(a, b)}
    for a, b in sorted(changes, key=str):
        if a in _CLASSES and b in _CLASSES and _CLASSES.index(b) > _CLASSES.index(a):
            gain.append(f"{b} instead of {a}")
        else:
            price.append(_MAY_LOSE.get(b or "", f"{b or 'unknown durability'} instead of {a or 'unknown'}"))
    if any(failures_differ(a, b) for a, b in pairs):
        shares = [max(failing(cell) for cell in side) for side in zip(*pairs, strict=True)]
        if shares[1] > shares[0]:
            price.append(failures_words(*shares))
        elif is_cure(*shares):
            gain.append(failures_words(*shares))
    # A transaction that does more takes longer, and a lower throughput implies longer times: neither is a price.
    if all(_as_much_work(a, b) for a, b in pairs):
        slower = _slower_answers(pairs, confidence, noise)
        price += slower
        if not slower:
            price += _slowest(pairs, rise=True)
            gain += _slowest([(b, a) for a, b in pairs], rise=False)
    price += _memory(pairs)
    return list(dict.fromkeys(price)), list(dict.fromkeys(gain))


def is_cure(before: float, after: float) -> bool:
    """Whether the share of failures falls enough to justify a change."""
    return before > 0 and after <= _CURE * before


def failures_words(before: float, after: float) -> str:
    """Write two shares of failed transactions, such as ``failures 3.4 % -> 0``."""
    return f"failures {percent(before)} -> {percent(after)}".replace(" 0 %", " 0")


def _slower_answers(pairs: Sequence[tuple[Cell, Cell]], confidence: float, noise: Noise | None) -> list[str]:
    answers = pooled([contrast_of(a, b, ANSWERS) for a, b in pairs], confidence, noise)
    if answers is None or answers.low is None or answers.high is None or math.isinf(answers.mean):
        return []
    rate = pooled([contrast_of(a, b, "throughput") for a, b in pairs])
    if rate is None or rate.mean <= 1 or answers.low <= _SLOWER_ANSWERS:
        return []
    before, after = (max(_p99(cell) for cell in side) for side in zip(*pairs, strict=True))
    return [f"p99 {milliseconds(before)} -> {milliseconds(after)} ms" if before and after else "longer p99"]


def _p99(cell: Cell) -> float:
    times = shown_times(cell.latency_ms)
    return (times.p99 or 0.0) if times else 0.0


def _slowest(pairs: Sequence[tuple[Cell, Cell]], *, rise: bool) -> list[str]:
    """Compare the slowest requests if those of the second cells are longer in all rounds."""
    of_a, of_b = ([value for cell in side for value in slowest_by_round(cell)] for side in zip(*pairs, strict=True))
    if len(of_a) <= 1 or len(of_b) <= 1:
        return []
    low, high = max(of_a), min(of_b)
    if high < _SLOWEST * low or high - low < _SLOWEST_MS:
        return []
    ends = (max(of_a), max(of_b)) if rise else (max(of_b), max(of_a))
    return [f"slowest {time_words(ends[0])} -> {time_words(ends[1])}"]


def slowest_by_round(cell: Cell) -> list[float]:
    """Return the longest response time of each round in milliseconds."""
    times = [shown_times(round_.latency_ms) for round_ in done(cell)]
    return [latency.max for latency in times if latency is not None and latency.max]


def _memory(pairs: Sequence[tuple[Cell, Cell]]) -> list[str]:
    """Compare the memory of the process that runs an embedded engine."""
    # A mapped file counts as resident memory, though the kernel can drop it at any time.
    if any("mmap" in name for a, b in pairs for name in a.factors if a.factors[name] != b.factors.get(name)):
        return []
    of_a, of_b = (
        [round_.peak_rss_bytes for cell in side for round_ in done(cell) if round_.peak_rss_bytes]
        for side in zip(*pairs, strict=True)
    )
    if not of_a or not of_b or min(of_b) < _MEMORY * max(of_a) or min(of_b) - max(of_a) < _MEMORY_BYTES:
        return []
    return [f"{(min(of_b) - max(of_a)) / 1e6:.0f} MB more memory"]


def other_rows_of_statement(a: Cell, b: Cell) -> str:
    """Describe a difference in rows between two compared statements; empty if they return the same number."""
    if a.factors.get(STATEMENT) == b.factors.get(STATEMENT) or not other_rows(a, b):
        return ""
    of_a, of_b = a.rows_per_transaction or 0.0, b.rows_per_transaction or 0.0
    return f"it returns {of_b:,.6g} row{'s' * (of_b != 1)} instead of {of_a:,.6g}"


def _as_much_work(a: Cell, b: Cell) -> bool:
    """Whether transactions of two cells run about as many statements."""
    of_a, of_b = (_statements(cell) for cell in (a, b))
    return of_a is None or of_b is None or max(of_a, of_b) <= _AS_MUCH * min(of_a, of_b)


def _statements(cell: Cell) -> float | None:
    """Return the statements per transaction."""
    rounds = [round_ for round_ in done(cell) if round_.completed and round_.statements is not None]
    completed = sum(round_.completed for round_ in rounds)
    return sum(round_.statements or 0 for round_ in rounds) / completed if completed else None
