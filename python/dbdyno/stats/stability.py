"""Rounds that want a second look: outliers, two levels, a level that moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from dbdyno.stats.intervals import standard_error, t_quantile

_OUTLIER_SCORE = 3.5
_OUTLIER_SHARE = 0.05


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


# Two levels: the gap between them, as a share of the value, and as a multiple of the spread on either side of it.
_GAP_SHARE = 0.05
_GAP_SPREADS = 6.0


def two_levels(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the two levels (means) between which ``values`` jump, or None where they are of one.

    The values, sorted, are cut at their widest gap. They are of two levels where each side has at least two of them,
    and the gap is above 5 % of the lower side's mean and above 6 times the greater side's mean distance between
    neighbours. Fewer than 6 values show nothing. Bistability of this kind comes from memory layout or from scheduling,
    and makes a mean of a few rounds a matter of luck (Kalibera and Jones 2013, doi:10.1145/2464157.2464160).
    """
    if len(values) < 6:
        return None
    ordered = sorted(values)
    gaps = [right - left for left, right in pairwise(ordered)]
    cut = max(range(len(gaps)), key=gaps.__getitem__) + 1
    low, high = ordered[:cut], ordered[cut:]
    if min(len(low), len(high)) < 2:
        return None
    within = max((side[-1] - side[0]) / (len(side) - 1) for side in (low, high))
    gap = gaps[cut - 1]
    if gap > _GAP_SHARE * abs(fmean(low)) and gap > _GAP_SPREADS * within:
        return fmean(low), fmean(high)
    return None


# The chance of taking noise for a change of level, and how many intervals of a window tell its noise.
_TREND_LEVEL = 0.002
_TREND_INTERVALS = 8


def trend(windows: Sequence[Sequence[float]], cuts: Sequence[float] = (), least: float = 0.05) -> float | None:
    """Return by what share the level changed from the first to the last third of the window, if it did.

    ``windows``: for each round, the throughput of each interval of its window, in order; rounds with fewer than 6
    intervals say nothing. ``cuts``: for each round, by what share the level of a third may be off because it counts
    whole transactions only. It changed if the mean over rounds of ``ln(last third / first third)`` is beyond
    ``least``, and beyond chance (level 0.002): by a t test over the rounds, or, in the same direction in each round by
    itself, against the noise from one of its intervals to the next (of which it needs 8).
    """
    both = zip(windows, cuts or [0.0] * len(windows), strict=True)
    telling = [(window, cut) for window, cut in both if len(window) >= 6 and min(map(fmean, _ends(window))) > 0]
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
    """Give how far the levels of the ends of a window may be apart by chance, as a logarithm.

    The noise is told from the differences between neighbours, which a level that moves slowly hardly adds to (von
    Neumann et al. 1941, doi:10.1214/aoms/1177731746); they have some two thirds of their number as degrees of freedom.
    """
    if len(window) < _TREND_INTERVALS:
        return math.inf
    # To first order the deviation of a logarithm is that of the value by the value.
    noise = math.sqrt(fmean((right - left) ** 2 for left, right in pairwise(window)) / 2) / fmean(window)
    freedom = max(1.0, 2 * (len(window) - 1) / 3)
    return t_quantile(1 - _TREND_LEVEL / 2, freedom) * noise * math.sqrt(2 / (len(window) // 3))
