"""Noise of one value after another, drawn and not measured: of runs of a series, or of blocks of a run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
from numpy.typing import NDArray
from scipy.special import stdtrit

from dbdyno.stats import Stopping

Floats = NDArray[numpy.float64]

_BEFORE = 50
"""Values drawn before the first that counts, so that a series does not begin where its noise does."""


def _two_levels(share: float) -> Callable[[numpy.random.Generator, tuple[int, ...]], Floats]:
    def draw(random: numpy.random.Generator, shape: tuple[int, ...]) -> Floats:
        high = (random.random(shape) < share) - share
        return high / math.sqrt(share * (1 - share)) + 0.1 * random.standard_normal(shape)

    return draw


KINDS: dict[str, Callable[[numpy.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "t of 3": lambda random, shape: random.standard_t(3, shape) / math.sqrt(3),
    "lognormal": lambda random, shape: (random.lognormal(0, 1, shape) - math.exp(0.5)) / 2.161,
    "exponential": lambda random, shape: random.exponential(1, shape) - 1,
    "two levels, 10 %": _two_levels(0.1),
    "two levels, 30 %": _two_levels(0.3),
}
"""Independent noise of mean 0 and standard deviation 1."""


def lingering(kind: str, correlation: float, shape: tuple[int, ...], seed: int) -> Floats:
    """Draw noise of standard deviation 1 along the last axis whose neighbours correlate so much: AR(1)."""
    random = numpy.random.default_rng(seed)
    fresh = KINDS[kind](random, (*shape[:-1], shape[-1] + _BEFORE))
    made = numpy.empty_like(fresh)
    made[..., 0] = fresh[..., 0]
    for place in range(1, fresh.shape[-1]):
        made[..., place] = correlation * made[..., place - 1] + math.sqrt(1 - correlation**2) * fresh[..., place]
    return made[..., _BEFORE:]


def between_runs(series: int, count: int, seed: int, kind: str = "normal", correlation: float = 0.0) -> Floats:
    """Draw logarithms of runs (series, run) that differ by 10 % from one another, as their five rounds do by 3 %."""
    rounds: Floats = 0.03 * numpy.random.default_rng(seed).standard_normal((series, count, 5)).mean(axis=2)
    return 0.1 * lingering(kind, correlation, (series, count), seed) + rounds


def most(share: float, tries: int) -> float:
    """What a share of this size stays below in a simulation of so many tries, but for once in a thousand."""
    return share + 3.1 * math.sqrt(share * (1 - share) / tries)


_NEAR = 1.25


def looks(rule: Stopping, logs: Floats) -> list[list[int]]:
    """Give for each run the numbers of blocks after which it may end, by what each block says (run, block).

    Where Student's interval is a quarter wider than is asked for, one that is narrow enough would break any promise:
    there nobody needs to look, and most of a simulation's time goes into looking.
    """
    counts = numpy.arange(rule.minimum, rule.maximum + 1)
    sums, squares = (each.cumsum(axis=1)[:, counts - 1] for each in (logs, logs**2))
    error = numpy.sqrt((squares - sums**2 / counts).clip(0) / (counts - 1) / counts)
    near = stdtrit(counts - 1, (1 + rule.confidence) / 2) * error <= _NEAR * math.log1p(rule.target)
    near[:, -1] = True
    return [[int(each) for each in counts[run]] for run in near]
