"""Rates of rounds: their mean, and the ratio of two cells', where few or many transactions are behind them.

A round's rate is what was completed over the time that it took. With few transactions in a window that time differs
from round to round, so rounds are taken together as a ratio estimator (Cochran 1977, Sampling Techniques, ch. 6): of
rates ``x_i`` told from times ``w_i`` it is ``R = Σ w_i·x_i / Σ w_i``, and ``e_i = (x_i / R - 1)·w_i / mean(w)`` is what
round i adds to the error of ``ln R``. Where all times are the same, that is the mean and its deviations.

The mean of logarithms would not do here: of few transactions the logarithm of a rate is too small on average, by half
the square of its coefficient of variation, which is not the same for two cells whose transactions differ.

Of few transactions a few rounds can agree by chance. So where a window holds fewer than a hundred, the standard error
is never less than that of as many independent times as different as theirs: their coefficient of variation by the
square root of their number. Of more, the rounds tell it themselves, and better: what comes back at intervals, as
checkpoints, makes times differ and windows agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.stats.intervals import CONFIDENCE, Interval, Noise, Ratio, ratio_of, welch

Rates = Mapping[int, "Rate"]
"""The rate of each block (key) that gave one."""


FEW = 100
"""Transactions in a window, below which they are few."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A round's rate: ``value`` a second, above 0, told from a ``time`` in seconds (of a client).

    ``count``, ``seconds``, ``squares``: how many transactions it is told from, and the sums of their times and of the
    squares of these; 0 where that is not known. ``resolution``: by what share it may be off because of what the
    window's ends cut. ``other``: what another estimate, right under other conditions, comes to, as a multiple of it.
    """

    value: float
    time: float = 1.0
    count: int = 0
    seconds: float = 0.0
    squares: float = 0.0
    resolution: float = 0.0
    other: float = 1.0


def pooled(rates: Sequence[Rate]) -> float:
    """Return the rate of several rounds together, ``Σ w_i·x_i / Σ w_i``. ``ValueError`` without any."""
    if not rates:
        raise ValueError("a rate needs at least one round")
    return sum(each.value * each.time for each in rates) / sum(each.time for each in rates)


def merged_rate(rates: Sequence[Rate]) -> Rate:
    """Return several rates as one that is told from all of their times. ``ValueError`` without any."""
    value, time = pooled(rates), sum(each.time for each in rates)
    return Rate(
        value,
        time,
        sum(each.count for each in rates),
        sum(each.seconds for each in rates),
        sum(each.squares for each in rates),
        max(each.resolution for each in rates),
        sum(each.value * each.other * each.time for each in rates) / (value * time),
    )


def rate_interval(rates: Sequence[Rate], confidence: float = CONFIDENCE) -> Interval:
    """Return the rate of several rounds with its interval, ``R · exp(± t(n-1) · s(e) / sqrt(n))``.

    One round alone has none, nor have rounds that give no spread at all. ``ValueError`` without rounds.
    """
    rate = pooled(rates)
    if len(rates) < 2:
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
    """Return ``b / a`` with its intervals, from the blocks that both have. None without a common block.

    ``R_b / R_a · exp(± t(n-1) · s(e_b - e_a) / sqrt(n))``: what disturbs a block disturbs both of its rates alike.
    ``b / a`` and ``a / b`` are exact reciprocals. ``noise`` and ``scale``: as in
    :func:`dbdyno.stats.intervals.ratio_of`.
    """
    if not a.keys() & b.keys():
        return None
    least, blunt = paired_errors(a, b)
    return ratio_of(block_values(a, b), confidence, least=least, blunt=blunt, noise=noise, scale=scale)


def paired_errors(a: Rates, b: Rates) -> tuple[float, float]:
    """Return the least standard error of ``ln(R_b / R_a)`` over the common blocks, and what all may be off by alike."""
    blocks = sorted(a.keys() & b.keys())
    of_a, of_b = [a[block] for block in blocks], [b[block] for block in blocks]
    return math.hypot(sampling_error(of_a), sampling_error(of_b)), _blunt(of_a, of_b)


def unpaired_rates(
    a: Sequence[Rate],
    b: Sequence[Rate],
    confidence: float = CONFIDENCE,
    between: tuple[float, float] | None = None,
) -> Ratio | None:
    """Return ``b / a`` of rounds that have no block in common: Welch's t interval (:func:`dbdyno.stats.welch`).

    What drifts between the two is part of the result, and ``between`` says how much that is: the standard deviation of
    a run's logarithm from run to run, and its degrees of freedom. None without a round on either side.
    """
    if not a or not b:
        return None
    sides = [[math.log(pooled(side)) + error for error in _errors(side)] for side in (a, b)]
    return welch(sides[0], sides[1], confidence, (sampling_error(a), sampling_error(b)), _blunt(a, b), between)


def block_values(a: Rates, b: Rates) -> list[float]:
    """Return for each common block what it says of ``ln(R_b / R_a)``: their mean is that, their spread its error."""
    blocks = sorted(a.keys() & b.keys())
    of_a, of_b = [a[block] for block in blocks], [b[block] for block in blocks]
    if not blocks:
        return []
    ratio = math.log(pooled(of_b) / pooled(of_a))
    return [ratio + theirs - ours for ours, theirs in zip(_errors(of_a), _errors(of_b), strict=True)]


def own_values(rates: Rates) -> dict[int, float]:
    """Return for each block, in order, what it says of ``ln R``, of a cell by itself."""
    own = [rates[block] for block in sorted(rates)]
    if not own:
        return {}
    return {block: math.log(pooled(own)) + error for block, error in zip(sorted(rates), _errors(own), strict=True)}


def own_errors(rates: Rates) -> float:
    """Return the least standard error of ``ln R`` of a cell by itself: of few transactions, and of what ends cut."""
    own = list(rates.values())
    cut = math.log1p(max(each.resolution for each in own)) + abs(_apart(own))
    return math.hypot(sampling_error(own), cut)


def sampling_error(rates: Sequence[Rate]) -> float:
    """Return the standard error that few transactions of such different times leave, as a share of the rate.

    ``c · sqrt((n + 1) / (n - 1) / n)`` with the coefficient of variation c of n transactions, which of few is too
    small on average (the correction is that for exponential times). 0 where windows hold :data:`FEW` or more, and where
    nothing is known of them.
    """
    number = sum(each.count for each in rates)
    seconds, squares = sum(each.seconds for each in rates), sum(each.squares for each in rates)
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
    """Give by how much the logarithm of a ratio may be off because of what windows' ends cut.

    What makes the two estimates of a rate differ makes those of a like one differ alike, so their difference counts.
    """
    return sum(math.log1p(max(each.resolution for each in side)) for side in (a, b)) + abs(_apart(b) - _apart(a))


def _apart(rates: Sequence[Rate]) -> float:
    """Give the logarithm of the other estimate of the rounds' rate by the one taken."""
    other = sum(each.value * each.other * each.time for each in rates)
    taken = sum(each.value * each.time for each in rates)
    return math.log(other / taken) if other > 0 and taken > 0 else 0.0
