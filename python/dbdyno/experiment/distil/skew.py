"""Estimate from a sample how unevenly values are used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_FEWEST = 50
_GREATEST = 5.0
_SUMMED = 200
# Exponents for which sums are computed; those between are interpolated.
_GRID = 401
_RESAMPLES = 60
# A smaller exponent is hardly different from equal use.
_LEAST = 0.1


@dataclass(frozen=True)
class Skew:
    """The exponent of a zipf distribution with the same probability that two uses have the same value.

    ``low``, ``high``: a 95% interval, by resampling.
    """

    exponent: float
    low: float
    high: float


def distinct_values(counts: Sequence[int]) -> int:
    """Estimate the number of distinct values, including those that weren't used (Chao's estimator)."""
    used = Counter(counts)
    return len(counts) + round(used[1] * (used[1] - 1) / (2 * (used[2] + 1)))


def fitted_skew(counts: Sequence[int], distinct: int) -> Skew | None:
    """Fit the skew of values that were used ``counts`` times; ``distinct``: how many there are in all.

    Return None if they are used about equally, or if there are too few uses.
    """
    used = np.asarray(counts, dtype=np.int64)
    if used.sum() < _FEWEST or distinct <= 1:
        return None
    random = np.random.default_rng(1)
    exponent = _exponent(_same(used), distinct)
    # Resampling adds its own variance to the counts: as many pairs as there are uses.
    added = int(used.sum())
    resampled = sorted(_exponent(_same(random.poisson(used), added), distinct) for _ in range(_RESAMPLES))
    low, high = resampled[round(0.025 * _RESAMPLES)], resampled[-1 - round(0.025 * _RESAMPLES)]
    if exponent < _LEAST or low < _LEAST / 2:
        return None
    return Skew(exponent, min(low, exponent), max(high, exponent))


def exponent_of(counts: Sequence[int], distinct: int) -> float:
    """Return the exponent of a zipf distribution over ``distinct`` values with as many equal pairs as in a sample."""
    return _exponent(_same(np.asarray(counts, dtype=np.int64)), distinct)


def _same(used: NDArray[np.int64], added: int = 0) -> float:
    """Estimate the probability that two uses have the same value, without bias. ``added``: pairs to leave out."""
    total = int(used.sum())
    return float((used * (used - 1)).sum() - added) / max(total * (total - 1), 1)


def _exponent(same: float, distinct: int) -> float:
    """Return the exponent with which two draws of a zipf distribution are equal with this probability."""
    if same <= 1 / distinct:
        return 0.0
    exponents, equal = _equal_draws(distinct)
    return float(np.interp(math.log(same), equal, exponents))


@lru_cache(maxsize=256)
def _equal_draws(distinct: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return exponents, and for each the logarithm of the probability that two draws are equal."""
    exponents = np.linspace(0, _GREATEST, _GRID)
    return exponents, np.log(_harmonic(distinct, 2 * exponents)) - 2 * np.log(_harmonic(distinct, exponents))


def _harmonic(distinct: int, exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of k^-exponent for k up to ``distinct``; beyond some terms, an integral."""
    first = min(distinct, _SUMMED)
    total = np.asarray((np.arange(1, first + 1, dtype=float) ** -exponents[:, None]).sum(axis=1))
    if distinct > first:
        a, b = first + 0.5, distinct + 0.5
        one = np.isclose(exponents, 1)
        power = np.where(one, 2, 1 - exponents)
        total += np.where(one, math.log(b / a), (b**power - a**power) / power)
    return total
