"""The noise of a trial, as all cells of a run show it together.

With five rounds the standard deviation of one comparison is hardly known, and its t quantile for twenty comparisons is
above 8. All cells of a run share a machine and its noise. The model is: the logarithm of a rate is that of its cell,
plus that of its round, plus an error with a variance of each cell's own. So the variance of each comparison is drawn
towards what the cells have in common, the more the more they agree: the moderated t statistic (Smyth 2004, "Linear
models and empirical Bayes methods for assessing differential expression", doi:10.2202/1544-6115.1027).

A comparison that is noisier than the others must not lose its noise among them. So what all have in common counts less,
the less probable the comparison's own variance is by it, as in the robust variant (Phipson et al. 2016,
doi:10.1214/16-AOAS920).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median, variance

from dbdyno.stats.intervals import Noise, correlation

LEAST_CELLS = 3
"""Fewer cells don't show how much of a difference is due to which of them."""

# Passes over a table in which values are missing; a full one needs two.
_PASSES = 20


def noise_of(cells: Sequence[Mapping[int, float]]) -> Noise | None:
    """Return the noise of trials, from the logarithm of each cell's figure by round; None of fewer than 3 cells.

    Rounds with fewer than three cells, and cells with fewer than two such rounds, are left out.
    """
    table = _table(cells)
    if len(table) < LEAST_CELLS:
        return None
    residuals = _residuals(table, [1.0] * len(table))
    squares = [_square(own) for own in residuals]
    # A cell that is much noisier than the others would add its noise to their residuals through the rounds' levels.
    middle = median(squares)
    if middle > 0:
        residuals = _residuals(table, [1 / (square + middle) for square in squares])
    found = [(square, len(own) - 1) for own in residuals if (square := _square(own)) > 0]
    if len(found) < LEAST_CELLS:
        return None
    square, freedom = _common(found)
    return Noise(math.sqrt(square), freedom, correlation(residuals, len(residuals) - 1))


def _square(residuals: Sequence[float]) -> float:
    return math.fsum(each * each for each in residuals) / (len(residuals) - 1)


def _table(cells: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    """Return the values of rounds with at least three cells, of cells with at least two such rounds."""
    counts = Counter(at for values in cells for at in values)
    rounds = sorted(at for at, count in counts.items() if count >= LEAST_CELLS)
    table = ({at: values[at] for at in rounds if at in values} for values in cells)
    return [own for own in table if len(own) > 1]


def _residuals(table: Sequence[Mapping[int, float]], weights: Sequence[float]) -> list[list[float]]:
    """Return what is left of each cell's values without the levels of cells and rounds, in the order of rounds.

    ``weights``: of the cells in the levels of rounds. A residual is made greater for the share of the cell in them.
    """
    rounds: dict[int, list[int]] = {}
    for place, values in enumerate(table):
        for at in values:
            rounds.setdefault(at, []).append(place)
    sums = {at: math.fsum(weights[place] for place in places) for at, places in rounds.items()}
    levels, of_rounds = [fmean(own.values()) for own in table], dict.fromkeys(rounds, 0.0)
    full = all(len(own) == len(rounds) for own in table)
    for _ in range(2 if full else _PASSES):
        for at, places in rounds.items():
            own_sum = math.fsum(weights[place] * (table[place][at] - levels[place]) for place in places)
            of_rounds[at] = own_sum / sums[at]
        levels = [fmean(value - of_rounds[at] for at, value in own.items()) for own in table]
    return [
        [
            (value - level - of_rounds[at]) / math.sqrt(1 - weight / sums[at]) if sums[at] > weight else 0.0
            for at, value in own.items()
        ]
        for own, level, weight in zip(table, levels, weights, strict=True)
    ]


def _common(found: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return the variance that the cells have in common, and the degrees of freedom that say how much of it.

    By the mean and the variance of ``ln s²`` (section 6.2 of Smyth), and no more degrees of freedom than the table has
    beside those of one comparison.
    """
    from scipy.special import digamma, polygamma

    halves = [freedom / 2 for _, freedom in found]
    logs = [
        math.log(square) - float(digamma(half)) + math.log(half)
        for (square, _), half in zip(found, halves, strict=True)
    ]
    apart = variance(logs) - fmean(float(polygamma(1, half)) for half in halves)
    most = (len(found) - 2) * fmean(freedom for _, freedom in found)
    freedom = min(2 * _inverse_trigamma(apart), most) if apart > 0 else most
    if freedom < most:
        return math.exp(fmean(logs) + float(digamma(freedom / 2)) - math.log(freedom / 2)), freedom
    # They differ by no more than chance makes them: the plain mean knows most.
    return fmean(square for square, _ in found), freedom


def _inverse_trigamma(value: float) -> float:
    """Return y with ``trigamma(y) = value``, by Newton's method on 1/trigamma (appendix of the source)."""
    from scipy.special import polygamma

    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    y = 0.5 + 1 / value
    for _ in range(50):
        at = float(polygamma(1, y))
        step = at * (1 - at / value) / float(polygamma(2, y))
        y += step
        if -step / y < 1e-8:
            break
    return y
