"""Intervals over blocks: of a mean, and of the ratio of two cells within blocks.

A block is one round in which every cell was measured once, in random order. What drifts on a machine drifts for all
cells of a block alike, so ratios are taken within blocks and their interval across blocks. docs/statistics.md has the
formulas and where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

CONFIDENCE = 0.95

_RESAMPLES = 4999
# Fewer blocks have too few distinct resamples for a bootstrap to say anything.
_LEAST_FOR_BOOTSTRAP = 5


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


def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution with ``freedom`` degrees of freedom (Student 1908)."""
    # scipy.stats takes a second to import; this is the function it calls in the end.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, ``s / sqrt(n)``, in the unit of the values; of a single one 0."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


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
    reach = t_quantile((1 + confidence) / 2, len(values) - 1) * standard_error(values)
    return Interval(mean, mean - reach, mean + reach, len(values))


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio ``b / a`` of two cells: geometric mean over the common blocks, with its intervals.

    ``low`` and ``high`` are the paired t interval on logarithms, ``bootstrap`` the bootstrap's beside it, from 5 blocks
    on. ``p``: of a difference at least as great where there is none (two-sided); ``deviation``: the standard deviation
    of the logarithms within blocks. One block alone has only a ratio.
    """

    mean: float
    low: float | None
    high: float | None
    count: int
    p: float | None = None
    deviation: float | None = None
    bootstrap: tuple[float, float] | None = None
    confidence: float = CONFIDENCE

    @property
    def intervals_disagree(self) -> bool:
        """Whether an end of the two intervals is apart by more than a third of the t interval's half width."""
        if self.bootstrap is None or self.low is None or self.high is None:
            return False
        half = (math.log(self.high) - math.log(self.low)) / 2
        apart = max(abs(math.log(self.bootstrap[0] / self.low)), abs(math.log(self.bootstrap[1] / self.high)))
        return half > 0 and apart > half / 3


def block_logs(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Return ``ln b - ln a`` of each block (key) in which both have a value above 0, in the order of blocks."""
    return [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]


def paired_ratio(a: Mapping[int, float], b: Mapping[int, float], confidence: float = CONFIDENCE) -> Ratio | None:
    """Return ``b / a`` with its intervals, from the blocks (keys) in which both have a value above 0.

    With ``d_i = ln b_i - ln a_i`` in block i: ``exp(mean(d) ± t(n-1) · s(d) / sqrt(n))``, the paired t interval on
    logarithms; the ratio is the geometric mean of the ratios, so ``b / a`` and ``a / b`` are exact reciprocals
    (Fleming and Wallace 1986, doi:10.1145/5666.5673; Jain 1991, ch. 13.4.1). None without a common block.
    """
    return ratio_of(block_logs(a, b), confidence)


def unpaired_ratio(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Ratio | None:
    """Return ``b / a`` of values above 0 that have no block in common: Welch's t interval on logarithms.

    ``mean(ln b) - mean(ln a) ± t(f) · sqrt(s_a²/n_a + s_b²/n_b)`` with the degrees of freedom f of Welch and
    Satterthwaite (Welch 1947, doi:10.1093/biomet/34.1-2.28). What drifts between the two is part of the result. None
    without a value on both sides; no interval with fewer than two on either.
    """
    logs = [[math.log(value) for value in side if value > 0] for side in (a, b)]
    if not all(logs):
        return None
    difference = fmean(logs[1]) - fmean(logs[0])
    sizes = [len(side) for side in logs]
    if min(sizes) < 2:
        return Ratio(_exp(difference), None, None, min(sizes), confidence=confidence)
    parts = [stdev(side) ** 2 / len(side) for side in logs]
    error = math.sqrt(sum(parts))
    if error == 0:
        return Ratio(_exp(difference), _exp(difference), _exp(difference), min(sizes), float(difference == 0), 0.0)
    freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    reach = t_quantile((1 + confidence) / 2, freedom) * error
    p = _two_sided(difference / error, freedom)
    deviation = error * math.sqrt(min(sizes))
    low, high = _exp(difference - reach), _exp(difference + reach)
    return Ratio(_exp(difference), low, high, min(sizes), p, deviation, None, confidence)


def inverse(ratio: Ratio) -> Ratio:
    """Return ``a / b`` of a ratio ``b / a``: what is judged where less is better."""
    low = None if ratio.high is None else 1 / ratio.high
    high = None if ratio.low is None else 1 / ratio.low
    bootstrap = None if ratio.bootstrap is None else (1 / ratio.bootstrap[1], 1 / ratio.bootstrap[0])
    return replace(ratio, mean=1 / ratio.mean, low=low, high=high, bootstrap=bootstrap)


def ratio_of(logs: Sequence[float], confidence: float = CONFIDENCE, *, resample: bool = True) -> Ratio | None:
    """Return the ratio whose logarithms in each block are ``logs``; see :func:`paired_ratio`.

    ``resample``: whether the bootstrap is taken as well, which simulations of thousands of ratios do without.
    """
    if not logs:
        return None
    on_logs = mean_interval(logs, confidence)
    if on_logs.low is None or on_logs.high is None:
        return Ratio(_exp(on_logs.mean), None, None, on_logs.count, confidence=confidence)
    deviation = stdev(logs)
    error = deviation / math.sqrt(len(logs))
    p = _two_sided(on_logs.mean / error, len(logs) - 1) if error > 0 else float(on_logs.mean == 0)
    return Ratio(
        _exp(on_logs.mean),
        _exp(on_logs.low),
        _exp(on_logs.high),
        on_logs.count,
        p,
        deviation,
        _bootstrap(logs, confidence) if resample else None,
        confidence,
    )


def _bootstrap(logs: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Return the expanded percentile bootstrap interval of the geometric mean.

    Resampling n values with replacement gives means that spread too little by ``sqrt((n - 1) / n)`` and by what t is
    wider than normal; so the quantiles are taken at ``Phi(± sqrt(n / (n - 1)) · t(n-1))`` (Hesterberg 2015, "What
    teachers should know about the bootstrap", doi:10.1080/00031305.2015.1089789, section 4.3.2). The resamples are
    drawn from a fixed seed: the same rounds give the same interval.
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
    return _exp(float(low)), _exp(float(high))


def _two_sided(t: float, freedom: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(t)))


def _exp(power: float) -> float:
    """Return ``e ** power``, bounded: two wild blocks can ask for more than a float holds."""
    return math.exp(max(-700.0, min(700.0, power)))
