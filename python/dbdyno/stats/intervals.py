"""Confidence intervals over rounds: of a mean, and of the ratio of two cells.

A round measures every cell once, in random order. Slow drift of the machine affects all cells of a round. Ratios are
therefore formed within rounds, and their interval comes from the spread between rounds.
docs/explanation/statistics.md has the formulas and their sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import fmean

CONFIDENCE = 0.95

# A standard error of logarithms below this value is a rounding error of 0.
_NO_SPREAD = 1e-13

MIN_FOR_CORRELATION = 10
"""Least number of values from which a correlation between neighboring rounds is estimated."""

ASSUMED_CORRELATION = 0.3
"""The correlation assumed for fewer values."""

# How many of its standard errors are added to an estimated correlation.
_ALLOWED = 0.75
# Average of estimate plus allowance, in standard errors, if the true correlation is 0.
_USUALLY_ALLOWED = 1.2
_MAX_CORRELATION = 0.8
_MIN_ROUNDS = 4
_CLOSE = 1e-3


@dataclass(frozen=True, slots=True)
class Noise:
    """Random variation between trials, estimated from all cells of a run.

    ``deviation``: the standard deviation of a trial's log rate. ``freedom``: its degrees of freedom when it is combined
    with a comparison's own variance (0: don't combine). ``correlation``: between neighboring rounds, see
    :func:`correlation`.
    """

    deviation: float
    freedom: float
    correlation: float

    def of(self, values: Sequence[float], scale: float) -> tuple[float, float]:
        """Return the standard deviation of a comparison's values by round, and its degrees of freedom.

        ``scale``: the standard deviation of the values as a multiple of a trial's. The comparison's own variance ``s²``
        (d degrees of freedom) and the common variance ``s₀²`` (``d₀``) give ``(d₀·s₀² + d·s²) / (d₀ + d)`` with
        ``d₀ + d`` degrees of freedom. ``d₀`` is first multiplied by the probability of a variance of at least ``s²``
        under ``s₀²``.
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
    """A mean and its confidence interval, in the unit of the values. A single value has no interval."""

    mean: float
    low: float | None
    high: float | None
    count: int


@cache
def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution with ``freedom`` degrees of freedom (Student 1908)."""
    # scipy.stats takes a second to import. It calls these functions of scipy.special, which import quickly.
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(freedom) else stdtrit(freedom, probability))


def t_probability(value: float, freedom: float) -> float:
    """Return the probability that Student's t with ``freedom`` degrees of freedom is at most ``value``."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, ``s / sqrt(n)``, in the unit of the values; 0 for a single value."""
    return deviation(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, in the unit of the values; exactly 0 for equal values.

    The corrected two-pass algorithm (Chan, Golub and LeVeque 1983, doi:10.1080/00031305.1983.10483115). It is as
    accurate as :func:`statistics.stdev` and takes a twentieth of its time. Raises ValueError for fewer than two values.
    """
    if len(values) <= 1:
        raise ValueError("a standard deviation needs two values")
    from_first = [value - values[0] for value in values]
    mean = fmean(from_first)
    apart = [each - mean for each in from_first]
    squares = math.fsum(each * each for each in apart) - math.fsum(apart) ** 2 / len(values)
    return math.sqrt(max(squares, 0.0) / (len(values) - 1))


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio ``b / a`` of two cells over ``count`` rounds, with its t interval.

    ``error``: the standard error of the logarithm, widened for correlated rounds (:func:`more_error`). ``freedom``: its
    degrees of freedom. ``blunt``: a systematic error of the logarithm that all rounds share. ``confidence``: the
    interval's. A single round has no interval. Nor have rounds with identical values, which don't show an error.
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
        """``[low, high]``, or None without an interval."""
        return None if self.low is None or self.high is None else [self.low, self.high]

    def at(self, confidence: float) -> Ratio:
        """Return the same ratio with its interval at another confidence."""
        return replace(self, confidence=confidence)


def block_logs(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Return ``ln b - ln a`` for each round (key) in which both values are positive, in the order of rounds."""
    return [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]


def paired_ratio(
    a: Mapping[int, float],
    b: Mapping[int, float],
    confidence: float = CONFIDENCE,
    noise: Noise | None = None,
    *,
    exact: bool = False,
) -> Ratio | None:
    """Return ``b / a`` with its interval, from the rounds (keys) in which both values are positive.

    The paired t interval of logarithms, ``exp(mean(d) ± t(n-1) · s(d) / sqrt(n))`` with ``d_i = ln b_i - ln a_i`` in
    round i. The ratio is the geometric mean of the rounds' ratios, so ``b / a`` and ``a / b`` are exact reciprocals
    (Fleming and Wallace 1986, doi:10.1145/5666.5673; Jain 1991, ch. 13.4.1). None without a common round. ``noise`` and
    ``exact``: see :func:`ratio_of`.
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
    """Return ``b / a`` of positive values that share no rounds, with Welch's t interval of logarithms.

    Drift of the machine between the two sides is part of the result. None if a side has no value. ``between`` and
    ``exact``: see :func:`welch`.
    """
    logs = [[math.log(value) for value in side if value > 0] for side in (a, b)]
    return welch(logs[0], logs[1], confidence=confidence, between=between, exact=exact) if all(logs) else None


def welch(
    a: Sequence[float],
    b: Sequence[float],
    *,
    confidence: float = CONFIDENCE,
    least: tuple[float, float] = (0.0, 0.0),
    blunt: float = 0.0,
    between: tuple[float, float] | None = None,
    exact: bool = False,
) -> Ratio:
    """Return the ratio whose logarithm is the difference of two unpaired means.

    ``mean(b) - mean(a) ± t(f) · sqrt(s_a²/n_a + s_b²/n_b)`` with the degrees of freedom f of Welch and Satterthwaite
    (Welch 1947, doi:10.1093/biomet/34.1-2.28). No interval if a side has fewer than two values. ``least``: lower bounds
    for the standard errors of the means. ``blunt`` and ``exact``: see :func:`ratio_of`. ``between``: the known
    variation between runs of equal code, as the standard deviation of one run's mean and its degrees of freedom. It
    replaces the error of the values if it is larger.
    """
    difference = fmean(b) - fmean(a)
    sizes = (len(a), len(b))
    if min(sizes) <= 1:
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
    """Return ``a / b`` for a ratio ``b / a``, so that verdicts can be formed for metrics where lower is better."""
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
    """Return the ratio with the logarithm ``logs`` in each round; see :func:`paired_ratio`.

    ``logs``: in the order of the rounds, since the interval is widened for :func:`correlation` between neighbors.
    ``least``: a lower bound for the standard error of the mean. ``blunt``: a systematic error that all rounds share; it
    is added to the interval. ``noise``: the noise of a trial, estimated from all cells, and ``scale``: the standard
    deviation of ``logs`` as a multiple of a trial's. ``exact``: the values are counts without a measuring error.
    Otherwise identical rounds give no interval.
    """
    if not logs:
        return None
    mean, count = fmean(logs), len(logs)
    if count <= 1:
        return Ratio(_exp(mean), None, 0.0, count, confidence=confidence)
    error, freedom = error_of(logs, noise, scale)
    error = max(error, least)
    if error <= _NO_SPREAD:
        return Ratio(_exp(mean), 0.0 if exact else None, math.inf, count, confidence=confidence)
    return Ratio(_exp(mean), error, freedom, count, blunt, confidence)


def error_of(values: Sequence[float], noise: Noise | None = None, scale: float = 1.0) -> tuple[float, float]:
    """Return the standard error of the mean of two or more values by round, and its degrees of freedom.

    It is widened for correlation between neighboring rounds. ``noise`` and ``scale``: see :func:`ratio_of`.
    """
    if noise is None:
        own, freedom, correlated = deviation(values), len(values) - 1.0, correlation([values])
    else:
        (own, freedom), correlated = noise.of(values, scale), noise.correlation
    return own / math.sqrt(len(values)) * more_error(correlated, len(values)), freedom


def correlation(series: Sequence[Sequence[float]], independent: int = 1) -> float:
    """Return a cautious estimate, between 0 and 0.8, of the correlation between neighboring rounds.

    ``series``: values by round, for each cell; ``independent``: how many of the series are independent. The estimate is
    the autocorrelation at lag 1 plus three quarters of its standard error (Moran 1948, doi:10.1093/biomet/35.3-4.255).
    It is corrected for the bias that an AR(1) process shows in so few rounds. Fewer than 10 values, or 4 rounds, give
    0.3.
    """
    count = round(fmean(map(len, series)))
    if count < _MIN_ROUNDS or independent * count < MIN_FOR_CORRELATION:
        return ASSUMED_CORRELATION
    apart = [[value - mean for value in values] for values in series for mean in (fmean(values),)]
    squares = sum(value * value for values in apart for value in values)
    if squares == 0:
        return 0.0
    seen = sum(here * after for values in apart for here, after in pairwise(values)) / squares
    seen += _ALLOWED * (count - 2) / (count * math.sqrt(count - 1)) / math.sqrt(independent)
    low, high = 0.0, _MAX_CORRELATION
    if seen <= _expected(low, count):
        return low
    while high - low > _CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if _expected(middle, count) < seen else (low, middle)
    return high


@cache
def _expected(correlated: float, count: int) -> float:
    """Return the expected autocorrelation at lag 1 of ``count`` values of an AR(1) process about their own mean."""
    total = _summed(correlated, count)
    at_end = (1 - correlated**count) / (1 - correlated) / count
    return ((count - 1) * (correlated + total / count) - 2 * total + 2 * at_end) / (count - total)


def _summed(correlated: float, count: int) -> float:
    """Return ``1 + 2·Σ (1 - k/n)·r^k``: n times the variance of an AR(1) process's mean, in units of a value's."""
    return 1 + 2 * sum((1 - lag / count) * correlated**lag for lag in range(1, count))


def more_error(correlated: float, count: int) -> float:
    """Return the factor by which correlation increases the standard error of a mean beyond ``s / sqrt(n)``.

    For an AR(1) process it is ``sqrt(S·(n-1)/(n-S))`` with ``S = 1 + 2·Σ (1 - k/n)·r^k``. S corrects the variance of
    the mean, and ``(n-1)/(n-S)`` the bias of the sample variance (Priestley 1981, Spectral Analysis and Time Series,
    section 5.3.2). For large n it approaches ``sqrt((1 + r)/(1 - r))``.
    """
    if correlated <= 0 or count <= 1:
        return 1.0
    total = _summed(correlated, count)
    return math.sqrt(total * (count - 1) / (count - total))


def usual_allowance(count: int) -> float:
    """Return the average factor by which :func:`ratio_of` widens the standard error of independent rounds."""
    unknown = count < MIN_FOR_CORRELATION
    return more_error(ASSUMED_CORRELATION if unknown else _USUALLY_ALLOWED / math.sqrt(count), count)


def _exp(power: float) -> float:
    """Return ``e ** power``, bounded so that extreme rounds don't overflow a float."""
    return math.exp(max(-700.0, min(700.0, power)))
