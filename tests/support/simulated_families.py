"""Runs of several cells whose noise is drawn, as the functions that decide in a run see them.

`benches/coverage.py` prints the table of docs/explanation/validation.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from dbdyno.stats import Rate, decide, paired_rates
from dbdyno.stats.moderation import noise_of
from dbdyno.stats.rates import own_values
from simulated_noise import lingering

NOISE = 0.03
"""The standard deviation of the logarithm of a trial's rate, of most cells."""

Table = NDArray[numpy.float64]
"""The error of each cell's logarithm by round, in units of :data:`NOISE`."""

KINDS = (
    "equal",
    "one cell 2 times",
    "one cell 3 times",
    "first cell 3 times",
    "all different",
    "heavy tails",
    "skewed",
    "half of the cells share noise",
    "drifting machine",
    "missing trials",
    "correlated 0.3",
    "correlated 0.6",
    "correlated 0.9",
)
"""What the noise is like. ``correlated``: of each cell, from round to round."""


@dataclass(frozen=True)
class Rates:
    """Shares of runs in which all intervals of a table hold; the width of an interval; and the worst cell's error.

    ``reach``: the median of half an interval on logarithms, in units of the noise of a trial. ``worst``: how often the
    interval of the cell that misses most is wrong; nominal is 5 % by the number of comparisons.
    """

    held: float
    reach: float
    worst: float


def errors(kind: str, runs: int, cells: int, rounds: int, seed: int = 1) -> Table:
    """Draw the errors of so many runs: run, cell, round; NaN is a trial that failed."""
    random = numpy.random.default_rng(seed)
    shape = runs, cells, rounds
    normal = random.standard_normal(shape)
    match kind.split():
        case ["one" | "first", "cell", times, "times"]:
            place = 0 if kind.startswith("first") else -1
            normal[:, place] *= float(times)
        case ["all", "different"]:
            normal *= numpy.exp(random.normal(0, 0.7, (runs, cells, 1)))
        case ["heavy", "tails"]:
            normal = random.standard_t(3, shape)
        case ["skewed"]:
            normal = numpy.exp(random.standard_normal(shape))
        case ["half", *_]:
            normal[:, cells // 2 :] += 1.5 * random.standard_normal((runs, 1, rounds))
        case ["drifting", "machine"]:
            order = random.permuted(numpy.tile(numpy.arange(cells), (runs, rounds, 1)), axis=2).transpose(0, 2, 1)
            normal += 5.0 * (numpy.arange(rounds) + order / cells) / rounds
        case ["missing", "trials"]:
            normal[random.random(shape) < 0.1] = numpy.nan
        case ["correlated", of]:
            normal = lingering("normal", float(of), shape, seed)
    return normal


def rates_of(errors_of_run: Table, effects: Sequence[float]) -> list[dict[int, Rate]]:
    """Return the rates of each cell by round. ``effects``: the logarithm of each cell's true rate."""
    return [
        {at: Rate(math.exp(effect + NOISE * value)) for at, value in enumerate(own) if not math.isnan(value)}
        for own, effect in zip(errors_of_run, effects, strict=True)
    ]


def families(kind: str, runs: int, cells: int, rounds: int, seed: int = 1) -> Iterator[list[tuple[float, float]]]:
    """Give for each run the ends of the intervals of its table, on logarithms, in units of the noise."""
    for drawn in errors(kind, runs, cells, rounds, seed):
        rates = rates_of(drawn, [0.0] * cells)
        noise = noise_of([own_values(each) for each in rates])
        made = decide([paired_rates(rates[0], each, noise=noise) for each in rates[1:]])
        ends = [each.ratio.ends if each.ratio is not None else None for each in made]
        yield [
            (-math.inf, math.inf) if each is None else (math.log(each[0]) / NOISE, math.log(each[1]) / NOISE)
            for each in ends
        ]


def simulated(kind: str, runs: int, cells: int, rounds: int, seed: int = 1) -> Rates:
    """Return how often the intervals of equal cells hold."""
    ends = numpy.array(list(families(kind, runs, cells, rounds, seed)))
    wrong = (ends[..., 0] > 0) | (ends[..., 1] < 0)
    reach = numpy.median((ends[..., 1] - ends[..., 0]) / 2)
    return Rates(1 - float(wrong.any(axis=1).mean()), float(reach), float(wrong.mean(axis=0).max()))


@dataclass(frozen=True)
class Winner:
    """What is told of the cell that measured best: how often its interval holds, and by how much its ratio is too high.

    ``bias``: the mean, on logarithms, in units of the noise of a trial.
    """

    held: float
    bias: float


def winner(runs: int, cells: int, rounds: int, spread: float = 0.0, seed: int = 1) -> Winner:
    """Tell the gain of the best of several cells, as runs do. ``spread``: of the true rates, in units of the noise."""
    random = numpy.random.default_rng(seed)
    held, bias = 0, 0.0
    for drawn in errors("equal", runs, cells, rounds, seed):
        true = NOISE * spread * random.standard_normal(cells)
        rates = rates_of(drawn, [float(each) for each in true])
        noise = noise_of([own_values(each) for each in rates])
        made = decide([paired_rates(rates[0], each, noise=noise) for each in rates[1:]])
        told = [(each.ratio.mean, each.ratio, place) for place, each in enumerate(made, 1) if each.ratio is not None]
        _, best, place = max(told, key=lambda each: each[0])
        gain = float(true[place] - true[0])
        held += best.low is not None and best.high is not None and best.low <= math.exp(gain) <= best.high
        bias += (math.log(best.mean) - gain) / NOISE
    return Winner(held / runs, bias / runs)
