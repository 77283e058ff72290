"""Elasticities: how much of the time of a transaction a resource decides, from blocks in which it was made slower.

In a block the cell is measured as it is, and once with each size of a change: a call takes ``x`` times its time longer,
so that the time of a transaction grows from ``T`` to ``T·(1 + y)``. The slope of y over x is ``-d ln rate / d ln s`` at
what a call takes now, ``s``: the share of a transaction's time that would go if the calls took none, as long as nothing
that they hide takes its place. Coz (Curtsinger and Berger 2015, doi:10.1145/2815400.2815409) asks the same of a
program's lines, by slowing down all others.

The ratios ``1 + y`` are geometric means over the blocks, as all ratios are, so that a block in which the cell as it is
was fast by chance counts no more than one in which it was slow. The line goes through the cell as it is, the origin:
its slope is ``Σ x·y / Σ x²`` (Seber and Lee 2003, Linear Regression Analysis, section 6.2). How sure it is is told by
the jackknife (Miller 1974, doi:10.1093/biomet/61.1.1): by the t interval of its pseudo-values, one for each block. The
sizes of a block share the measurement of the cell as it is, so that blocks alone count.

A time can be many times as long, and no shorter than nothing, so a slope is bounded below: by chance low, it differs
little between blocks, and its own interval would be too narrow. The interval is therefore one of logarithms, ``ln (1 +
X·slope)``, with X a size. Section 8 of the source has such transformations. With X of ``Σ x² / Σ x`` the logarithm is
that of ``Σ x·(1 + y) / Σ x``, which is above 0. For one size it is the interval of a ratio of rates.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from dbdyno.stats.intervals import CONFIDENCE, Noise, Ratio, error_of, t_quantile

Verdict = Literal["bottleneck", "part", "not", "inconclusive"]

#: Of an elasticity: the lower end from which a resource may be the bottleneck, above which it is a part, and the upper
#: end below which it is neither.
MAIN, SOME, LITTLE = 0.5, 0.05, 0.1

#: The lower end from which an elasticity may be none. What is slower hardly makes a load faster, so that an interval
#: that reaches farther down tells of noise.
_LEAST = -MAIN

# A logarithm of which more than a number can hold would come.
_GREATEST = 700.0

# A size's slope may be off the smallest one's by this share of it, and by so much at all, and is alike.
_ALIKE, _ALIKE_AT_ALL = 0.25, 0.05

#: By block, a point for each size: by which multiple of its time a call takes longer, and the logarithm of how many
#: times as long a transaction takes.
Points = Mapping[int, Sequence[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope over all blocks, with its interval. ``values``: the pseudo-value of each block.

    ``sizes``: the slope of each size by itself; ``linear``: they agree. Where not, it is the slope of the smallest.
    ``of_base``, ``of_sizes``: by how much it changes with the logarithm of the rate of the cell as it is, and the sum
    of the squares of that for the sizes. ``logs``: the pseudo-values of ``ln (1 + unit·slope)``, by which its interval
    goes; none where it goes by the slope's own.
    """

    mean: float
    values: tuple[float, ...]
    sizes: tuple[float, ...]
    linear: bool
    of_base: float = 0.0
    of_sizes: float = 0.0
    logs: tuple[float, ...] = ()
    unit: float = 0.0

    @property
    def compared(self) -> tuple[float, ...]:
        """The values of blocks by which its interval goes."""
        return self.logs or self.values

    def interval(
        self, confidence: float = CONFIDENCE, noise: Noise | None = None, base: float = 1.0
    ) -> tuple[float, float] | None:
        """Return the t interval over blocks; None of fewer than two, or of blocks that all agree to the last digit.

        ``noise``: of a trial, as all cells of the run show it. ``base``: the variance of the cell as it is, of which
        there may be several trials, by that of one trial.
        """
        ends = interval_of(self.compared, confidence, noise, self._scale(base))
        if ends is not None and self.logs:
            low, high = (math.expm1(min(end, _GREATEST)) / self.unit for end in ends)
            ends = low, high
        # The mean of the pseudo-values has less bias; the slope that is told is to lie within its interval even so.
        return None if ends is None else (min(ends[0], self.mean), max(ends[1], self.mean))

    def _scale(self, base: float) -> float:
        """Return the standard deviation of :attr:`compared`, if that of the logarithm of a trial's rate is 1.

        It is of the first order, as the delta method has it, and leaves out what is uncertain of x.
        """
        own = math.sqrt(self.of_base**2 * base + self.of_sizes)
        return own * self.unit / math.exp(_longer(self.unit * self.mean)) if self.logs else own


def interval_of(
    values: Sequence[float], confidence: float = CONFIDENCE, noise: Noise | None = None, scale: float = 1.0
) -> tuple[float, float] | None:
    """Return the t interval of a mean over blocks, wider for neighbouring blocks that may be alike.

    As that of a ratio is (:func:`dbdyno.stats.intervals.ratio_of`), without the logarithms. None of fewer than two
    values, and of equal ones, which leave it unknown how sure the mean is. ``noise`` and ``scale``: as in
    ``ratio_of``.
    """
    if len(values) < 2:
        return None
    error, freedom = error_of(values, noise, scale)
    if error == 0:
        return None
    reach = t_quantile((1 + confidence) / 2, freedom) * error
    return fmean(values) - reach, fmean(values) + reach


def slope(points: Points, confidence: float = CONFIDENCE, *, of_logarithms: bool = False) -> Slope | None:
    """Return the slope of a line through the origin; None without a block that has a size.

    ``points``: the sizes come in the same order in each block, the smallest first. Where the slope of a larger size is
    off the smallest one's beyond chance, and by more than a quarter, what the change does is not in proportion to its
    size: then the smallest alone tells what a small change does. ``of_logarithms``: x is a logarithm too, as of a size
    that is a half, and the slope is that of logarithms.
    """
    blocks = [points[block] for block in sorted(points) if points[block] and all(x != 0 for x, _ in points[block])]
    if not blocks:
        return None
    sizes = min(map(len, blocks))
    own = [_fits([[block[size]] for block in blocks], of_logarithms=of_logarithms) for size in range(sizes)]
    linear = all(_alike(own[0], other, confidence, sizes - 1) for other in own[1:])
    if not linear:
        blocks = [block[:1] for block in blocks]
    fits = _fits(blocks, of_logarithms=of_logarithms)
    pulls = _pulls(blocks, of_logarithms=of_logarithms)
    squares = sum(each * each for each in pulls)
    unit = 0.0 if of_logarithms else _unit(blocks)
    logs = _pseudo_values([_longer(unit * each) for each in fits]) if unit else ()
    return Slope(fits[0], _pseudo_values(fits), tuple(each[0] for each in own), linear, sum(pulls), squares, logs, unit)


def _unit(blocks: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Return ``Σ x² / Σ x``, the least of it without one block: with each of these the logarithm is one above 0.

    0 where a size makes calls shorter, for which there is none.
    """
    sizes = [[x for x, _ in _means(part, of_logarithms=False)] for part in _parts(blocks)]
    if any(x <= 0 for each in sizes for x in each):
        return 0.0
    return min(sum(x * x for x in each) / sum(each) for each in sizes)


def _longer(share: float) -> float:
    """Return the logarithm of a time that is longer by a share of it; of one that is rounded to nothing, the least."""
    return math.log1p(max(share, -1 + sys.float_info.epsilon))


def _parts(blocks: Sequence[Sequence[tuple[float, float]]]) -> list[Sequence[Sequence[tuple[float, float]]]]:
    """Return all blocks, then those without each of them; the first alone where there is one block."""
    without = [[*blocks[:at], *blocks[at + 1 :]] for at in range(len(blocks))]
    return [blocks, *without] if len(blocks) > 1 else [blocks]


def _pulls(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> list[float]:
    """Return by how much the slope changes with y of each size, of the first order."""
    means = _means(blocks, of_logarithms=of_logarithms)
    below = sum(x * x for x, _ in means)
    return [x * (1.0 if of_logarithms else math.exp(min(y, _GREATEST))) / below for x, y in means]


def _fits(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> list[float]:
    """Return the slope over all blocks, then that without each."""
    return [_fitted(each, of_logarithms=of_logarithms) for each in _parts(blocks)]


def _pseudo_values(estimates: Sequence[float]) -> tuple[float, ...]:
    """Return ``n·s - (n - 1)·s`` without it for each of n blocks, from what :func:`_fits` returns."""
    whole, *without = estimates
    count = len(without)
    return tuple(count * whole - (count - 1) * each for each in without) or (whole,)


def _fitted(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> float:
    """Return the slope of least squares through the means of each size over some blocks."""
    above = below = 0.0
    for x, y in _means(blocks, of_logarithms=of_logarithms):
        above += x * (y if of_logarithms else math.expm1(min(y, _GREATEST)))
        below += x * x
    return above / below


def _means(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> list[tuple[float, float]]:
    """Return the mean x and y of each size over some blocks."""
    means = []
    for size in zip(*blocks, strict=False):
        # A device that is slow for a while makes calls and transactions longer alike: means are of logarithms.
        sign = math.copysign(1.0, size[0][0])
        x = fmean(x for x, _ in size) if of_logarithms else sign * math.exp(fmean(math.log(abs(x)) for x, _ in size))
        means.append((x, fmean(each for _, each in size)))
    return means


def _alike(smallest: Sequence[float], other: Sequence[float], confidence: float, tested: int) -> bool:
    """Whether two sizes' slopes, as :func:`_fits` returns them, agree: within chance, or well enough."""
    if abs(other[0] - smallest[0]) <= max(_ALIKE * abs(smallest[0]), _ALIKE_AT_ALL):
        return True
    apart = [theirs - own for own, theirs in zip(_pseudo_values(smallest), _pseudo_values(other), strict=True)]
    ends = interval_of(apart, 1 - (1 - confidence) / max(tested, 1))
    return ends is None or ends[0] <= 0 <= ends[1]


def saved(ratio: Ratio) -> tuple[float, tuple[float, float] | None]:
    """Return the share of a transaction's time that a change saved, ``1 - 1 / ratio`` of rates, with its interval.

    It is what an elasticity is where the change makes a resource free, so that both can be put in one order.
    """
    ends = None if ratio.low is None or ratio.high is None else (1 - 1 / ratio.low, 1 - 1 / ratio.high)
    return 1 - 1 / ratio.mean, ends


def verdict(ends: tuple[float, float] | None) -> Verdict:
    """Say what a share of a transaction's time is by its interval.

    ``bottleneck``: it may be the bottleneck, which the largest of them is. 0.5 is a gain of two times.
    """
    if ends is None:
        return "inconclusive"
    low, high = ends
    if low >= MAIN:
        return "bottleneck"
    if low > SOME:
        return "part"
    return "not" if high < LITTLE else "inconclusive"


def verdict_of_slower(ends: tuple[float, float] | None) -> Verdict:
    """Say what a resource is by the interval of its elasticity, as :func:`verdict` does; of noise alone, nothing."""
    said = verdict(ends)
    return "inconclusive" if said == "not" and ends is not None and ends[0] < _LEAST else said
