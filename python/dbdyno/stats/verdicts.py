"""Verdicts: what a ratio of two throughputs shows, corrected for how many were asked, and what it could have shown."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dbdyno.stats.intervals import CONFIDENCE, Ratio, t_quantile

Verdict = Literal["faster", "slower", "equivalent", "inconclusive"]

MARGIN = 0.02
"""The difference that matters, as a share, where nobody said otherwise."""

LEVEL = 0.02
"""The chance of any false difference among the comparisons of a table. The intervals shown are of 95 %."""

POWER = 0.8
"""The chance with which the smallest difference that "could have been seen" is seen."""

MOST_ROUNDS = 1000
"""More rounds than this are not advised: nobody waits for them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a ratio shows. ``p``: corrected for the comparisons decided together.

    ``detectable``: the smallest change, as a share, that so many rounds as noisy as these see with a chance of 80 %.
    ``more_rounds``: how many more would probably settle an inconclusive one; None where it is settled, or where more
    than 1,000 would be needed or nothing can be said.
    """

    verdict: Verdict
    p: float | None
    detectable: float | None
    more_rounds: int | None


def decide(ratios: Sequence[Ratio | None], margin: float = MARGIN, level: float = LEVEL) -> list[Decision]:
    """Decide several comparisons together, so that the chance of any false difference among them stays nominal.

    ``faster`` / ``slower``: the p value corrected after Holm (1979, "A simple sequentially rejective multiple test
    procedure") is below ``level``, of which 0.02 asks for more than an interval of 95 % clear of 1. ``equivalent``: the
    interval at ``1 - 0.05 / m``, for m comparisons, lies within ``1 / (1 + margin)`` to ``1 + margin``, even where
    it excludes 1: a difference that does not matter is none (equivalence by inclusion of the interval, Westlake 1972;
    Schuirmann 1987, doi:10.1007/BF01068419; the correction is Bonferroni's). Else ``inconclusive``, as is anything seen
    in one block only.
    """
    corrected = holm([None if ratio is None else ratio.p for ratio in ratios])
    tested = sum(p is not None for p in corrected)
    return [_decide(ratio, p, tested, margin, level) for ratio, p in zip(ratios, corrected, strict=True)]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p values corrected after Holm (1979), each in its place; those that are None do not count."""
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    greatest = 0.0
    for rank, (p, index) in enumerate(order):
        greatest = max(greatest, min(1.0, (len(order) - rank) * p))
        corrected[index] = greatest
    return corrected


def _decide(ratio: Ratio | None, p: float | None, tested: int, margin: float, level: float) -> Decision:
    if ratio is None or ratio.low is None or ratio.high is None or p is None:
        return Decision("inconclusive", p, None, None)
    alpha = 1 - ratio.confidence
    seen = detectable(ratio, tested=tested, level=level)
    low, high = _interval(ratio, 1 - alpha / max(tested, 1))
    if low >= 1 / (1 + margin) and high <= 1 + margin:
        return Decision("equivalent", p, seen, None)
    if p < _level(ratio, level):
        return Decision("faster" if ratio.mean > 1 else "slower", p, seen, None)
    return Decision("inconclusive", p, seen, more_rounds(ratio, margin, tested, level))


def _level(ratio: Ratio, level: float) -> float:
    """Return the level of a ratio's test, stricter in proportion where its interval had to be."""
    return level * (1 - ratio.confidence) / (1 - CONFIDENCE)


def _interval(ratio: Ratio, confidence: float) -> tuple[float, float]:
    """Return the t interval at another confidence, from the one there is."""
    if ratio.low is None or ratio.high is None:
        return 0.0, math.inf
    if ratio.count < 2 or confidence == ratio.confidence:
        return ratio.low, ratio.high
    freedom = ratio.count - 1
    wider = t_quantile((1 + confidence) / 2, freedom) / t_quantile((1 + ratio.confidence) / 2, freedom)
    middle = math.log(ratio.mean)
    return (
        math.exp(max(-700.0, middle - wider * (middle - math.log(ratio.low)))),
        math.exp(min(700.0, middle + wider * (math.log(ratio.high) - middle))),
    )


def detectable(ratio: Ratio, power: float = POWER, tested: int = 1, level: float = LEVEL) -> float | None:
    """Return the smallest change, as a share, that this many blocks of this spread see with the chance ``power``.

    ``exp((t_(1-level/2m) + t_power) · s / sqrt(n)) - 1``, with t of n - 1 degrees of freedom: the usual approximation
    of the power of a t test (Cohen 1988, Statistical Power Analysis, ch. 2). For m comparisons ``tested`` together, it
    is that of the only one that differs, which Holm's correction asks for the level divided by m.
    """
    if ratio.deviation is None or ratio.count < 2:
        return None
    freedom = ratio.count - 1
    quantiles = t_quantile(1 - _level(ratio, level) / max(tested, 1) / 2, freedom) + t_quantile(power, freedom)
    return math.expm1(min(700.0, quantiles * ratio.wider * ratio.deviation / math.sqrt(ratio.count)))


def more_rounds(ratio: Ratio, margin: float = MARGIN, tested: int = 1, level: float = LEVEL) -> int | None:
    """Return how many more blocks would probably settle it, if mean and spread stay as they are.

    Settled is what is then a difference, or lies within the margin, whichever comes first. None where more than 1,000
    blocks in all would be needed.
    """
    if ratio.deviation is None:
        return None
    effect, width = abs(math.log(ratio.mean)), math.log1p(margin)
    strict, alpha = _level(ratio, level) / max(tested, 1), (1 - ratio.confidence) / max(tested, 1)
    deviation = ratio.deviation

    def settled(count: int) -> bool:
        error = deviation / math.sqrt(count)
        different = t_quantile(1 - strict / 2, count - 1) * error * ratio.wider < effect
        return different or effect + t_quantile(1 - alpha / 2, count - 1) * error <= width

    # Both intervals become narrower with each block: what is settled by some is settled by more.
    counts = range(ratio.count + 1, MOST_ROUNDS + 1)
    found = bisect_left(counts, True, key=settled)
    return found + 1 if found < len(counts) else None


def verdict(ratio: Ratio | None, margin: float = MARGIN) -> Verdict:
    """Return the verdict of one comparison alone; see :func:`decide`."""
    return decide([ratio], margin)[0].verdict
