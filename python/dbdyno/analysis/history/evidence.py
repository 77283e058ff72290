"""The evidence for a change of level in a stretch of runs, with autocorrelated noise.

The noise of runs is modeled as an AR(1) process: each run's deviation is ``rho`` times the previous run's deviation
plus an innovation. A change is a **step**: the level differs from run ``t`` on. It is compared with two explanations
without a change, of equal prior weight: **nothing** happened; or run ``t`` had a **shock**, an exceptionally large
innovation, which decays like the noise. The shock distinguishes a change, which lasts, from a single outlier and from
an excursion of autocorrelated noise. (Innovational outliers: Fox 1972, JRSS B 34(3).)

The result is the logarithm of the ratio of marginal likelihoods (Bayes factor; Kass and Raftery 1995,
doi:10.1080/01621459.1995.10476572). For a given ``rho``, the values are whitened, ``z_1 = sqrt(1 - rho²)·x_1`` and
``z_i = x_i - rho·x_{i-1}``, followed by linear regression. The prior of the level is flat, and the prior of the
innovations' variance ``s²`` is ``1/s²``. A step is normal around 0 with ``STEP`` times the variance of a run, and a
shock with ``SHOCK`` times the variance of an innovation. Both have two sizes, since a single size would reduce the
evidence for large steps. Let R be the sum of squares left by the level alone, q the sum of squares of the whitened
regressor (without its projection on the level), c its product with the values, and λ the prior's precision in units of
``1/s²``. Then

    ln m = ½·ln((1 - rho²)/w) + ½·ln(λ/(q + λ)) - (n-1)/2·ln(R - c²/(q + λ)),

where w is the sum of squares of the level's regressor. If the deviation between runs on a machine was measured
(``dbdyno noise --runs``), sums of squares are at least as large as this deviation implies. ``rho`` is unknown, and few
runs don't suffice to estimate it: estimates are too low by about ``(1 + 4·rho)/n`` (Marriott and Pope 1954,
doi:10.1093/biomet/41.3-4.390) and uncertain by ``1/sqrt(n)``. So m is averaged over ``CORRELATIONS`` instead, with
smaller prior weights for larger correlations. With a handful of runs, autocorrelation thus remains possible; with many
runs, the data decide.

A few differing runs are more often an excursion than a change. The log prior odds of a step whose shorter side has
``m`` runs are therefore reduced by ``SHORT/m``.

First, values further from the median than ``FAR`` robust standard deviations are moved to that distance (winsorized;
1.4826 times the median absolute deviation, as in the modified z score of Iglewicz and Hoaglin 1993). This limits the
influence of a single run, and prevents false changes from heavy tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_SEGMENT = 3
"""Minimum number of runs on either side of a change. Two adjacent outliers are too common: if 5% of runs are outliers,
two of a hundred runs are adjacent outliers in every fifth series."""

CORRELATIONS = np.arange(8) / 10
"""Assumed correlations of adjacent runs. Negative ones would make changes easier to detect."""

_WEIGHTS = np.linspace(1.0, 0.15, len(CORRELATIONS))
LIKELY = _WEIGHTS / _WEIGHTS.sum()
"""Prior probability of each correlation."""

STEP = (10.0, 1000.0)
"""Prior variances of a step as multiples of a run's variance, equally likely, to find changes of any size."""

SHOCK = (30.0, 3000.0)
"""Prior variances of a shock as multiples of an innovation's variance, equally likely."""

SHORT = 18.0
"""Reduction of the log odds for a step with one run on its shorter side; it is divided by the number of runs there."""

FAR = 3.0
"""Maximum distance from the median in robust standard deviations; values further away are moved to it."""

_NORMAL = 1.4826
_ROUNDING = 1e-12

_Floats = NDArray[np.float64]

# One row per correlation, one column per place of a split.
_RHO: _Floats = CORRELATIONS[:, None]
_LOSS: _Floats = 1 - _RHO
_FRESH: _Floats = 1 - _RHO**2
_PRIOR: _Floats = np.log(LIKELY)[:, None]

# Prior precisions in units of the innovations' precision: one layer per size.
_OF_STEP: _Floats = np.stack([_FRESH / each for each in STEP])
_OF_SHOCK: _Floats = np.stack([np.full_like(_RHO, 1 / each) for each in SHOCK])


@dataclass(frozen=True, slots=True)
class Noise:
    """Information about the noise from stretches without a change.

    ``squares``: sum of squares of the innovations, and ``logarithms``: log factors of the likelihood, for each of
    :data:`CORRELATIONS`; ``freedom``: degrees of freedom of the squares.
    """

    squares: _Floats
    logarithms: _Floats
    freedom: int

    @classmethod
    def unknown(cls) -> Noise:
        """Return the state without any values."""
        return cls(np.zeros_like(_RHO), np.zeros_like(_RHO), 0)

    def after(self, values: _Floats, resolution: float) -> Noise:
        """Return the information including a further stretch of values with a constant level."""
        part = _Whitened(values, resolution)
        return Noise(self.squares + part.squares, self.logarithms + part.logarithm, self.freedom + part.freedom)


def log_odds(values: _Floats, known: Noise, resolution: float, deviation: float = 0.0) -> _Floats:
    """Return the logarithm of the odds of a step, for each split with at least :data:`MIN_SEGMENT` values per side.

    The first is the split before ``values[MIN_SEGMENT]``. ``known``: the noise of previous stretches; ``resolution``:
    difference up to which values count as equal, in their unit; ``deviation``: known lower limit of the standard
    deviation of runs. If all values are equal, all log odds are minus infinity.
    """
    part = _Whitened(values, resolution)
    x, n = part.values, len(values)
    places = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    if np.ptp(x) == 0:
        return np.full(len(places), -np.inf)
    freedom = known.freedom + part.freedom
    least = freedom * deviation**2 * _FRESH
    squares = np.maximum(known.squares + part.squares, least)
    factor = _PRIOR + known.logarithms + part.logarithm
    half = freedom / 2

    def explained(product: _Floats, size: _Floats, precisions: _Floats) -> _Floats:
        left = known.squares + part.squares - product**2 / (size + precisions)
        left = np.maximum(left, np.maximum(least, _ROUNDING * squares))
        each = factor + np.log(precisions / (size + precisions)) / 2 - half * np.log(left)
        return _sum_of_logarithms(each.reshape(-1, len(places))) - math.log(len(precisions))

    later = x[::-1].cumsum()[::-1][places]
    number = n - places
    innovation = x[places] - _RHO * x[places - 1]
    step = innovation + _LOSS * (later - x[places] - _RHO * (later - x[-1]))
    along = _LOSS + (number - 1) * _LOSS**2
    step_size = 1 + (number - 1) * _LOSS**2 - along**2 / part.weight
    nothing = _sum_of_logarithms(factor - half * np.log(squares))
    change = explained(step - along * part.level / part.weight, step_size, _OF_STEP)
    shock = explained(
        innovation - _LOSS * part.level / part.weight,
        1 - _LOSS**2 / part.weight,
        _OF_SHOCK,
    )
    odds: _Floats = change - np.logaddexp(nothing, shock) + math.log(2) - SHORT / np.minimum(places, number)
    return odds


def _sum_of_logarithms(powers: _Floats) -> _Floats:
    """Return the logarithm of the sum over rows of values given as logarithms."""
    greatest = powers.max(axis=0)
    total: _Floats = greatest + np.log(np.exp(powers - greatest).sum(axis=0))
    return total


class _Whitened:
    """Statistics of the innovations of a stretch of values for each correlation, without its level."""

    def __init__(self, values: _Floats, resolution: float) -> None:
        x = _winsorized(values)
        x = x - x.mean()
        n, first, last = len(x), x[0], x[-1]
        own, neighbours = float(x @ x), float(x[1:] @ x[:-1])
        total = _FRESH * first**2 + (own - first**2) - 2 * _RHO * neighbours + _RHO**2 * (own - last**2)
        self.values = x
        self.freedom = n - 1
        self.weight = _FRESH + (n - 1) * _LOSS**2
        self.level = _FRESH * first + _LOSS * (_RHO * last - first)
        blur = resolution + _ROUNDING * float(np.abs(values).max())
        self.squares = np.maximum(total - self.level**2 / self.weight, 0) + self.freedom * blur**2
        self.logarithm = np.log(_FRESH / self.weight) / 2


def _winsorized(values: _Floats) -> _Floats:
    middle = _median(values)
    reach = FAR * _NORMAL * _median(np.abs(values - middle))
    # If most values are equal, the robust deviation is 0 and can't define outliers.
    moved: _Floats = np.clip(values, middle - reach, middle + reach)
    return moved if reach > 0 else values


def _median(values: _Floats) -> float:
    # Faster than numpy.median for few values; a history computes thousands of medians.
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
