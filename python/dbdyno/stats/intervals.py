"""Intervals over blocks: of a mean, and of the ratio of two cells within blocks.

A block is one round in which every cell was measured once, in random order. What drifts on a machine drifts for all
cells of a block alike, so ratios are taken within blocks and their interval across blocks.
docs/explanation/statistics.md has the formulas and where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import fmean

CONFIDENCE = 0.95

# What rounding leaves of a standard error of logarithms that is 0.
_NO_SPREAD = 1e-13

LEAST_FOR_CORRELATION = 10
"""The fewest values that show whether neighbouring rounds are alike."""

ASSUMED_CORRELATION = 0.3
"""The correlation of neighbouring rounds that is assumed if there are fewer."""

# Standard errors of an estimated correlation that are added to it.
_ALLOWED = 0.75
# The average of the estimate and that allowance, in standard errors, if the true correlation is 0.
_USUALLY_ALLOWED = 1.2
_MOST_CORRELATED = 0.8
_LEAST_ROUNDS = 4
_CLOSE = 1e-3


@dataclass(frozen=True, slots=True)
class Noise:
    """How much trials differ by chance.

    ``deviation``: the standard deviation of the logarithm of a trial's rate, and ``freedom``: the degrees of freedom
    that it counts with in a comparison (0: cells have nothing in common). ``correlation``: of neighbouring rounds, as
    an interval has to allow for it (:func:`correlation`).
    """

    deviation: float
    freedom: float
    correlation: float

    def of(self, values: Sequence[float], scale: float) -> tuple[float, float]:
        """Return the standard deviation of a comparison's values by round, and its degrees of freedom.

        ``scale``: its standard deviation if that of a trial is 1. With the comparison's own variance ``s²`` of d
        degrees of freedom, and the common one ``s₀²`` of ``d₀``, it is ``(d₀·s₀² + d·s²) / (d₀ + d)`` of ``d₀ + d``
        degrees. ``d₀`` is multiplied by the probability of at least so great a variance by chance.
        """
        from scipy.special import fdtrc

        own, freedom = deviation(values), len(values) - 1
        common = scale * self.deviation
        if not self.freedom or not common or not own:
            return own, freedom
        chance = float(fdtrc(freedom, self.freedom, (own / common) ** 2))
        shared = self.freedom * chance
        square = (shared * common**2 + freedom * own**2) / (shared + freedom)
        return math.sqrt(square), shared + freedom


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
    # scipy.stats takes a second to import; these are the functions it calls in the end.
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(freedom) else stdtrit(freedom, probability))


def t_probability(value: float, freedom: float) -> float:
    """Return the probability that Student's t with ``freedom`` degrees of freedom is at most ``value``."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


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
    """The ratio ``b / a`` of two cells over ``count`` rounds, with its t interval.

    ``error``: the standard error of its logarithm, with the allowance for rounds that are alike (:func:`more_error`),
    and ``freedom``: the degrees of freedom that it is known with. ``blunt``: by how much the logarithm may be off in
    all rounds alike. ``confidence``: of the interval. One round has only a ratio. So have rounds that agree to the last
    digit, since their spread says nothing about the error.
    """

    mean: float
    error: float | None
    freedom: float
    count: int
    blunt: float = 0.0
    confidence: float = CONFIDENCE

    @property
    def reach(self) -> float | None:
        """Half the width of the interval on logarithms; None without an interval."""
        if not self.error:
            return self.error
        return t_quantile((1 + self.confidence) / 2, self.freedom) * self.error + self.blunt

    @property
    def low(self) -> float | None:
        """The lower end of the interval, ``mean · exp(-reach)``; None without an interval."""
        return None if self.reach is None else _exp(math.log(self.mean) - self.reach)

    @property
    def high(self) -> float | None:
        """The upper end of the interval, ``mean · exp(reach)``; None without an interval."""
        return None if self.reach is None else _exp(math.log(self.mean) + self.reach)

    @property
    def ends(self) -> list[float] | None:
        """Both ends of the interval, as results have it; None without an interval."""
        return None if self.low is None or self.high is None else [self.low, self.high]

    def at(self, confidence: float) -> Ratio:
        """Return the same ratio with its interval at another confidence."""
        return replace(self, confidence=confidence)


def block_logs(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Return ``ln b - ln a`` of each block (key) in which both have a value above 0, in the order of blocks."""
    return [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]


def paired_ratio(
    a: Mapping[int, float],
    b: Mapping[int, float],
    confidence: float = CONFIDENCE,
    noise: Noise | None = None,
    *,
    exact: bool = False,
) -> Ratio | None:
    """Return ``b / a`` with its intervals, from the blocks (keys) in which both have a value above 0.

    With ``d_i = ln b_i - ln a_i`` in block i: ``exp(mean(d) ± t(n-1) · s(d) / sqrt(n))``, the paired t interval on
    logarithms; the ratio is the geometric mean of the ratios, so ``b / a`` and ``a / b`` are exact reciprocals
    (Fleming and Wallace 1986, doi:10.1145/5666.5673; Jain 1991, ch. 13.4.1). None without a common block. ``noise`` and
    ``exact``: as in :func:`ratio_of`.
    """
    return ratio_of(block_logs(a, b), confidence, exact=exact, noise=noise)


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
        return Ratio(_exp(difference), None, 0.0, min(sizes), confidence=confidence)
    parts = [max(standard_error(side), floor) ** 2 for side, floor in zip((a, b), least, strict=True)]
    error = math.sqrt(sum(parts))
    if error <= _NO_SPREAD and between is None:
        return Ratio(_exp(difference), 0.0 if exact else None, math.inf, min(sizes), confidence=confidence)
    if between is not None and error < math.sqrt(2) * between[0]:
        error, freedom = math.sqrt(2) * between[0], between[1]
    else:
        freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return Ratio(_exp(difference), error, freedom, min(sizes), blunt, confidence)


def inverse(ratio: Ratio) -> Ratio:
    """Return ``a / b`` of a ratio ``b / a``: what is judged if less is better."""
    return replace(ratio, mean=1 / ratio.mean)


def ratio_of(
    logs: Sequence[float],
    confidence: float = CONFIDENCE,
    *,
    least: float = 0.0,
    blunt: float = 0.0,
    exact: bool = False,
    noise: Noise | None = None,
    scale: float = math.sqrt(2),
) -> Ratio | None:
    """Return the ratio whose logarithms in each block are ``logs``; see :func:`paired_ratio`.

    ``least``: the least standard error of the mean, whatever the spread of the blocks says. ``blunt``: by how much the
    mean may be off in each block alike, which is added to the interval. The order of ``logs`` is that of the blocks:
    the interval allows for neighbours that are alike (:func:`correlation`).
    ``noise``: of a trial, if other cells tell of it, and ``scale``: the standard deviation of ``logs`` if that of a
    trial is 1.
    ``exact``: the values are counts without an error. Otherwise blocks without any spread give no interval.
    """
    if not logs:
        return None
    mean, count = fmean(logs), len(logs)
    if count < 2:
        return Ratio(_exp(mean), None, 0.0, count, confidence=confidence)
    error, freedom = error_of(logs, noise, scale)
    error = max(error, least)
    if error <= _NO_SPREAD:
        return Ratio(_exp(mean), 0.0 if exact else None, math.inf, count, confidence=confidence)
    return Ratio(_exp(mean), error, freedom, count, blunt, confidence)


def error_of(values: Sequence[float], noise: Noise | None = None, scale: float = 1.0) -> tuple[float, float]:
    """Return the standard error of the mean of two or more values by round, and its degrees of freedom.

    It allows for neighbouring rounds that are alike. ``noise`` and ``scale``: as in :func:`ratio_of`.
    """
    own, freedom = (deviation(values), len(values) - 1.0) if noise is None else noise.of(values, scale)
    alike = correlation([values]) if noise is None else noise.correlation
    return own / math.sqrt(len(values)) * more_error(alike, len(values)), freedom


def correlation(series: Sequence[Sequence[float]], independent: int = 1) -> float:
    """Return the correlation of neighbouring rounds that an interval has to allow for.

    ``series``: values by round, of which so many are ``independent``. The autocorrelation at lag 1 of them all, with
    three quarters of its standard error (Moran 1948, doi:10.1093/biomet/35.3-4.255) added, is compared with what an
    AR(1) process has on average in so few rounds. The result is between 0 and 0.8; it is 0.3 if there are fewer than
    10 values, or 4 rounds.
    """
    count = round(fmean(map(len, series)))
    if count < _LEAST_ROUNDS or independent * count < LEAST_FOR_CORRELATION:
        return ASSUMED_CORRELATION
    apart = [[each - mean for each in values] for values in series for mean in (fmean(values),)]
    squares = sum(each * each for values in apart for each in values)
    if squares == 0:
        return 0.0
    seen = sum(here * after for values in apart for here, after in pairwise(values)) / squares
    seen += _ALLOWED * (count - 2) / (count * math.sqrt(count - 1)) / math.sqrt(independent)
    low, high = 0.0, _MOST_CORRELATED
    if seen <= _expected(low, count):
        return low
    while high - low > _CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if _expected(middle, count) < seen else (low, middle)
    return high


@cache
def _expected(correlated: float, count: int) -> float:
    """Return the autocorrelation at lag 1 that so many values of an AR(1) process have about their own mean."""
    total = _summed(correlated, count)
    at_end = (1 - correlated**count) / (1 - correlated) / count
    return ((count - 1) * (correlated + total / count) - 2 * total + 2 * at_end) / (count - total)


def _summed(correlated: float, count: int) -> float:
    """Return ``1 + 2·Σ (1 - k/n)·r^k``: n times the variance of the mean of an AR(1) process by that of a value."""
    return 1 + 2 * sum((1 - lag / count) * correlated**lag for lag in range(1, count))


def more_error(correlated: float, count: int) -> float:
    """Return by what factor the standard error of a mean is greater than ``s / sqrt(n)`` where neighbours correlate.

    Of an AR(1) process, ``sqrt(S·(n-1)/(n-S))`` with ``S = 1 + 2·Σ (1 - k/n)·r^k``: n times the variance of the mean by
    that of a value, and what the values' own spread is too small by (Priestley 1981, Spectral Analysis and Time Series,
    section 5.3.2). Of many it is ``sqrt((1 + r)/(1 - r))``.
    """
    if correlated <= 0 or count < 2:
        return 1.0
    total = _summed(correlated, count)
    return math.sqrt(total * (count - 1) / (count - total))


def usual_allowance(count: int) -> float:
    """Return the average factor by which :func:`ratio_of` widens a standard error of independent blocks."""
    unknown = count < LEAST_FOR_CORRELATION
    return more_error(ASSUMED_CORRELATION if unknown else _USUALLY_ALLOWED / math.sqrt(count), count)


def _exp(power: float) -> float:
    """Return ``e ** power``, bounded: two wild blocks can ask for more than a float holds."""
    return math.exp(max(-700.0, min(700.0, power)))
