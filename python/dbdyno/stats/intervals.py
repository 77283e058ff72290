"""Intervals over blocks: of a mean, and of the ratio of two cells within blocks.

A block is one round in which every cell was measured once, in random order. What drifts on a machine drifts for all
cells of a block alike, so ratios are taken within blocks and their interval across blocks. docs/statistics.md has the
formulas and where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import fmean

CONFIDENCE = 0.95

_RESAMPLES = 4999
# What rounding leaves of a standard error of logarithms that is 0.
_NO_SPREAD = 1e-13
# Fewer blocks have too few distinct resamples for a bootstrap to say anything.
_LEAST_FOR_BOOTSTRAP = 5

LEAST_FOR_CORRELATION = 10
"""Blocks from which on it can be told whether neighbours are alike."""

ASSUMED_CORRELATION = 0.3
"""What a difference has to hold against where there are fewer."""

BEYOND_CHANCE = 1.645
"""By how many of its standard errors a correlation is above 0 one time in twenty by chance."""

_ALLOWED = 0.5
# What that and chance come to on average, of a correlation that is none.
_USUALLY_ALLOWED = 0.9
_MOST_CORRELATED = 0.8


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


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution with ``freedom`` degrees of freedom (Student 1908)."""
    # scipy.stats takes a second to import; this is the function it calls in the end.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, ``s / sqrt(n)``, in the unit of the values; of a single one 0."""
    return deviation(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, in the unit of the values; of equal ones exactly 0.

    The squares of what remains of the mean are taken off (Chan, Golub and LeVeque 1983,
    doi:10.1080/00031305.1983.10483115), which is as good as the fractions of :func:`statistics.stdev` and needs a
    twentieth of its time. ``ValueError`` for fewer than two values.
    """
    if len(values) < 2:
        raise ValueError("a standard deviation needs two values")
    from_first = [value - values[0] for value in values]
    mean = fmean(from_first)
    apart = [each - mean for each in from_first]
    squares = math.fsum(each * each for each in apart) - math.fsum(apart) ** 2 / len(values)
    return math.sqrt(max(squares, 0.0) / (len(values) - 1))


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio ``b / a`` of two cells: geometric mean over the common blocks, with its intervals.

    ``low`` and ``high`` are the paired t interval on logarithms, ``bootstrap`` the bootstrap's beside it, from 5 blocks
    on. ``p``: of a difference at least as great where there is none (two-sided); ``deviation``: the standard deviation
    of the logarithms within blocks. ``wider``: by what factor p allows for more error, since neighbouring blocks may be
    alike (:func:`correlation`). One block alone has only a ratio, as have blocks that agree to the last digit:
    nobody knows then how sure it is.
    """

    mean: float
    low: float | None
    high: float | None
    count: int
    p: float | None = None
    deviation: float | None = None
    bootstrap: tuple[float, float] | None = None
    confidence: float = CONFIDENCE
    wider: float = 1.0

    @property
    def ends(self) -> list[float] | None:
        """Both ends of the t interval, as results have it; none where it has none."""
        return None if self.low is None or self.high is None else [self.low, self.high]

    @property
    def intervals_disagree(self) -> bool:
        """Whether an end of the two intervals is apart by more than a third of the t interval's half width."""
        if self.bootstrap is None or self.low is None or self.high is None:
            return False
        half = (math.log(self.high) - math.log(self.low)) / 2
        apart = max(abs(math.log(self.bootstrap[0] / self.low)), abs(math.log(self.bootstrap[1] / self.high)))
        return half > 0 and apart > half / 3


@dataclass(frozen=True, slots=True)
class Spread:
    """A standard deviation over blocks, in the unit of the values, and its degrees of freedom."""

    deviation: float
    freedom: float


def block_logs(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Return ``ln b - ln a`` of each block (key) in which both have a value above 0, in the order of blocks."""
    return [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]


def paired_ratio(
    a: Mapping[int, float], b: Mapping[int, float], confidence: float = CONFIDENCE, *, exact: bool = False
) -> Ratio | None:
    """Return ``b / a`` with its intervals, from the blocks (keys) in which both have a value above 0.

    With ``d_i = ln b_i - ln a_i`` in block i: ``exp(mean(d) ± t(n-1) · s(d) / sqrt(n))``, the paired t interval on
    logarithms; the ratio is the geometric mean of the ratios, so ``b / a`` and ``a / b`` are exact reciprocals
    (Fleming and Wallace 1986, doi:10.1145/5666.5673; Jain 1991, ch. 13.4.1). None without a common block. ``exact``: as
    in :func:`ratio_of`.
    """
    return ratio_of(block_logs(a, b), confidence, exact=exact)


def unpaired_ratio(
    a: Sequence[float],
    b: Sequence[float],
    confidence: float = CONFIDENCE,
    between: tuple[float, float] | None = None,
    *,
    exact: bool = False,
) -> Ratio | None:
    """Return ``b / a`` of values above 0 that have no block in common: Welch's t interval on logarithms.

    What drifts between the two is part of the result. None without a value on both sides. ``between`` and ``exact``: as
    in :func:`welch`.
    """
    logs = [[math.log(value) for value in side if value > 0] for side in (a, b)]
    return welch(logs[0], logs[1], confidence, between=between, exact=exact) if all(logs) else None


def welch(
    a: Sequence[float],
    b: Sequence[float],
    confidence: float = CONFIDENCE,
    least: tuple[float, float] = (0.0, 0.0),
    blunt: float = 0.0,
    between: tuple[float, float] | None = None,
    *,
    exact: bool = False,
) -> Ratio:
    """Return the ratio whose logarithm is the difference of two means, of values that are not paired.

    ``mean(b) - mean(a) ± t(f) · sqrt(s_a²/n_a + s_b²/n_b)`` with the degrees of freedom f of Welch and Satterthwaite
    (Welch 1947, doi:10.1093/biomet/34.1-2.28). No interval with fewer than two values on either side. ``least``: the
    least standard error of each mean; ``blunt`` and ``exact``: as in :func:`ratio_of`. ``between``: how much means of
    equal sides are known to differ from one occasion to the next, as the standard deviation of one mean and its degrees
    of freedom; where the values themselves tell less, that is the error.
    """
    difference = fmean(b) - fmean(a)
    sizes = (len(a), len(b))
    if min(sizes) < 2:
        return Ratio(_exp(difference), None, None, min(sizes), confidence=confidence)
    parts = [max(standard_error(side), floor) ** 2 for side, floor in zip((a, b), least, strict=True)]
    error = math.sqrt(sum(parts))
    if error <= _NO_SPREAD and between is None:
        return _without_spread(difference, min(sizes), confidence, exact=exact)
    if between is not None and error < math.sqrt(2) * between[0]:
        error, freedom = math.sqrt(2) * between[0], between[1]
    else:
        freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    reach = t_quantile((1 + confidence) / 2, freedom) * error + blunt
    p = _two_sided(max(abs(difference) - blunt, 0.0) / error, freedom)
    deviation = error * math.sqrt(min(sizes))
    low, high = _exp(difference - reach), _exp(difference + reach)
    return Ratio(_exp(difference), low, high, min(sizes), p, deviation, None, confidence)


def inverse(ratio: Ratio) -> Ratio:
    """Return ``a / b`` of a ratio ``b / a``: what is judged where less is better."""
    low = None if ratio.high is None else 1 / ratio.high
    high = None if ratio.low is None else 1 / ratio.low
    bootstrap = None if ratio.bootstrap is None else (1 / ratio.bootstrap[1], 1 / ratio.bootstrap[0])
    return replace(ratio, mean=1 / ratio.mean, low=low, high=high, bootstrap=bootstrap)


def ratio_of(
    logs: Sequence[float],
    confidence: float = CONFIDENCE,
    *,
    resample: bool = True,
    least: float = 0.0,
    blunt: float = 0.0,
    exact: bool = False,
    spread: Spread | None = None,
) -> Ratio | None:
    """Return the ratio whose logarithms in each block are ``logs``; see :func:`paired_ratio`.

    ``resample``: whether the bootstrap is taken as well, which simulations of thousands of ratios do without.
    ``least``: the least standard error of the mean, whatever the spread of the blocks says. ``blunt``: by how much the
    mean may be off in each block alike, which is added to the interval and taken off the difference that is tested.
    The order of ``logs`` is that of the blocks: p allows for neighbours that are alike, and where they are so beyond
    chance, the interval does too (:func:`correlation`).
    ``spread``: how much blocks differ by chance, where more is known of it than these tell.
    ``exact``: the values are counts without an error; else blocks without any spread leave it unknown how sure the
    ratio is, and it has no interval.
    """
    if not logs:
        return None
    mean, count = fmean(logs), len(logs)
    if count < 2:
        return Ratio(_exp(mean), None, None, count, confidence=confidence)
    own = spread if spread is not None else Spread(deviation(logs), count - 1)
    error = max(own.deviation / math.sqrt(count), least)
    if error <= _NO_SPREAD:
        return _without_spread(mean, count, confidence, exact=exact)
    seen, allowed = correlation(logs)
    wide = more_error(seen, count) if seen * math.sqrt(count) > BEYOND_CHANCE else 1.0
    wider = more_error(allowed, count)
    reach = t_quantile((1 + confidence) / 2, own.freedom) * error * wide + blunt
    return Ratio(
        _exp(mean),
        _exp(mean - reach),
        _exp(mean + reach),
        count,
        _two_sided(max(abs(mean) - blunt, 0.0) / (error * wider), own.freedom),
        error * math.sqrt(count),
        _bootstrap(logs, confidence, wide) if resample else None,
        confidence,
        wider,
    )


def correlation(values: Sequence[float]) -> tuple[float, float]:
    """Return how alike neighbouring values are found to be, and how alike they have to be supposed.

    The first is the autocorrelation ``r`` at lag 1 without its bias, ``r + (1 + 3·r)/n`` (Marriott and Pope 1954,
    doi:10.1093/biomet/41.3-4.390, for a mean that is estimated). It is known to ``1/sqrt(n)``, so half of that is added
    in the second. Both are between 0 and 0.8: that neighbours differ more than others is never assumed. Fewer than 10
    values tell nothing of it: then it is 0 and 0.3.
    """
    count = len(values)
    if count < LEAST_FOR_CORRELATION:
        return 0.0, ASSUMED_CORRELATION
    mean = fmean(values)
    deviations = [each - mean for each in values]
    squares = sum(each * each for each in deviations)
    if squares == 0:
        return 0.0, 0.0
    r = sum(here * after for here, after in pairwise(deviations)) / squares
    found = r + (1 + 3 * r) / count
    seen, allowed = (min(max(each, 0.0), _MOST_CORRELATED) for each in (found, found + _ALLOWED / math.sqrt(count)))
    return seen, allowed


def more_error(correlated: float, count: int) -> float:
    """Return by what factor the standard error of a mean is greater than ``s / sqrt(n)`` where neighbours correlate.

    Of an AR(1) process, ``sqrt(S·(n-1)/(n-S))`` with ``S = 1 + 2·Σ (1 - k/n)·r^k``: n times the variance of the mean by
    that of a value, and what the values' own spread is too small by (Priestley 1981, Spectral Analysis and Time Series,
    section 5.3.2). Of many it is ``sqrt((1 + r)/(1 - r))``.
    """
    if correlated <= 0 or count < 2:
        return 1.0
    total = 1 + 2 * sum((1 - lag / count) * correlated**lag for lag in range(1, count))
    return math.sqrt(total * (count - 1) / (count - total))


def _without_spread(mean: float, count: int, confidence: float, *, exact: bool) -> Ratio:
    """Give a ratio that all blocks agree on: certain where the values are exact, and else of unknown certainty."""
    ratio = _exp(mean)
    if exact:
        return Ratio(ratio, ratio, ratio, count, float(mean == 0), 0.0, None, confidence)
    return Ratio(ratio, None, None, count, confidence=confidence)


def _bootstrap(logs: Sequence[float], confidence: float, wide: float) -> tuple[float, float] | None:
    """Return the expanded percentile bootstrap interval of the geometric mean.

    Resampling n values with replacement gives means that spread too little by ``sqrt((n - 1) / n)`` and by what t is
    wider than normal; so the quantiles are taken at ``Phi(± sqrt(n / (n - 1)) · t(n-1))`` (Hesterberg 2015, "What
    teachers should know about the bootstrap", doi:10.1080/00031305.2015.1089789, section 4.3.2). The resamples are
    drawn from a fixed seed: the same rounds give the same interval. Resampling knows nothing of neighbours that are
    alike: ``wide`` is the factor by which the t interval allows for them.
    """
    count = len(logs)
    if count < _LEAST_FOR_BOOTSTRAP:
        return None
    # numpy is slow to import, and most commands do without.
    import numpy
    from scipy.special import ndtr

    values = numpy.asarray(logs)
    draws = numpy.random.default_rng(0).integers(0, count, (_RESAMPLES, count))
    means = values[draws].mean(axis=1)
    tail = float(ndtr(-math.sqrt(count / (count - 1)) * t_quantile((1 + confidence) / 2, count - 1)))
    low, high = numpy.quantile(means, (tail, 1 - tail))
    middle = fmean(logs)
    return _exp(middle + wide * (float(low) - middle)), _exp(middle + wide * (float(high) - middle))


def usual_allowance(count: int) -> float:
    """Return the factor that :attr:`Ratio.wider` comes to, on average, of so many blocks that are independent."""
    unknown = count < LEAST_FOR_CORRELATION
    return more_error(ASSUMED_CORRELATION if unknown else _USUALLY_ALLOWED / math.sqrt(count), count)


def _two_sided(t: float, freedom: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(t)))


def _exp(power: float) -> float:
    """Return ``e ** power``, bounded: two wild blocks can ask for more than a float holds."""
    return math.exp(max(-700.0, min(700.0, power)))
