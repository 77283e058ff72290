"""How much better a stretch of runs is explained by a change of level than without one, noise that lingers allowed for.

The noise of runs is taken for an AR(1) process: each run's deviation is ``rho`` times that of the run before, and an
innovation of its own. A change is a **step**: from the run ``t`` on, the level is another one. Against it stand two
explanations without a change, of equal prior weight: **nothing** happened; or the run ``t`` had a **shock**, an
innovation out of the ordinary, which fades as the noise does. The shock is what makes a run that stands alone, and an
excursion of noise that lingers, unlike a change: a step stays. (Innovational outliers: Fox 1972, JRSS B 34(3).)

The answer is the logarithm of the ratio of marginal likelihoods (Bayes factor; Kass and Raftery 1995,
doi:10.1080/01621459.1995.10476572). With ``rho`` given, the values are whitened, ``z_1 = sqrt(1 - rho²)·x_1`` and
``z_i = x_i - rho·x_{i-1}``, and the rest is linear regression: the level has a flat prior, the innovations' variance
``s²`` has ``1/s²``, a step is normal around 0 with ``STEP`` times the variance of a run, a shock with ``SHOCK`` times
that of an innovation; each of two sizes, since one alone would hold great steps against themselves. With R the squares
left by the level alone, q the whitened regressor's squares (its part along the level's taken out), c its product with
the values, and λ the prior's precision in units of ``1/s²``,

    ln m = ½·ln((1 - rho²)/w) + ½·ln(λ/(q + λ)) - (n-1)/2·ln(R - c²/(q + λ)),

where w are the squares of the level's regressor. Where it was measured how much runs differ on a machine (``dbdyno
noise --runs``), no squares are taken for less than that deviation explains. ``rho`` is not known, and of few runs
cannot be estimated: estimates are too low by about ``(1 + 4·rho)/n`` (Marriott and Pope 1954,
doi:10.1093/biomet/41.3-4.390) and uncertain by ``1/sqrt(n)``. So nothing is estimated: m is averaged over
``CORRELATIONS``, the greater ones being less likely beforehand. Of a handful of runs, that leaves the possibility open
that their noise lingers; of many, the runs themselves decide.

Few runs that differ from the others are more often an excursion than a change: a step whose shorter side has ``m`` runs
is ``SHORT/m`` less likely beforehand, on the logarithm.

Before all that, values further from the median than ``FAR`` robust standard deviations are moved to that distance
(winsorized; 1.4826 times the median absolute deviation, as in the modified z score of Iglewicz and Hoaglin 1993), so
that a single run says no more than that it is far off, and heavy tails do not pass for changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST = 3
"""Runs on either side of a change. Two outliers beside one another are too common: where one run in twenty is one, a
hundred runs hold two beside one another in one series of five."""

CORRELATIONS = np.arange(8) / 10
"""The correlations of neighbouring runs that are thought possible. Negative ones would make changes easier to see."""

_WEIGHTS = np.linspace(1.0, 0.15, len(CORRELATIONS))
LIKELY = _WEIGHTS / _WEIGHTS.sum()
"""How likely each of them is beforehand."""

STEP = (10.0, 1000.0)
"""The prior variances of a step, in variances of a run, each as likely: what is looked for is of any size."""

SHOCK = (30.0, 3000.0)
"""The prior variances of a shock, in variances of an innovation, each as likely."""

SHORT = 18.0
"""By how much the logarithm of the odds is less for a step with one run on its shorter side; it falls as their number
grows."""

FAR = 3.0
"""Robust standard deviations from the median at which a value is as far as any."""

_NORMAL = 1.4826
_ROUNDING = 1e-12

_Floats = NDArray[np.float64]

# A row for each correlation; the columns are the places of a split.
_RHO: _Floats = CORRELATIONS[:, None]
_LOSS: _Floats = 1 - _RHO
_FRESH: _Floats = 1 - _RHO**2
_PRIOR: _Floats = np.log(LIKELY)[:, None]

# The prior precisions, in units of the innovations': a layer for each size.
_OF_STEP: _Floats = np.stack([_FRESH / each for each in STEP])
_OF_SHOCK: _Floats = np.stack([np.full_like(_RHO, 1 / each) for each in SHOCK])


@dataclass(frozen=True, slots=True)
class Noise:
    """What stretches with a level of their own told of the noise.

    ``squares`` of the innovations and ``logarithms`` of the likelihood's factors, for each of :data:`CORRELATIONS`;
    ``freedom``: the degrees of freedom of the squares.
    """

    squares: _Floats
    logarithms: _Floats
    freedom: int

    @classmethod
    def unknown(cls) -> Noise:
        """Return what is known before there was anything."""
        return cls(np.zeros_like(_RHO), np.zeros_like(_RHO), 0)

    def after(self, values: _Floats, resolution: float) -> Noise:
        """Return what is known with a further stretch of values of one level."""
        part = _Whitened(values, resolution)
        return Noise(self.squares + part.squares, self.logarithms + part.logarithm, self.freedom + part.freedom)


def log_odds(values: _Floats, known: Noise, resolution: float, deviation: float = 0.0) -> _Floats:
    """Return the logarithm of the odds of a step, for each split with :data:`LEAST` values or more on either side.

    The first is the split before ``values[LEAST]``. ``known``: the noise of stretches before; ``resolution``: what
    values may differ by and be the same, in their unit; ``deviation``: the least standard deviation that runs are known
    to have. Values without any spread have no step: minus infinity.
    """
    part = _Whitened(values, resolution)
    x, n = part.values, len(values)
    places = np.arange(LEAST, n - LEAST + 1)
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
    """Return the logarithms of the sums of what rows of logarithms stand for."""
    greatest = powers.max(axis=0)
    total: _Floats = greatest + np.log(np.exp(powers - greatest).sum(axis=0))
    return total


class _Whitened:
    """A stretch of values as innovations, for each correlation, with its level taken out."""

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
    # Where most values are the same, nobody knows what far is.
    moved: _Floats = np.clip(values, middle - reach, middle + reach)
    return moved if reach > 0 else values


def _median(values: _Floats) -> float:
    # Of few values it is found sooner so than by numpy.median, and a history asks for it thousands of times.
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
