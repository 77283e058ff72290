"""Where a series of values changes its distribution: E-divisive, with a test that is right for few points too.

The divergence of two stretches X (n values) and Y (m values) is the energy statistic of Matteson and James 2014 (A
nonparametric approach for multiple change point analysis of multivariate data, JASA 109(505)), with exponent 1:

    E(X, Y) = 2/(n·m) · Σ |x - y|  -  2/(n·(n-1)) · Σ |x - x'|  -  2/(m·(m-1)) · Σ |y - y'|
    Q(X, Y) = n·m/(n+m) · E(X, Y)

sums over pairs. A stretch of the series is split where Q of what lies before the split and what lies between the
split and some later end is largest; the end is searched for as well, else a change that was undone soon would be
averaged away. Both parts are then searched in turn. This is the hierarchy that Apache Otava (Fleming et al. 2023,
Hunter: Using Change Point Detection to Hunt for Performance Regressions, ICPE) builds on.

**The test.** Student's t test at the split chosen, as Hunter has it, takes no account of the choice, and the largest
of many is large by chance. From 20 points on the paper's permutation test is used: the values are shuffled, the same
search is done on them, and ``p = (1 + shuffles with as large a Q) / (1 + shuffles)`` (Davison and Hinkley 1997,
Bootstrap Methods and their Application, ch. 4). It holds for noise of any distribution. Among few points it finds
nothing, however large a change: of 5 values, two low and three high, one order in five is as well parted, so p cannot
be below 0.2. Below 20 points Student's t test decides, with equal variances (Welch's has no use for two values), all
values before the split against all after it, and p multiplied by the number of splits there were to choose from
(Bonferroni). It supposes noise that is roughly normal; simulated false alarms stay near or below 5 % for heavy tails
too. A change that was undone within so short a series escapes it.

Both tests suppose that runs are independent: a machine that drifts for weeks changes, and is said to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SIGNIFICANCE = 0.05
"""How often a series (or a part of it) without any change is said to have one."""

MINIMAL_SEGMENT = 2
"""Values on either side of a change: one run that stands alone is an outlier, not a change."""

SHUFFLES = 199
_FEWEST_TO_SHUFFLE = 20
_SEED = 20140101

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change between two values of a series. ``index``: of the first value after it."""

    index: int
    p_value: float
    """Of the test that found it; at least 1 / (1 + shuffles) where values were shuffled."""


def find_change_points(values: Sequence[float], significance: float = SIGNIFICANCE) -> list[ChangePoint]:
    """Return where the values change, in order. The same values give the same answer.

    Each stretch is tested by itself at ``significance``. Fewer than twice ``MINIMAL_SEGMENT`` values have no change.
    ``ValueError`` for a value that is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError("a change point needs finite values")
    found: dict[int, float] = {}
    stretches = [(0, len(series))]
    while stretches:
        start, end = stretches.pop()
        split = _split(series[start:end], significance, seed=(_SEED, start, end))
        if split is not None:
            found[start + split.index] = split.p_value
            stretches += [(start, start + split.index), (start + split.index, end)]
    return _settled(series, [ChangePoint(index, found[index]) for index in sorted(found)], significance)


def _split(values: _Floats, significance: float, seed: tuple[int, int, int]) -> ChangePoint | None:
    """Return the best split of a stretch where it is significant."""
    count = len(values)
    if count < 2 * MINIMAL_SEGMENT or np.ptp(values) == 0:
        return None
    if count < _FEWEST_TO_SHUFFLE:
        index = _best_of_two(values)
        choices = count - 2 * MINIMAL_SEGMENT + 1
        p_value = min(1.0, choices * student_p(values[:index], values[index:]))
        return ChangePoint(index, p_value) if p_value <= significance else None
    distances = np.abs(values[:, None] - values[None, :])
    index, largest = _largest(distances)
    shuffled = _shuffled_p(distances, largest, significance, seed)
    return None if shuffled is None else ChangePoint(index, shuffled)


def _shuffled_p(distances: _Floats, largest: float, significance: float, seed: tuple[int, int, int]) -> float | None:
    """Return the p value of the permutation test, or None as soon as it can no longer be significant.

    Stopping there changes no decision (Besag and Clifford 1991, doi:10.1093/biomet/78.2.301), and spares most of the
    work where nothing changed.
    """
    random = np.random.default_rng(seed)
    # Orders that differ in rounding only are as large.
    bar = largest * (1 - 1e-9)
    allowed = math.floor(significance * (SHUFFLES + 1) + 1e-9) - 1
    as_large = 0
    for _ in range(SHUFFLES):
        order = np.argsort(random.random(len(distances)))
        if _largest(distances.take(order, axis=0).take(order, axis=1))[1] >= bar:
            as_large += 1
            if as_large > allowed:
                return None
    return (as_large + 1) / (SHUFFLES + 1)


def _largest(distances: _Floats) -> tuple[int, float]:
    """Return the split with the largest Q over all ends, and that Q, from the distances between all values.

    With C the distances summed over both axes from the first value, the sums over pairs before ``t``, across ``t``, and
    between ``t`` and ``k`` all are differences of C[t, t], C[t, k] and C[k, k], so that Q is a weighted sum of these.
    """
    own, cross, far, allowed = _weights(len(distances))
    sums = distances.cumsum(axis=0)
    np.cumsum(sums, axis=1, out=sums)
    diagonal = sums.diagonal().copy()
    part = own * diagonal[:, None]
    sums *= cross
    sums += part
    np.multiply(far, diagonal[None, :], out=part)
    sums += part
    sums += allowed
    place = int(np.argmax(sums))
    row, column = divmod(place, len(distances))
    return row + 1, float(sums[row, column])


@lru_cache(maxsize=4)
def _weights(count: int) -> tuple[_Floats, _Floats, _Floats, _Floats]:
    """Return what C[t, t], C[t, k] and C[k, k] weigh in Q(t, k), and what is added: row t - 1 and column k - 1.

    Where either side would have fewer than ``MINIMAL_SEGMENT`` values, minus infinity is added, else nothing.
    """
    n = np.arange(1, count + 1, dtype=np.float64)[:, None]
    m = np.arange(1, count + 1, dtype=np.float64)[None, :] - n
    valid = (n >= MINIMAL_SEGMENT) & (m >= MINIMAL_SEGMENT)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = n * m / (n + m)
        # Σ|x-x'| over pairs before t is C[t,t]/2; between t and k it is (C[k,k] - 2·C[t,k] + C[t,t])/2; across t it is
        # C[t,k] - C[t,t].
        before, after, across = 1 / (n * (n - 1)), 1 / (m * (m - 1)), 2 / (n * m)
        own = scale * (-across - before - after)
        cross = scale * (across + 2 * after)
        far = scale * -after
    own, cross, far = (np.where(valid, each, 0.0) for each in (own, cross, far))
    return own, cross, far, np.where(valid, 0.0, -np.inf)


def _best_of_two(values: _Floats) -> int:
    """Return the split with the largest Q between all before it and all after it."""
    distances = np.abs(values[:, None] - values[None, :])
    own, cross, far, allowed = (weights[:, -1] for weights in _weights(len(values)))
    sums = np.cumsum(np.cumsum(distances, axis=0), axis=1)
    return int(np.argmax(own * sums.diagonal() + cross * sums[:, -1] + far * sums[-1, -1] + allowed)) + 1


def _settled(series: _Floats, points: list[ChangePoint], significance: float) -> list[ChangePoint]:
    """Leave out points that part nothing once all others are known, and put the rest where their neighbours part best.

    An early split that is a little off leaves a few values on the wrong side, which are then split off again. Hunter
    merges such weak points for the same reason.
    """
    kept = list(points)
    while kept:
        bounds = [0, *(each.index for each in kept), len(series)]
        parted = [
            student_p(series[before:here], series[here:after])
            for before, here, after in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        weakest = int(np.argmax(parted))
        if parted[weakest] <= significance:
            break
        del kept[weakest]
    for place, each in enumerate(kept):
        start = kept[place - 1].index if place else 0
        end = kept[place + 1].index if place + 1 < len(kept) else len(series)
        kept[place] = ChangePoint(start + _best_of_two(series[start:end]), each.p_value)
    return kept


def student_p(before: _Floats, after: _Floats) -> float:
    """Return the two-sided p value of Student's t test with equal variances (Student 1908), of one split by itself.

    Values without any spread are certain to differ where they do.
    """
    # scipy.stats takes a second to import; this is the function it calls in the end.
    from scipy.special import stdtr

    freedom = len(before) + len(after) - 2
    difference = abs(float(before.mean() - after.mean()))
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = math.sqrt(squares / freedom * (1 / len(before) + 1 / len(after))) if freedom > 0 else math.inf
    if error == 0:
        return 0.0 if difference > 0 else 1.0
    return float(2 * stdtr(freedom, -difference / error))
