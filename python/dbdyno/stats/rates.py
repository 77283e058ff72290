"""Mean rate over rounds, and the ratio of two cells' rates, for few or many transactions per round.

A round's rate is the number of completed transactions divided by the time they took. With few transactions per window,
that time differs between rounds. Rounds are therefore combined with a ratio estimator (Cochran 1977, Sampling
Techniques, ch. 6). With rates ``x_i`` and times ``w_i``, the rate is ``R = Σ w_i·x_i / Σ w_i``, and round i contributes
``e_i = (x_i / R - 1)·w_i / mean(w)`` to the error of ``ln R``. With equal times, this is the plain mean.

A mean of logarithms would be biased. With few transactions, the logarithm of a rate is too small by half the square of
its coefficient of variation on average, and that differs between cells.

With few transactions, a few rounds can agree by chance. If a window contains fewer than a hundred, the standard error
is therefore at least that of independent durations with the observed variation: the coefficient of variation divided by
the square root of their number. With more transactions, the spread between rounds is the better estimate. Periodic
events such as checkpoints make durations differ, although windows agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.stats.intervals import CONFIDENCE, Interval, Noise, Ratio, ratio_of, welch

Rates = Mapping[int, "Rate"]
"""Rates by round; a round without a rate is missing."""


FEW = 100
"""Below this number of transactions per window, their own variation bounds the standard error."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A round's rate: ``value`` per second (positive), measured over ``time`` client seconds.

    ``count``, ``seconds``, ``squares``: number of transactions, sum of their durations, and sum of the squared
    durations; 0 if unknown. ``resolution``: the relative error due to transactions cut by the ends of the window.
    ``other``: a second estimate of the rate that is valid under other conditions, as a multiple of ``value``.
    """

    value: float
    time: float = 1.0
    count: int = 0
    seconds: float = 0.0
    squares: float = 0.0
    resolution: float = 0.0
    other: float = 1.0


def pooled(rates: Sequence[Rate]) -> float:
    """Return the combined rate of several rounds, ``Σ w_i·x_i / Σ w_i``. Raises ValueError without rounds."""
    if not rates:
        raise ValueError("a rate needs at least one round")
    return sum(rate.value * rate.time for rate in rates) / sum(rate.time for rate in rates)


def merged_rate(rates: Sequence[Rate]) -> Rate:
    """Merge several rates into one with their total time and count. Raises ValueError without rates."""
    value, time = pooled(rates), sum(rate.time for rate in rates)
    return Rate(
        value,
        time,
        sum(rate.count for rate in rates),
        sum(rate.seconds for rate in rates),
        sum(rate.squares for rate in rates),
        max(rate.resolution for rate in rates),
        sum(rate.value * rate.other * rate.time for rate in rates) / (value * time),
    )


def rate_interval(rates: Sequence[Rate], confidence: float = CONFIDENCE) -> Interval:
    """Return the rate of several rounds with its interval, ``R · exp(± t(n-1) · s(e) / sqrt(n))``.

    A single round has no interval, and identical rounds don't either. Raises ValueError without rounds.
    """
    rate = pooled(rates)
    if len(rates) <= 1:
        return Interval(rate, None, None, len(rates))
    ratio = ratio_of(_errors(rates), confidence, least=sampling_error(rates))
    if ratio is None or ratio.low is None or ratio.high is None:
        return Interval(rate, None, None, len(rates))
    wide = (1 + max(each.resolution for each in rates)) * math.exp(abs(_apart(rates)))
    return Interval(rate, rate * ratio.low / wide, rate * ratio.high * wide, len(rates))


def paired_rates(
    a: Rates,
    b: Rates,
    confidence: float = CONFIDENCE,
    noise: Noise | None = None,
    scale: float = math.sqrt(2),
) -> Ratio | None:
    """Return ``b / a`` with its interval, from the common rounds, or None without a common round.

    ``R_b / R_a · exp(± t(n-1) · s(e_b - e_a) / sqrt(n))``: a disturbance of a round that affects both rates cancels.
    ``b / a`` and ``a / b`` are exact reciprocals. ``noise`` and ``scale``: see
    :func:`dbdyno.stats.intervals.ratio_of`.
    """
    if not a.keys() & b.keys():
        return None
    least, blunt = paired_errors(a, b)
    return ratio_of(block_values(a, b), confidence, least=least, blunt=blunt, noise=noise, scale=scale)


def paired_errors(a: Rates, b: Rates) -> tuple[float, float]:
    """Return ``(least, blunt)`` of ``ln(R_b / R_a)``: the lower bound of its standard error, and the shared error."""
    rates_a, rates_b = _common_rounds(a, b)
    return math.hypot(sampling_error(rates_a), sampling_error(rates_b)), _blunt(rates_a, rates_b)


def unpaired_rates(
    a: Sequence[Rate],
    b: Sequence[Rate],
    confidence: float = CONFIDENCE,
    between: tuple[float, float] | None = None,
) -> Ratio | None:
    """Return ``b / a`` of two sides that share no rounds: Welch's t interval (:func:`dbdyno.stats.welch`).

    Drift between the two sides is part of the result. ``between``: the known size of that drift, as the standard
    deviation of log rates between runs and its degrees of freedom. None if a side has no rounds.
    """
    if not a or not b:
        return None
    sides = [[math.log(pooled(side)) + error for error in _errors(side)] for side in (a, b)]
    return welch(
        sides[0],
        sides[1],
        confidence=confidence,
        least=(sampling_error(a), sampling_error(b)),
        blunt=_blunt(a, b),
        between=between,
    )


def block_values(a: Rates, b: Rates) -> list[float]:
    """Return each common round's value of ``ln(R_b / R_a)``. Their mean estimates it; their spread gives the error."""
    rates_a, rates_b = _common_rounds(a, b)
    if not rates_a:
        return []
    ratio = math.log(pooled(rates_b) / pooled(rates_a))
    return [ratio + theirs - ours for ours, theirs in zip(_errors(rates_a), _errors(rates_b), strict=True)]


def _common_rounds(a: Rates, b: Rates) -> tuple[list[Rate], list[Rate]]:
    rounds = sorted(a.keys() & b.keys())
    return [a[number] for number in rounds], [b[number] for number in rounds]


def own_values(rates: Rates) -> dict[int, float]:
    """Return each round's value of ``ln R`` for a single cell, in the order of rounds."""
    own = [rates[block] for block in sorted(rates)]
    if not own:
        return {}
    return {block: math.log(pooled(own)) + error for block, error in zip(sorted(rates), _errors(own), strict=True)}


def own_errors(rates: Rates) -> float:
    """Return the lower bound of the standard error of ``ln R`` for a single cell, with the error of cut windows."""
    own = list(rates.values())
    cut = math.log1p(max(rate.resolution for rate in own)) + abs(_apart(own))
    return math.hypot(sampling_error(own), cut)


def sampling_error(rates: Sequence[Rate]) -> float:
    """Return the relative standard error that a small number of transactions causes.

    ``c · sqrt((n + 1) / (n - 1) / n)``, where c is the coefficient of variation of n durations. The factor corrects the
    bias of c for exponentially distributed durations. Returns 0 for windows of :data:`FEW` or more transactions, and
    for unknown durations.
    """
    number = sum(rate.count for rate in rates)
    seconds, squares = sum(rate.seconds for rate in rates), sum(rate.squares for rate in rates)
    if number == 0 or seconds <= 0 or number >= FEW * len(rates):
        return 0.0
    if number == 1:
        return 1.0
    variation = max(number * squares / seconds**2 - 1, 0.0)
    return math.sqrt(variation * (number + 1) / (number - 1) / number)


def _errors(rates: Sequence[Rate]) -> list[float]:
    rate = pooled(rates)
    time = sum(each.time for each in rates) / len(rates)
    return [(each.value / rate - 1) * each.time / time for each in rates]


def _blunt(a: Sequence[Rate], b: Sequence[Rate]) -> float:
    """Return the error of the logarithm of a ratio due to transactions cut by the ends of the windows.

    The two estimates of a rate differ for the same reasons on both sides, so only the difference of the sides counts.
    """
    return sum(math.log1p(max(rate.resolution for rate in side)) for side in (a, b)) + abs(_apart(b) - _apart(a))


def _apart(rates: Sequence[Rate]) -> float:
    """Return the logarithm of the second estimate of the rounds' rate divided by the first."""
    other = sum(rate.value * rate.other * rate.time for rate in rates)
    taken = sum(rate.value * rate.time for rate in rates)
    return math.log(other / taken) if other > 0 and taken > 0 else 0.0
