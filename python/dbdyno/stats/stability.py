"""Rounds that want a second look: outliers, two levels, a level that moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, stdev

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


def trend(windows: Sequence[Sequence[float]], least: float = 0.05) -> float | None:
    """Return by what share the level changed from the first to the last third of the window, if it did.

    ``windows``: for each round, the throughput of each interval of its window, in order; rounds with fewer than 6
    intervals say nothing. It changed where the mean over rounds of ``ln(last third / first third)`` is beyond
    ``least`` and, with several rounds, beyond 3 standard errors of it.
    """
    changes = []
    for window in windows:
        third = len(window) // 3
        if third >= 2 and min(fmean(window[:third]), fmean(window[-third:])) > 0:
            changes.append(math.log(fmean(window[-third:]) / fmean(window[:third])))
    if not changes:
        return None
    mean = fmean(changes)
    error = stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else 0.0
    if abs(mean) > math.log(1 + least) and abs(mean) > 3 * error:
        return math.exp(mean) - 1
    return None
