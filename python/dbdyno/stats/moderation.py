"""How much blocks differ by chance, told by several tests of a run together where each has few blocks.

With five blocks the standard deviation of one test is hardly known, and its t quantile, corrected for twenty tests, is
above 8. The tests of a run share a machine and its noise, so each one's variance is drawn towards what all have in
common, the more the more they agree: the moderated t statistic (Smyth 2004, "Linear models and empirical Bayes methods
for assessing differential expression", doi:10.2202/1544-6115.1027). Where they differ beyond chance, each keeps its
own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from dbdyno.stats.intervals import Spread, deviation

#: Fewer tests tell nothing of what they have in common.
LEAST_TESTS = 4

# Tests share the cell that they are held against, so that they are no independent witnesses of the noise, and one whose
# noise is greater than the others' must not lose it among them: what all have in common counts no more than this
# multiple of what a test has of its own. Simulations (tests/test_stats_moderation.py) show what a greater one costs.
_MOST_SHARED = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What a test says in each block. ``scale``: their standard deviation where that of a trial's log rate is 1."""

    values: Sequence[float]
    scale: float


def moderated(samples: Sequence[Sample]) -> list[Spread | None]:
    """Return the spread of each test; None of one that has fewer than two blocks, or no difference between them.

    With the variance ``s²`` of d degrees of freedom, and ``d₀`` and ``s₀²`` from all tests (equations of section 6.2 of
    the source: the mean and variance of ``ln s²``), it is ``(d₀·s₀² + d·s²) / (d₀ + d)`` of ``d₀ + d`` degrees.
    """
    found = [_own(each) for each in samples]
    told = [each for each in found if each is not None]
    common = _common(told) if len(told) >= LEAST_TESTS else Spread(0.0, 0.0)
    return [
        None if each is None else _drawn(each, common, sample.scale)
        for each, sample in zip(found, samples, strict=True)
    ]


def _own(sample: Sample) -> Spread | None:
    """Return the spread of one test, as that of a trial's log rate."""
    if len(sample.values) < 2 or sample.scale <= 0:
        return None
    own = deviation(sample.values) / sample.scale
    return Spread(own, len(sample.values) - 1) if own > 0 else None


def _common(found: Sequence[Spread]) -> Spread:
    """Return what the tests have in common: ``s₀``, and the degrees of freedom ``d₀`` that say how much of it."""
    from scipy.special import digamma, polygamma

    halves = [each.freedom / 2 for each in found]
    logs = [
        2 * math.log(each.deviation) - float(digamma(half)) + math.log(half)
        for each, half in zip(found, halves, strict=True)
    ]
    apart = variance(logs) - fmean(float(polygamma(1, half)) for half in halves)
    most = _MOST_SHARED * fmean(each.freedom for each in found)
    freedom = min(2 * _inverse_trigamma(apart), most) if apart > 0 else most
    if freedom < most:
        middle = fmean(logs) + float(digamma(freedom / 2)) - math.log(freedom / 2)
    else:
        # They differ by no more than chance makes them: the plain mean knows most.
        middle = math.log(fmean(each.deviation**2 for each in found))
    return Spread(math.exp(middle / 2), freedom)


def _drawn(own: Spread, common: Spread, scale: float) -> Spread:
    freedom = own.freedom + common.freedom
    square = (common.freedom * common.deviation**2 + own.freedom * own.deviation**2) / freedom
    return Spread(math.sqrt(square) * scale, freedom)


def _inverse_trigamma(value: float) -> float:
    """Return y with ``trigamma(y) = value``, by Newton's method on 1/trigamma (appendix of the source)."""
    from scipy.special import polygamma

    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    y = 0.5 + 1 / value
    for _ in range(50):
        at = float(polygamma(1, y))
        step = at * (1 - at / value) / float(polygamma(2, y))
        y += step
        if -step / y < 1e-8:
            break
    return y
