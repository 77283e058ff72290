"""Elasticities: the share of a transaction's time that depends on a resource, measured by slowing the resource down.

Each round measures the cell unchanged (the baseline) and once per size of the change. A change of size ``x`` makes each
call take ``1 + x`` times as long; the transaction then takes ``1 + y`` times as long. The slope of y over x estimates
``-d ln rate / d ln s`` at the current duration ``s`` of a call. It is the share of a transaction's time that would
disappear if the calls took no time and no hidden work took their place. Coz (Curtsinger and Berger 2015,
doi:10.1145/2815400.2815409) estimates the same for lines of a program, by slowing down all other lines.

``1 + y`` is a geometric mean over the rounds, so a round with a fast baseline weighs as much as one with a slow
baseline. The line passes through the origin (the baseline); its slope is ``Σ x·y / Σ x²`` (Seber and Lee 2003, Linear
Regression Analysis, section 6.2). The interval is the t interval of the jackknife's pseudo-values, one per round
(Miller 1974, doi:10.1093/biomet/61.1.1). The sizes of a round share one baseline, so only rounds count as replicates.

A slope is bounded below, because a call can't take less than no time. Slopes near that bound differ little between
rounds, and a plain interval would be too narrow. The interval is therefore computed for ``ln(1 + X·slope)`` (Miller,
section 8, on transformations), with X = ``Σ x² / Σ x``. The argument of the logarithm is then
``Σ x·(1 + y) / Σ x``, which is positive. For a single size, this is the interval of a ratio of rates.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from dbdyno.stats.intervals import CONFIDENCE, Noise, Ratio, error_of, t_quantile

ResourceVerdict = Literal["bottleneck", "part", "not", "inconclusive"]

#: Thresholds of an elasticity's interval. Lower end >= MAIN: possibly the bottleneck; > SOME: a part of the time.
#: Upper end < LITTLE: irrelevant.
MAIN, SOME, LITTLE = 0.5, 0.05, 0.1

#: Slowing a resource down hardly makes a load faster. An interval that extends below this value is mostly noise and
#: doesn't show that a resource is irrelevant.
_MIN_INTERVAL_END = -MAIN

# exp() of a larger number overflows a float.
_MAX_EXPONENT = 700.0

# Slopes of two sizes agree if they differ by at most this share, or by at most this absolute amount.
_RELATIVE_TOLERANCE, _ABSOLUTE_TOLERANCE = 0.25, 0.05

#: By round, one point per size: the relative increase x of a call's duration, and ``ln(1 + y)`` of the transaction's.
Points = Mapping[int, Sequence[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope over all rounds, with its interval. ``values``: the pseudo-value of each round.

    ``sizes``: the slope for each size alone. ``linear``: whether these agree; if not, ``mean`` is the slope of the
    smallest size. ``of_base``: the derivative of the slope with respect to the logarithm of the baseline's rate.
    ``of_sizes``: the sum of the squared derivatives with respect to the sizes' rates. ``logs``: the pseudo-values of
    ``ln(1 + unit·slope)`` from which the interval is computed; empty if it is computed from ``values``.
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
        """The pseudo-values from which the interval is computed."""
        return self.logs or self.values

    def interval(
        self, confidence: float = CONFIDENCE, noise: Noise | None = None, base: float = 1.0
    ) -> tuple[float, float] | None:
        """Return the t interval over rounds, or None for fewer than two rounds or identical pseudo-values.

        ``noise``: the noise of a trial, estimated from all cells of the run. ``base``: the variance of the baseline as
        a multiple of one trial's; less than 1 if a round has several baseline trials.
        """
        ends = interval_of(self.compared, confidence, noise, self._scale(base))
        if ends is not None and self.logs:
            low, high = (math.expm1(min(end, _MAX_EXPONENT)) / self.unit for end in ends)
            ends = low, high
        # The interval is centered on the mean of the pseudo-values, which has less bias than the reported slope. Widen
        # it if necessary so that it contains the slope.
        return None if ends is None else (min(ends[0], self.mean), max(ends[1], self.mean))

    def _scale(self, base: float) -> float:
        """Return the standard deviation of :attr:`compared` as a multiple of that of a trial's log rate.

        A first-order approximation (the delta method) that ignores the uncertainty of x.
        """
        own = math.sqrt(self.of_base**2 * base + self.of_sizes)
        return own * self.unit / math.exp(_longer(self.unit * self.mean)) if self.logs else own


def interval_of(
    values: Sequence[float], confidence: float = CONFIDENCE, noise: Noise | None = None, scale: float = 1.0
) -> tuple[float, float] | None:
    """Return the t interval of a mean over rounds, widened for correlation between neighboring rounds.

    The same as in :func:`dbdyno.stats.intervals.ratio_of`, but without logarithms; ``noise`` and ``scale`` have the
    same meaning. Returns None for fewer than two values and for identical values, which don't show an error.
    """
    if len(values) <= 1:
        return None
    error, freedom = error_of(values, noise, scale)
    if error == 0:
        return None
    reach = t_quantile((1 + confidence) / 2, freedom) * error
    return fmean(values) - reach, fmean(values) + reach


def slope(points: Points, confidence: float = CONFIDENCE, *, of_logarithms: bool = False) -> Slope | None:
    """Return the slope of a line through the origin, or None if no round has a size.

    ``points``: sizes are in the same order in each round, the smallest first. If the slope of a larger size differs
    from the smallest size's by more than a quarter, and significantly, the response is not linear. Then only the
    smallest size is used, which is closest to the effect of a small change. ``of_logarithms``: x is a logarithm too
    (for sizes such as one half), and the slope is a slope of logarithms.
    """
    blocks = [points[block] for block in sorted(points) if points[block] and all(x != 0 for x, _ in points[block])]
    if not blocks:
        return None
    sizes = min(map(len, blocks))
    own = [_fits([[block[size]] for block in blocks], of_logarithms=of_logarithms) for size in range(sizes)]
    linear = all(_agree(own[0], other, confidence, sizes - 1) for other in own[1:])
    if not linear:
        blocks = [block[:1] for block in blocks]
    fits = _fits(blocks, of_logarithms=of_logarithms)
    pulls = _pulls(blocks, of_logarithms=of_logarithms)
    squares = sum(pull * pull for pull in pulls)
    unit = 0.0 if of_logarithms else _unit(blocks)
    logs = _pseudo_values([_longer(unit * fit) for fit in fits]) if unit else ()
    return Slope(fits[0], _pseudo_values(fits), tuple(each[0] for each in own), linear, sum(pulls), squares, logs, unit)


def _unit(blocks: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Return X of ``ln(1 + X·slope)``: the smallest ``Σ x² / Σ x`` over all rounds and over all but one of them.

    With the smallest, the argument of every logarithm is positive. Returns 0 if a size makes calls shorter.
    """
    sizes = [[x for x, _ in _means(part, of_logarithms=False)] for part in _parts(blocks)]
    if any(x <= 0 for each in sizes for x in each):
        return 0.0
    return min(sum(x * x for x in each) / sum(each) for each in sizes)


def _longer(share: float) -> float:
    """Return ``ln(1 + share)``, bounded below so that a share rounded to -1 doesn't give minus infinity."""
    return math.log1p(max(share, -1 + sys.float_info.epsilon))


def _parts(blocks: Sequence[Sequence[tuple[float, float]]]) -> list[Sequence[Sequence[tuple[float, float]]]]:
    """Return all rounds, then all but one, for each round (the jackknife). A single round is returned alone."""
    without = [[*blocks[:at], *blocks[at + 1 :]] for at in range(len(blocks))]
    return [blocks, *without] if len(blocks) > 1 else [blocks]


def _pulls(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> list[float]:
    """Return the derivative of the slope with respect to the y of each size."""
    means = _means(blocks, of_logarithms=of_logarithms)
    below = sum(x * x for x, _ in means)
    return [x * (1.0 if of_logarithms else math.exp(min(y, _MAX_EXPONENT))) / below for x, y in means]


def _fits(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> list[float]:
    """Return the slope over all rounds, then the slope without each round."""
    return [_fitted(each, of_logarithms=of_logarithms) for each in _parts(blocks)]


def _pseudo_values(estimates: Sequence[float]) -> tuple[float, ...]:
    """Return the jackknife pseudo-values ``n·s - (n - 1)·s_without_i`` of the estimates from :func:`_fits`."""
    whole, *without = estimates
    count = len(without)
    return tuple(count * whole - (count - 1) * each for each in without) or (whole,)


def _fitted(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> float:
    """Return the least-squares slope through the means of each size."""
    above = below = 0.0
    for x, y in _means(blocks, of_logarithms=of_logarithms):
        above += x * (y if of_logarithms else math.expm1(min(y, _MAX_EXPONENT)))
        below += x * x
    return above / below


def _means(blocks: Sequence[Sequence[tuple[float, float]]], *, of_logarithms: bool) -> list[tuple[float, float]]:
    """Return the mean x and y of each size over the rounds."""
    means = []
    for size in zip(*blocks, strict=False):
        # A slow phase of the device multiplies the durations of calls and transactions, so average logarithms.
        sign = math.copysign(1.0, size[0][0])
        x = fmean(x for x, _ in size) if of_logarithms else sign * math.exp(fmean(math.log(abs(x)) for x, _ in size))
        means.append((x, fmean(each for _, each in size)))
    return means


def _agree(smallest: Sequence[float], other: Sequence[float], confidence: float, tested: int) -> bool:
    """Whether the slopes of two sizes (from :func:`_fits`) differ little, or not significantly."""
    if abs(other[0] - smallest[0]) <= max(_RELATIVE_TOLERANCE * abs(smallest[0]), _ABSOLUTE_TOLERANCE):
        return True
    apart = [theirs - own for own, theirs in zip(_pseudo_values(smallest), _pseudo_values(other), strict=True)]
    ends = interval_of(apart, 1 - (1 - confidence) / max(tested, 1))
    return ends is None or ends[0] <= 0 <= ends[1]


def saved(ratio: Ratio) -> tuple[float, tuple[float, float] | None]:
    """Return the share of a transaction's time that a change saved, with its interval: ``1 - 1 / ratio`` of rates.

    If the change makes a resource free, this equals its elasticity, so both can be ranked together.
    """
    ends = None if ratio.low is None or ratio.high is None else (1 - 1 / ratio.low, 1 - 1 / ratio.high)
    return 1 - 1 / ratio.mean, ends


def verdict(ends: tuple[float, float] | None) -> ResourceVerdict:
    """Return the verdict on a share of a transaction's time from its interval.

    ``bottleneck``: a candidate; the largest candidate is the bottleneck. A share of 0.5 means a gain of 2x.
    """
    if ends is None:
        return "inconclusive"
    low, high = ends
    if low >= MAIN:
        return "bottleneck"
    if low > SOME:
        return "part"
    return "not" if high < LITTLE else "inconclusive"


def verdict_of_slower(ends: tuple[float, float] | None) -> ResourceVerdict:
    """Return :func:`verdict` of an elasticity's interval, but inconclusive instead of "not" if it shows only noise."""
    said = verdict(ends)
    return "inconclusive" if said == "not" and ends is not None and ends[0] < _MIN_INTERVAL_END else said
