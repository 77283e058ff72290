"""The Universal Scalability Law, fitted to the throughput of several numbers of clients.

``X(N) = C·N / (1 + s·(N-1) + k·N·(N-1))`` (Gunther 2007, Guerrilla Capacity Planning, doi:10.1007/978-3-540-31010-5;
2008, arXiv:0808.1431), with the throughput ``C`` of one client free, so that one client need not have been measured.
``s`` (contention) is the share of the work that only one client does at a time, ``k`` (coherency) what each pair of
clients costs. Both are 0 or more. Throughput is greatest at ``sqrt((1-s)/k)`` clients.

The fit is by least squares on logarithms, since the noise of a rate is a share of it. Blocks are the replicates: the
mean over blocks of each level is fitted, and how the blocks differ tells its error, whatever cells of a block have in
common. docs/explanation/statistics.md has how the intervals are made, and how often they were found to hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dbdyno.stats.intervals import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

LEAST_LEVELS = 4
"""Numbers of clients below which the three parameters leave nothing that could contradict the form."""

LEAST_BLOCKS = 3
"""Blocks, below which their spread tells next to nothing: of two, the 95 % interval is 12.7 standard errors wide."""

_DRAWS = 4999
# Steps that a fit takes at most, and the change of a logarithm at which it has settled.
_STEPS, _SETTLED = 100, 1e-12
# What one client takes at least, by the shortest time measured.
_LEAST_TIME = 1e-6
# What rounding leaves of a deviation of logarithms that is 0.
_NO_SPREAD = 1e-13


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval. What has no end is infinite."""

    value: float
    low: float
    high: float


class NoSpreadError(ValueError):
    """Blocks agree to the last digit, which leaves it unknown how sure the fit is."""


@dataclass(frozen=True)
class Scalability:
    """The law fitted to numbers of clients (``levels``), with the intervals of what it says.

    ``rate``: the throughput of one client; ``contention``, ``coherency``: s and k. ``peak_at``: the number of clients
    at the peak, at least 1; infinite where it has none. ``peak``: the throughput there, or what it comes near to.
    ``misfits``: by level, by how much the logarithm of what was measured is above the curve. ``p``: of misfits so large
    by chance, where the form is right.
    """

    levels: Sequence[float]
    blocks: int
    confidence: float
    rate: Estimate
    contention: Estimate
    coherency: Estimate
    peak_at: Estimate
    peak: Estimate
    misfits: Sequence[float]
    p: float
    draws: Numbers

    @cached_property
    def largest_misfit(self) -> tuple[float, float]:
        """The level at which what was measured is farthest off the curve, and by what share of it."""
        level, misfit = max(zip(self.levels, self.misfits, strict=True), key=lambda each: abs(each[1]))
        return level, math.expm1(misfit)

    def at(self, clients: Sequence[float]) -> list[Estimate]:
        """Return the throughput of so many clients, for each number of them."""
        import numpy as np

        drawn = _rates(self.draws, np.asarray(clients, float)).T
        values = [_rate_at(self.rate.value, self.contention.value, self.coherency.value, each) for each in clients]
        return [_estimate(value, of, self.confidence) for value, of in zip(values, drawn, strict=True)]


def _rate_at(rate: float, contention: float, coherency: float, clients: float) -> float:
    return rate * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def fit(
    levels: Sequence[float],
    logs: Sequence[Sequence[float]],
    least: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
) -> Scalability:
    """Fit the law to logarithms of rates: for each block one of each level.

    ``least``: for each level, the least standard error of its mean, whatever the blocks' spread says. Raises
    NoSpreadError, and ValueError for fewer than :data:`LEAST_LEVELS` levels or :data:`LEAST_BLOCKS` blocks.
    """
    import numpy as np

    clients, values = np.asarray(levels, float), np.asarray(logs, float)
    blocks = len(values)
    if len(clients) < LEAST_LEVELS or blocks < LEAST_BLOCKS:
        raise ValueError(f"a fit needs {LEAST_LEVELS} levels and {LEAST_BLOCKS} blocks")
    means = values.mean(axis=0)
    # What each block adds to the error of the means: their sum is 0, and the sum of their squares the variance.
    apart = (values - means) / math.sqrt(blocks * (blocks - 1))
    errors = np.hypot.reduce(apart, axis=0)
    floor = np.zeros(len(clients)) if least is None else np.asarray(least, float)
    if max(errors.max(), floor.max()) <= _NO_SPREAD:
        raise NoSpreadError("the blocks agree to the last digit")
    log_rate, contention, coherency = _bounded(clients, means)
    found = np.array([1.0, contention, coherency])
    curve = log_rate - np.log(_parts(clients) @ found)
    misfits = means - curve
    free = 1 + (contention > 0) + (coherency > 0)
    p, beyond = _lack_of_fit(misfits, values, floor, len(clients) - free)
    # What the blocks do not show of the error of each level: few transactions, and a form that is not quite right.
    unseen = np.sqrt(np.maximum(floor**2 - errors**2, 0.0) + beyond)
    draws = _draws(clients, means, curve, apart, unseen)
    rate = math.exp(log_rate)
    peak_at = _peak_at(contention, coherency)

    def estimate(value: float, drawn: Numbers) -> Estimate:
        return _estimate(value, drawn, confidence)

    one, linear, pairs = draws.T
    of_peak = _peaks_at(draws)
    return Scalability(
        levels=tuple(levels),
        blocks=blocks,
        confidence=confidence,
        rate=estimate(rate, _inverse(draws[:, 0])),
        contention=_bounded_estimate(contention, _inverse(one) * linear, confidence),
        coherency=_bounded_estimate(coherency, _inverse(one) * pairs, confidence),
        peak_at=estimate(peak_at, of_peak),
        peak=estimate(_peak(rate, contention, coherency), _peaks(draws, of_peak)),
        misfits=tuple(float(each) for each in misfits),
        p=p,
        draws=draws,
    )


def _bounded(clients: Numbers, means: Numbers) -> tuple[float, float, float]:
    """Give ln C, s and k of the least squares of logarithms, s and k not below 0.

    By steps of Gauss and Newton in 1/C, s/C and k/C, each solved with its bounds (Lawson and Hanson 1974, ch. 23), so
    that what is at a bound is exactly 0. In ``1/X`` the law is linear, which leaves steps little to correct. 1/C has a
    least value, far below what anything measured leads to, so that C is finite.
    """
    import numpy as np
    from scipy.optimize import nnls

    middle = float(means.mean())
    logs = means - middle
    parts = _parts(clients)
    # The first step makes the relative errors of 1/X small, which are nearly those of logarithms.
    took, wanted = np.exp(-logs), np.ones_like(logs)
    least = np.array([_LEAST_TIME * float(took.min()), 0.0, 0.0])
    for _ in range(_STEPS):
        found = least + nnls(parts / took[:, None], wanted - parts @ least / took)[0]
        before, took = took, parts @ found
        if np.abs(np.log(took / before)).max() < _SETTLED:
            break
        wanted = 1 - logs - np.log(took)
    one, linear, pairs = (float(each) for each in found)
    return middle - math.log(one), linear / one, pairs / one


def _parts(clients: Numbers) -> Numbers:
    """Give what 1/C, s/C and k/C are multiplied by in 1/X, a row for each number of clients."""
    import numpy as np

    return np.stack([1 / clients, (clients - 1) / clients, clients - 1], axis=1)


def _lack_of_fit(misfits: Numbers, values: Numbers, floor: Numbers, freedom: int) -> tuple[float, float]:
    """Test misfits against how cells differ within blocks; give p, and the variance of a level's mean beyond that.

    The F test of lack of fit (Draper and Smith 1998, Applied Regression Analysis, section 2.1). The pure error is what
    is left where each block's and each level's mean are taken off, as in a randomised block design.
    """
    from scipy.special import fdtrc

    blocks, levels = values.shape
    rest = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    of_error = (blocks - 1) * (levels - 1)
    error = max(float((rest**2).sum()) / of_error / blocks, float((floor**2).mean()), _NO_SPREAD**2)
    found = float((misfits**2).sum()) / freedom
    return float(fdtrc(freedom, of_error, found / error)), max(found - error, 0.0)


def _draws(clients: Numbers, means: Numbers, curve: Numbers, apart: Numbers, unseen: Numbers) -> Numbers:
    """Draw 1/C, s/C and k/C as other blocks would have given them, without their bounds.

    A bootstrap over blocks: each block's deviations get a random weight (Wu 1986, doi:10.1214/aos/1176350142), here a
    normal one, and all of a draw are stretched alike, so that a mean of levels spreads as Student's t with one degree
    of freedom less than there are blocks. In ``1/X`` the law is linear in the three. So they follow from what a draw
    adds to the logarithms by one step of Gauss and Newton, in which no draw fails to converge. They may be below 0:
    percentiles of bounded estimates hold too seldom where another parameter is at its bound.
    """
    import numpy as np

    step = np.linalg.pinv(_parts(clients) * np.exp(curve)[:, None])
    centre = step @ (1 - (means - curve))
    random = np.random.default_rng(1)
    blocks, levels = apart.shape
    stretch = np.sqrt((blocks - 1) / random.chisquare(blocks - 1, (_DRAWS, 1)))
    added = random.standard_normal((_DRAWS, blocks)) @ apart * stretch
    added += random.standard_normal((_DRAWS, levels)) * unseen
    made: Numbers = centre - added @ step.T
    return made


def _peak_at(contention: float, coherency: float) -> float:
    """Give the number of clients at the peak, 1 where throughput falls from there, infinite where it has none."""
    if contention >= 1:
        return 1.0
    return max(math.sqrt((1 - contention) / coherency), 1.0) if coherency > 0 else math.inf


def _peak(rate: float, contention: float, coherency: float) -> float:
    at = _peak_at(contention, coherency)
    if math.isfinite(at):
        return _rate_at(rate, contention, coherency, at)
    return rate / contention if contention > 0 else math.inf


# Of draws, each of 1/C, s/C and k/C, any of which may be below 0.


def _rates(draws: Numbers, clients: Numbers) -> Numbers:
    """Give the throughput of numbers of clients, a column for each; infinite where they are said to take no time."""
    return _inverse(draws @ _parts(clients).T)


def _peaks_at(draws: Numbers) -> Numbers:
    import numpy as np

    one, linear, pairs = draws.T
    room = np.maximum(one - linear, 0.0)
    squares = np.divide(room, pairs, out=np.full_like(room, np.inf), where=pairs > 0)
    return np.where(room > 0, np.maximum(np.sqrt(squares), 1.0), 1.0)


def _peaks(draws: Numbers, peaks_at: Numbers) -> Numbers:
    import numpy as np

    one, linear, pairs = draws.T
    ends = np.isfinite(peaks_at)
    clients = np.where(ends, peaks_at, 1.0)
    took = one / clients + linear * (clients - 1) / clients + pairs * (clients - 1)
    return _inverse(np.where(ends, took, linear))


def _inverse(took: Numbers) -> Numbers:
    import numpy as np

    return np.divide(1.0, took, out=np.full_like(took, np.inf), where=took > 0)


def _estimate(value: float, drawn: Numbers, confidence: float) -> Estimate:
    """Give a value with the percentiles of what was drawn; the interval holds the value also where bounds moved it."""
    import numpy as np

    tail = (1 - confidence) / 2
    # Of infinite ones there is no mean to interpolate by.
    low, high = (float(each) for each in np.quantile(drawn, [tail, 1 - tail], method="inverted_cdf"))
    return Estimate(value, min(low, value), max(high, value))


def _bounded_estimate(value: float, drawn: Numbers, confidence: float) -> Estimate:
    """Give a term with its interval, not below 0.

    Noise can move all of the interval below 0. It then reaches as far above 0 as it is wide to a side: a term that is
    smaller than this the blocks could not have told from none (as power-constrained limits: Cowan et al. 2011,
    arXiv:1105.3166).
    """
    found = _estimate(value, drawn, confidence)
    high = max(found.high, (found.high - found.low) / 2) if found.low < 0 else found.high
    return Estimate(value, max(found.low, 0.0), high)
