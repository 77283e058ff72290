"""Verdicts from simultaneous intervals, and the smallest difference that a comparison could have detected."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.stats.intervals import Ratio, t_probability, t_quantile

Verdict = Literal["faster", "slower", "equivalent", "inconclusive"]

MARGIN = 0.02
"""Default for the smallest relative difference that matters."""

POWER = 0.8
"""The power with which the smallest detectable difference is detected."""

MAX_ROUNDS = 1000
"""Advice never asks for more rounds than this."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """When a difference counts: the margin as a share, the confidence, and the number of comparisons (``family``)."""

    margin: float
    confidence: float
    family: int = 1


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a ratio. ``ratio``: with its simultaneous interval, from which the verdict follows.

    ``detectable``: the smallest relative change that this interval detects with a power of 80 %. ``more_rounds``: the
    number of rounds that would probably settle an inconclusive verdict. None if it is settled, if more than 1,000
    would be needed, or if the error is unknown.
    """

    ratio: Ratio | None
    verdict: Verdict
    detectable: float | None
    more_rounds: int | None


def decide(ratios: Sequence[Ratio | None], margin: float = MARGIN, family: int | None = None) -> list[Decision]:
    """Give each ratio of a family its simultaneous interval and the verdict that follows from it.

    A family is the set of comparisons that a report makes together. The ratios' confidence is the probability that all
    intervals of the family hold. Each of m intervals therefore has ``1 - (1 - confidence) / m`` (Bonferroni).
    ``family``: m, if it is not the number of ratios.

    ``equivalent``: the interval is within ``1 / (1 + margin)`` to ``1 + margin``, even if it excludes 1, since such a
    difference doesn't matter (Westlake 1972; Schuirmann 1987, doi:10.1007/BF01068419). ``faster``, ``slower``: the
    interval is above or below 1. Otherwise, or without an interval: ``inconclusive``.
    """
    size = family or max(len(ratios), 1)
    return [_decide(None if ratio is None else ratio.at(1 - (1 - ratio.confidence) / size), margin) for ratio in ratios]


def _decide(ratio: Ratio | None, margin: float) -> Decision:
    word = verdict(ratio, margin)
    if ratio is None or ratio.error is None:
        return Decision(ratio, word, None, None)
    more = more_rounds(ratio, margin) if word == "inconclusive" else None
    return Decision(ratio, word, detectable(ratio), more)


def verdict(ratio: Ratio | None, margin: float = MARGIN) -> Verdict:
    """Return the verdict that follows from the interval of a ratio; see :func:`decide`."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return "inconclusive"
    if ratio.low >= 1 / (1 + margin) and ratio.high <= 1 + margin:
        return "equivalent"
    return "faster" if ratio.low > 1 else "slower" if ratio.high < 1 else "inconclusive"


def detectable(ratio: Ratio, power: float = POWER) -> float | None:
    """Return the smallest relative change whose interval excludes 1 with the probability ``power``.

    ``exp(reach + t_power · error) - 1``: the usual approximation for the power of a t test (Cohen 1988, Statistical
    Power Analysis, ch. 2).
    """
    if ratio.error is None or ratio.reach is None:
        return None
    beyond = t_quantile(power, ratio.freedom) * ratio.error if ratio.error else 0.0
    return math.expm1(min(700.0, ratio.reach + beyond))


def more_rounds(ratio: Ratio, margin: float = MARGIN) -> int | None:
    """Return how many more rounds settle the verdict with a probability of 80 %, if the spread stays the same.

    After n rounds in total, the logarithm of the ratio has moved by a random amount with a standard error of
    ``s · sqrt(1/count - 1/n)``. The verdict is settled if the interval then excludes 1 or is within the margin. None if
    more than 1,000 rounds would be needed.
    """
    if not ratio.error or ratio.count <= 1:
        return None
    effect, width, count = abs(math.log(ratio.mean)), math.log1p(margin), ratio.count
    spread = ratio.error * math.sqrt(count)

    def is_settled(rounds: int) -> bool:
        then = replace(
            ratio, error=spread / math.sqrt(rounds), freedom=ratio.freedom * (rounds - 1) / (count - 1), count=rounds
        )
        reach, moves = then.reach or 0.0, spread * math.sqrt(1 / count - 1 / rounds)

        def below(end: float) -> float:
            return t_probability((end - effect) / moves, ratio.freedom)

        within = width - reach
        if within >= reach:
            return True
        equivalent = max(below(within) - below(-within), 0.0)
        return equivalent + below(-reach) + 1 - below(reach) >= POWER

    counts = range(count + 1, MAX_ROUNDS + 1)
    found = bisect_left(counts, True, key=is_settled)
    return found + 1 if found < len(counts) else None
