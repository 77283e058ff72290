"""Runs of two equal cells whose noise lingers, as the functions that decide in a run see them.

The blocks are in the order that a run measures them in; only the noise is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy
from numpy.typing import NDArray

from dbdyno.experiment.design import block_order
from dbdyno.model.plan.cell import Cell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.stats import Rate, Ratio, Stopping, decide, paired_rates
from simulated_noise import lingering, looks

BLOCKS = 30
Runs = NDArray[numpy.float64]
"""The throughput of each run, cell and block."""


@dataclass(frozen=True)
class Told:
    """Shares of runs: with a false difference, with an interval that holds; and the mean number of rounds."""

    false: float
    held: float
    rounds: float


def of_each(runs: int, correlation: float, deviation: float, seed: int = 3) -> Runs:
    """Each cell has noise of its own that lingers from block to block."""
    return numpy.exp(deviation * lingering("normal", correlation, (runs, 2, BLOCKS), seed))


def of_the_machine(runs: int, correlation: float, deviation: float, cells: int = 2, seed: int = 3) -> Runs:
    """The machine's noise lingers from one trial to the next, whichever cell that is of; a fifth is the trial's own."""
    machine = deviation * lingering("normal", correlation, (runs, cells * BLOCKS), seed)
    return _in_order(machine, deviation / 5, cells, seed)


def drifting(runs: int, drift: float, deviation: float, cells: int = 2, seed: int = 3) -> Runs:
    """The machine gets faster evenly, by ``drift`` over the run, beside the noise of each trial."""
    machine = numpy.tile(drift * numpy.arange(cells * BLOCKS) / (cells * BLOCKS), (runs, 1))
    return _in_order(machine, deviation, cells, seed)


def _in_order(machine: Runs, own: float, cells: int, seed: int) -> Runs:
    runs = len(machine)
    planned = [Cell(str(each), MappingProxyType({}), cast("SystemSpec", None)) for each in range(cells)]
    made = own * numpy.random.default_rng(seed + 1).standard_normal((runs, cells, BLOCKS))
    for run in range(runs):
        for block in range(BLOCKS):
            for position, cell in enumerate(block_order(planned, block, 10_000 * seed + run)):
                made[run, int(cell.id), block] += machine[run, block * cells + position]
    return numpy.exp(made[:, :2])


def correlation_of(runs: Runs) -> float:
    """Return how the ratios of neighbouring blocks correlate."""
    logs = numpy.log(runs[:, 1] / runs[:, 0])
    return float((logs[:, 1:] * logs[:, :-1]).mean() / (logs**2).mean())


def fixed(runs: Runs, rounds: int) -> Told:
    """What runs of so many rounds tell."""
    return _told([_ratio(each, rounds, 0.95) for each in runs])


def auto(runs: Runs, minimum: int = 5) -> Told:
    """What runs tell that end when they are precise enough."""
    rule = Stopping(minimum=minimum)
    ended = []
    for each, counts in zip(runs, looks(rule, numpy.log(runs[:, 1] / runs[:, 0])), strict=True):
        for count in counts:
            ratio = _ratio(each, count, rule.confidence)
            if rule.enough([ratio]):
                break
        ended.append(ratio)
    return _told(ended)


def _ratio(run: Runs, rounds: int, confidence: float) -> Ratio:
    a, b = ({block: Rate(float(side[block])) for block in range(rounds)} for side in run)
    ratio = paired_rates(a, b, confidence)
    assert ratio is not None
    return ratio


def _told(ratios: Sequence[Ratio]) -> Told:
    false = sum(decide([each])[0].verdict in ("faster", "slower") for each in ratios)
    held = sum(each.low is not None and each.low <= 1 <= (each.high or math.inf) for each in ratios)
    return Told(false / len(ratios), held / len(ratios), sum(each.count for each in ratios) / len(ratios))
