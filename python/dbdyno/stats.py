"""How sure a number is: intervals over blocks, paired ratios, verdicts, outliers.

A block is one round in which every cell was measured once, in random order. What drifts on a machine drifts for all
cells of a block alike, so ratios are taken within blocks and their interval across blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Literal

Verdict = Literal["faster", "slower", "equivalent", "inconclusive"]

CONFIDENCE = 0.95
MARGIN = 0.02
"""The difference that matters, as a share, where nobody said otherwise."""

_OUTLIER_SCORE = 3.5
_OUTLIER_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval, in the unit of the values. One value alone has no interval."""

    mean: float
    low: float | None
    high: float | None
    count: int

    @property
    def half_share(self) -> float | None:
        """Half the width of the interval as a share of the mean; none without an interval or with a mean of 0."""
        if self.low is None or self.high is None or self.mean == 0:
            return None
        return (self.high - self.low) / 2 / abs(self.mean)


def t_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution with ``freedom`` degrees of freedom (Student 1908)."""
    # scipy.stats takes a second to import; this is the function it calls in the end.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of ``values`` with its t interval: ``mean ± t(n-1) · s / sqrt(n)``.

    Each value is one block's. The interval supposes that block means are roughly normal and independent, which is why
    it is taken over blocks and never over the operations of one window (Jain 1991, The Art of Computer Systems
    Performance Analysis, ch. 13; Georges et al. 2007, doi:10.1145/1297027.1297033). ``ValueError`` without values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean, None, None, len(values))
    reach = t_quantile((1 + confidence) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - reach, mean + reach, len(values))


def paired_ratio(a: Mapping[int, float], b: Mapping[int, float], confidence: float = CONFIDENCE) -> Interval | None:
    """Return ``b / a`` with its interval, from the blocks (keys) in which both have a value above 0.

    With ``d_i = ln b_i - ln a_i`` in block i: ``exp(mean(d) ± t(n-1) · s(d) / sqrt(n))``, the paired t interval on
    logarithms; the ratio is the geometric mean of the ratios, so ``b / a`` and ``a / b`` are exact reciprocals
    (Fleming and Wallace 1986, doi:10.1145/5666.5673; Jain 1991, ch. 13.4.1). None without a common block.
    """
    logs = [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]
    if not logs:
        return None
    on_logs = mean_interval(logs, confidence)
    low = None if on_logs.low is None else _exp(on_logs.low)
    high = None if on_logs.high is None else _exp(on_logs.high)
    return Interval(_exp(on_logs.mean), low, high, on_logs.count)


def verdict(ratio: Interval, margin: float = MARGIN) -> Verdict:
    """Say what the ratio of two throughputs (b / a) shows of b.

    ``equivalent``: the whole interval lies within ``1 / (1 + margin)`` to ``1 + margin``, even where it excludes 1:
    a difference that does not matter is none (equivalence by inclusion of the interval, Westlake 1972; Schuirmann 1987,
    doi:10.1007/BF01068419). ``faster`` / ``slower``: the interval lies above / below 1. Else ``inconclusive``, as is
    anything seen in one block only.
    """
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if ratio.low >= 1 / (1 + margin) and ratio.high <= 1 + margin:
        return "equivalent"
    if ratio.low > 1:
        return "faster"
    if ratio.high < 1:
        return "slower"
    return "inconclusive"


def outliers(values: Sequence[float]) -> list[int]:
    """Return the indices of values far from the others. They are pointed out, never removed.

    Modified z score ``0.6745 · |x - median| / MAD`` above 3.5 (Iglewicz and Hoaglin 1993, How to Detect and Handle
    Outliers), and more than 5 % off the median, since among few values that agree well the score alone cries wolf.
    Fewer than 5 values have no outliers.
    """
    if len(values) < 5:
        return []
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    found = []
    for index, value in enumerate(values):
        off = abs(value - middle)
        if off > _OUTLIER_SHARE * abs(middle) and 0.6745 * off > _OUTLIER_SCORE * spread:
            found.append(index)
    return found


def _exp(power: float) -> float:
    """Return ``e ** power``, bounded: two wild blocks can ask for more than a float holds."""
    return math.exp(max(-700.0, min(700.0, power)))
