"""Estimate the noise of a trial from all cells of a run.

With five rounds, the standard deviation of a single comparison is poorly known, and the t quantile for twenty
comparisons exceeds 8. But all cells of a run share a machine and its noise. The model: a trial's log rate is the sum of
a cell effect, a round effect, and an error whose variance depends on the cell. The variance of each comparison is
shrunk towards the common variance; the better the cells agree, the more. This is the moderated t statistic (Smyth 2004,
"Linear models and empirical Bayes methods for assessing differential expression", doi:10.2202/1544-6115.1027).

A comparison that is noisier than the others must stay noisy. The common variance therefore gets less weight if the
comparison's own variance is improbable under it, as in the robust variant (Phipson et al. 2016,
doi:10.1214/16-AOAS920).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median, variance

from dbdyno.stats.intervals import Noise, correlation

MIN_CELLS = 3
"""With fewer cells, a difference can't be attributed to one of them."""

# Iterations for a table with missing values; a complete table needs two.
_PASSES = 20


def noise_of(cells: Sequence[Mapping[int, float]]) -> Noise | None:
    """Return the noise of a trial from each cell's log rate by round, or None for fewer than 3 cells.

    Ignores rounds with fewer than three cells, and cells with fewer than two such rounds.
    """
    table = _table(cells)
    if len(table) < MIN_CELLS:
        return None
    residuals = _residuals(table, [1.0] * len(table))
    squares = [_square(own) for own in residuals]
    # Weight the cells, or a very noisy cell would add its noise to the others' residuals through the round effects.
    middle = median(squares)
    if middle > 0:
        residuals = _residuals(table, [1 / (square + middle) for square in squares])
    found = [(square, len(own) - 1) for own in residuals if (square := _square(own)) > 0]
    if len(found) < MIN_CELLS:
        return None
    square, freedom = _common(found)
    return Noise(math.sqrt(square), freedom, correlation(residuals, len(residuals) - 1))


def _square(residuals: Sequence[float]) -> float:
    return math.fsum(residual * residual for residual in residuals) / (len(residuals) - 1)


def _table(cells: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    """Return the values by cell and round, without rounds of too few cells and cells of too few rounds."""
    counts = Counter(at for values in cells for at in values)
    rounds = sorted(at for at, count in counts.items() if count >= MIN_CELLS)
    table = ({at: values[at] for at in rounds if at in values} for values in cells)
    return [own for own in table if len(own) > 1]


def _residuals(table: Sequence[Mapping[int, float]], weights: Sequence[float]) -> list[list[float]]:
    """Return each cell's residuals after removing the cell and round effects, in the order of rounds.

    ``weights``: the weight of each cell in the round effects. Each residual is scaled up to make up for its own share
    in its round's effect.
    """
    rounds: dict[int, list[int]] = {}
    for cell, values in enumerate(table):
        for at in values:
            rounds.setdefault(at, []).append(cell)
    sums = {at: math.fsum(weights[cell] for cell in cells) for at, cells in rounds.items()}
    cell_effects, round_effects = [fmean(values.values()) for values in table], dict.fromkeys(rounds, 0.0)
    complete = all(len(values) == len(rounds) for values in table)
    for _ in range(2 if complete else _PASSES):
        for at, cells in rounds.items():
            weighted = math.fsum(weights[cell] * (table[cell][at] - cell_effects[cell]) for cell in cells)
            round_effects[at] = weighted / sums[at]
        cell_effects = [fmean(value - round_effects[at] for at, value in values.items()) for values in table]
    return [
        [
            (value - effect - round_effects[at]) / math.sqrt(1 - weight / sums[at]) if sums[at] > weight else 0.0
            for at, value in values.items()
        ]
        for values, effect, weight in zip(table, cell_effects, weights, strict=True)
    ]


def _common(found: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return the common variance of the cells and its degrees of freedom.

    The estimate uses the mean and variance of ``ln s²`` (Smyth, section 6.2). The degrees of freedom are at most those
    of the whole table minus those of one comparison.
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
    # The variances differ by no more than chance, so their plain mean is the best estimate.
    return fmean(square for square, _ in found), freedom


# Beyond these values the asymptotes are exact enough; Newton's method ends at this relative step.
_LARGE, _SMALL, _PRECISION = 1e7, 1e-6, 1e-8


def _inverse_trigamma(value: float) -> float:
    """Return y with ``trigamma(y) = value``, by Newton's method on 1/trigamma (Smyth, appendix)."""
    from scipy.special import polygamma

    if value > _LARGE:
        return 1 / math.sqrt(value)
    if value < _SMALL:
        return 1 / value
    y = 0.5 + 1 / value
    for _ in range(50):
        at = float(polygamma(1, y))
        step = at * (1 - at / value) / float(polygamma(2, y))
        y += step
        if -step / y < _PRECISION:
            break
    return y
