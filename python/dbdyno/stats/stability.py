"""Detect unstable rounds: outliers, two groups of values, a trend within the window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from dbdyno.stats.intervals import standard_error, t_quantile

_OUTLIER_SCORE = 3.5
_OUTLIER_SHARE = 0.05
_OUTLIER_VALUES = 5


def outliers(values: Sequence[float]) -> list[int]:
    """Return the indices of outliers. Reports mark them and never remove them.

    An outlier has a modified z score ``0.6745 · |x - median| / MAD`` above 3.5 (Iglewicz and Hoaglin 1993, How to
    Detect and Handle Outliers) and is more than 5 % off the median. The second condition prevents false alarms if the
    other values agree well. Fewer than 5 values give no outliers.
    """
    if len(values) < _OUTLIER_VALUES:
        return []
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    found = []
    for index, value in enumerate(values):
        off = abs(value - middle)
        if off > _OUTLIER_SHARE * abs(middle) and 0.6745 * off > _OUTLIER_SCORE * spread:
            found.append(index)
    return found


# Smallest gap between two groups: as a share of the value, and as a multiple of the spread within a group.
_GAP_SHARE = 0.05
_GAP_SPREADS = 6.0
_LEVEL_VALUES = 6


def two_levels(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the means of two groups if ``values`` fall into two groups, else None.

    The sorted values are split at their widest gap. They form two groups if each group has at least two values and the
    gap exceeds 5 % of the lower mean and 6 times the larger mean distance between neighbors within a group. Fewer than
    6 values give None. Such bistability is caused by memory layout or scheduling; the mean of a few rounds is then a
    matter of luck (Kalibera and Jones 2013, doi:10.1145/2464157.2464160).
    """
    if len(values) < _LEVEL_VALUES:
        return None
    ordered = sorted(values)
    gaps = [right - left for left, right in pairwise(ordered)]
    cut = max(range(len(gaps)), key=gaps.__getitem__) + 1
    low, high = ordered[:cut], ordered[cut:]
    if min(len(low), len(high)) <= 1:
        return None
    within = max((side[-1] - side[0]) / (len(side) - 1) for side in (low, high))
    gap = gaps[cut - 1]
    if gap > _GAP_SHARE * abs(fmean(low)) and gap > _GAP_SPREADS * within:
        return fmean(low), fmean(high)
    return None


# Significance level of a trend, and the least number of intervals from which a window's noise is estimated.
_TREND_LEVEL = 0.002
_TREND_INTERVALS = 8
_MIN_WINDOW = 6


def trend(windows: Sequence[Sequence[float]], cuts: Sequence[float] = (), least: float = 0.05) -> float | None:
    """Return the relative change from the first to the last third of the window, or None if it is not significant.

    ``windows``: for each round, the throughput of each interval of its window, in order; rounds with fewer than 6
    intervals are ignored. ``cuts``: for each round, the relative error of a third's throughput from counting whole
    transactions only. A change is reported if the mean over rounds of ``ln(last third / first third)`` exceeds
    ``least`` and is significant at the 0.002 level. Either a t test over rounds shows it, or each round alone shows a
    change in the same direction, compared with its noise between neighboring intervals (at least 8 intervals).
    """
    both = zip(windows, cuts or [0.0] * len(windows), strict=True)
    telling = [
        (window, cut) for window, cut in both if len(window) >= _MIN_WINDOW and min(map(fmean, _ends(window))) > 0
    ]
    if not telling:
        return None
    logs = [math.log(fmean(last) / fmean(first)) for first, last in (_ends(window) for window, _ in telling)]
    mean, blunt = fmean(logs), fmean(math.log1p(cut) for _, cut in telling)
    if abs(mean) <= math.log(1 + least) + blunt:
        return None
    over_rounds = math.inf
    if len(logs) > 1:
        over_rounds = t_quantile(1 - _TREND_LEVEL / 2, len(logs) - 1) * standard_error(logs) + blunt
    in_each = all(
        log * mean > 0 and abs(log) > _reach(window) + math.log1p(cut)
        for log, (window, cut) in zip(logs, telling, strict=True)
    )
    return math.exp(mean) - 1 if abs(mean) > over_rounds or in_each else None


def thirds(values: Sequence[float]) -> tuple[float, float]:
    """Return the sums of the first and the last third of a window's intervals."""
    first, last = _ends(values)
    return sum(first), sum(last)


def _ends(window: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    third = len(window) // 3
    return window[:third], window[-third:]


def _reach(window: Sequence[float]) -> float:
    """Return the log ratio of the ends of a window that noise alone can produce at the significance level.

    The noise is estimated from differences between neighboring intervals, which a slow trend hardly affects (von
    Neumann et al. 1941, doi:10.1214/aoms/1177731746). Their degrees of freedom are about two thirds of their number.
    """
    if len(window) < _TREND_INTERVALS:
        return math.inf
    # To first order, the standard deviation of a logarithm is the coefficient of variation.
    noise = math.sqrt(fmean((right - left) ** 2 for left, right in pairwise(window)) / 2) / fmean(window)
    freedom = max(1.0, 2 * (len(window) - 1) / 3)
    return t_quantile(1 - _TREND_LEVEL / 2, freedom) * noise * math.sqrt(2 / (len(window) // 3))
