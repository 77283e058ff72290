"""Verdicts: what a ratio shows by its simultaneous interval, and what it could have shown."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.stats.intervals import Ratio, t_probability, t_quantile

Verdict = Literal["faster", "slower", "equivalent", "inconclusive"]

MARGIN = 0.02
"""The difference that matters, as a share, where nobody said otherwise."""

POWER = 0.8
"""The chance with which the smallest difference that "could have been seen" is seen."""

MOST_ROUNDS = 1000
"""More rounds than this are not advised: nobody waits for them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a ratio shows. ``ratio``: with its simultaneous interval, from which the verdict follows.

    ``detectable``: the smallest change, as a share, that such an interval shows with a chance of 80 %.
    ``more_rounds``: how many more would probably settle an inconclusive one; None if it is settled, or if more than
    1,000 would be needed or nothing is known.
    """

    ratio: Ratio | None
    verdict: Verdict
    detectable: float | None
    more_rounds: int | None


def decide(ratios: Sequence[Ratio | None], margin: float = MARGIN, family: int | None = None) -> list[Decision]:
    """Give each ratio of a family its simultaneous interval, and the verdict that follows from it.

    A family is the comparisons that a report makes together. The confidence of the ratios passed in is that of the
    family: with this chance all of its intervals hold. So each of m intervals has ``1 - (1 - confidence) / m``
    (Bonferroni). ``family``: m, if it is not the number of ratios.

    ``equivalent``: the interval lies within ``1 / (1 + margin)`` to ``1 + margin``, even if it excludes 1: a difference
    that doesn't matter is none (Westlake 1972; Schuirmann 1987, doi:10.1007/BF01068419). ``faster``, ``slower``: it
    lies above 1, or below. Otherwise ``inconclusive``, as is a ratio without an interval.
    """
    size = family or max(len(ratios), 1)
    return [_decide(None if each is None else each.at(1 - (1 - each.confidence) / size), margin) for each in ratios]


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
    """Return the smallest change, as a share, whose interval excludes 1 with the chance ``power``.

    ``exp(reach + t_power · error) - 1``: the usual approximation of the power of a t test (Cohen 1988, Statistical
    Power Analysis, ch. 2).
    """
    if ratio.error is None or ratio.reach is None:
        return None
    beyond = t_quantile(power, ratio.freedom) * ratio.error if ratio.error else 0.0
    return math.expm1(min(700.0, ratio.reach + beyond))


def more_rounds(ratio: Ratio, margin: float = MARGIN) -> int | None:
    """Return how many more rounds would settle it with a chance of at least 80 %, if the spread stays as it is.

    After n rounds in all, the ratio differs from that of the ``count`` rounds by chance: its logarithm by a standard
    error of ``s · sqrt(1/count - 1/n)``. It is settled if its interval then excludes 1 or lies within the margin. None
    if more than 1,000 rounds in all would be needed.
    """
    if not ratio.error or ratio.count < 2:
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
        alike = max(below(within) - below(-within), 0.0)
        return alike + below(-reach) + 1 - below(reach) >= POWER

    counts = range(count + 1, MOST_ROUNDS + 1)
    found = bisect_left(counts, True, key=is_settled)
    return found + 1 if found < len(counts) else None
