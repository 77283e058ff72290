"""Fit the Universal Scalability Law (USL) to the throughput at several numbers of clients.

``X(N) = C·N / (1 + s·(N-1) + k·N·(N-1))`` (Gunther 2007, Guerrilla Capacity Planning, doi:10.1007/978-3-540-31010-5;
2008, arXiv:0808.1431). ``C``, the throughput of one client, is fitted too, so one client need not have been measured.
``s`` (contention) is the share of the work that is serialized; ``k`` (coherency) is the cost per pair of clients. Both
are at least 0. Throughput peaks at ``sqrt((1-s)/k)`` clients.

The fit minimizes squared errors of logarithms, since the noise of a rate is proportional to it. Rounds are the
replicates: the mean of each level over the rounds is fitted, and the error comes from the spread between rounds, which
includes correlation between the cells of a round. docs/explanation/scalability.md explains the intervals, and
validation.md how often they held in simulations.
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

MIN_LEVELS = 4
"""With fewer levels than this, the three parameters fit any data, so the fit can't be tested."""

MIN_BLOCKS = 3
"""Least number of rounds. With two, the t quantile of a 95 % interval is 12.7."""

_DRAWS = 4999
# Maximum number of iterations, and the change of a logarithm at which the fit has converged.
_STEPS, _SETTLED = 100, 1e-12
# Lower bound for the time of one client, relative to the shortest measured time.
_MIN_TIME = 1e-6
# A deviation of logarithms below this value is a rounding error of 0.
_NO_SPREAD = 1e-13


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval. An open end is infinite."""

    value: float
    low: float
    high: float


class NoSpreadError(ValueError):
    """The rounds are identical, so the error of the fit is unknown."""


@dataclass(frozen=True)
class Scalability:
    """The fitted law, with intervals. ``levels``: the measured numbers of clients.

    ``rate``: the throughput of one client. ``contention``, ``coherency``: s and k. ``peak_at``: the number of clients
    at the peak, at least 1; infinite without a peak. ``peak``: the throughput there, or its limit without a peak.
    ``misfits``: measured minus fitted log throughput, by level. ``p``: the p value of the lack-of-fit test.
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
        """The level that is farthest from the curve, and its relative distance."""
        level, misfit = max(zip(self.levels, self.misfits, strict=True), key=lambda pair: abs(pair[1]))
        return level, math.expm1(misfit)

    def at(self, clients: Sequence[float]) -> list[Estimate]:
        """Return the predicted throughput for each number of clients."""
        import numpy as np

        columns = _rates(self.draws, np.asarray(clients, float)).T
        values = [_rate_at(self.rate.value, self.contention.value, self.coherency.value, client) for client in clients]
        return [_estimate(value, drawn, self.confidence) for value, drawn in zip(values, columns, strict=True)]


def _rate_at(rate: float, contention: float, coherency: float, clients: float) -> float:
    return rate * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def fit(
    levels: Sequence[float],
    logs: Sequence[Sequence[float]],
    least: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
) -> Scalability:
    """Fit the law to log rates. ``logs``: for each round, the log rate of each level.

    ``least``: for each level, a lower bound for the standard error of its mean. Raises NoSpreadError for identical
    rounds, and ValueError for fewer than :data:`MIN_LEVELS` levels or :data:`MIN_BLOCKS` rounds.
    """
    import numpy as np

    clients, values = np.asarray(levels, float), np.asarray(logs, float)
    blocks = len(values)
    if len(clients) < MIN_LEVELS or blocks < MIN_BLOCKS:
        raise ValueError(f"a fit needs {MIN_LEVELS} levels and {MIN_BLOCKS} blocks")
    means = values.mean(axis=0)
    # Each round's contribution to the error of the means: they sum to 0, and their squares sum to the variance.
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
    # Error that the spread between rounds doesn't contain: few transactions, and lack of fit.
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
        misfits=tuple(float(misfit) for misfit in misfits),
        p=p,
        draws=draws,
    )


def _bounded(clients: Numbers, means: Numbers) -> tuple[float, float, float]:
    """Return ln C, s and k that minimize the squared errors of logarithms, with s and k at least 0.

    Gauss-Newton steps in 1/C, s/C and k/C, each a nonnegative least-squares problem (Lawson and Hanson 1974, ch. 23).
    A parameter at its bound is therefore exactly 0. ``1/X`` is linear in these parameters, so a few steps are enough. A
    tiny lower bound on 1/C keeps C finite.
    """
    import numpy as np
    from scipy.optimize import nnls

    middle = float(means.mean())
    logs = means - middle
    parts = _parts(clients)
    # The first step minimizes the relative errors of 1/X, which are close to the errors of logarithms.
    took, wanted = np.exp(-logs), np.ones_like(logs)
    least = np.array([_MIN_TIME * float(took.min()), 0.0, 0.0])
    for _ in range(_STEPS):
        found = least + nnls(parts / took[:, None], wanted - parts @ least / took)[0]
        before, took = took, parts @ found
        if np.abs(np.log(took / before)).max() < _SETTLED:
            break
        wanted = 1 - logs - np.log(took)
    one, linear, pairs = (float(each) for each in found)
    return middle - math.log(one), linear / one, pairs / one


def _parts(clients: Numbers) -> Numbers:
    """Return the coefficients of 1/C, s/C and k/C in 1/X: one row per number of clients."""
    import numpy as np

    return np.stack([1 / clients, (clients - 1) / clients, clients - 1], axis=1)


def _lack_of_fit(misfits: Numbers, values: Numbers, floor: Numbers, freedom: int) -> tuple[float, float]:
    """Test for lack of fit. Return the p value, and the variance of a level's mean beyond the pure error.

    The F test of lack of fit (Draper and Smith 1998, Applied Regression Analysis, section 2.1). The pure error is the
    residual after removing round and level means, as in a randomized block design.
    """
    from scipy.special import fdtrc

    blocks, levels = values.shape
    residuals = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    error_freedom = (blocks - 1) * (levels - 1)
    error = max(float((residuals**2).sum()) / error_freedom / blocks, float((floor**2).mean()), _NO_SPREAD**2)
    found = float((misfits**2).sum()) / freedom
    return float(fdtrc(freedom, error_freedom, found / error)), max(found - error, 0.0)


def _draws(clients: Numbers, means: Numbers, curve: Numbers, apart: Numbers, unseen: Numbers) -> Numbers:
    """Draw 1/C, s/C and k/C from their bootstrap distribution, ignoring their bounds.

    A wild bootstrap over rounds: each round's deviations get a random normal weight (Wu 1986,
    doi:10.1214/aos/1176350142). A common random factor per draw makes the means follow Student's t with one degree of
    freedom less than there are rounds. ``1/X`` is linear in the parameters, so a single Gauss-Newton step turns a draw
    of log rates into parameters; no iteration can fail to converge. Draws may be negative: percentiles of bounded
    estimates cover too rarely if another parameter is at its bound.
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
    """Return the number of clients at the peak: 1 if throughput only falls, infinite without a peak."""
    if contention >= 1:
        return 1.0
    return max(math.sqrt((1 - contention) / coherency), 1.0) if coherency > 0 else math.inf


def _peak(rate: float, contention: float, coherency: float) -> float:
    at = _peak_at(contention, coherency)
    if math.isfinite(at):
        return _rate_at(rate, contention, coherency, at)
    return rate / contention if contention > 0 else math.inf


# The functions below take draws of 1/C, s/C and k/C, any of which may be negative.


def _rates(draws: Numbers, clients: Numbers) -> Numbers:
    """Return the throughput, one column per number of clients; infinite if a draw gives a time of 0 or less."""
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
    """Return a value with the percentiles of its draws, widened to contain a value that was moved by its bound."""
    import numpy as np

    tail = (1 - confidence) / 2
    # The default method would interpolate between infinite draws.
    low, high = (float(each) for each in np.quantile(drawn, [tail, 1 - tail], method="inverted_cdf"))
    return Estimate(value, min(low, value), max(high, value))


def _bounded_estimate(value: float, drawn: Numbers, confidence: float) -> Estimate:
    """Return a nonnegative parameter with its interval.

    Noise can move the whole interval below 0. The upper end is therefore at least half the width of the interval: the
    data can't distinguish a smaller parameter from 0 (compare power-constrained limits: Cowan et al. 2011,
    arXiv:1105.3166).
    """
    estimate = _estimate(value, drawn, confidence)
    high = max(estimate.high, (estimate.high - estimate.low) / 2) if estimate.low < 0 else estimate.high
    return Estimate(value, max(estimate.low, 0.0), high)
