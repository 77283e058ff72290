"""Verdicts that are asked for again and again: of a history after each run, of a run after each block.

Both are simulated through the functions that decide; only the noise is drawn.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
from bench import Bench
from figures import Figure

from dbdyno.history.changepoints import FALSE_ALARMS, LIFE, find_change_points

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from simulated_blocks import Runs, auto, correlation_of, drifting, fixed, of_each, of_the_machine
from simulated_noise import KINDS, lingering

SERIES = 600
RUNS = 2000
STEPS = 200
HELD = 10
ROUNDS = (2, 3, 5, 8, 10, 15, 20, 30)

# Noise of a run, 1 sd, as a share: what is judged are logarithms.
_NOISE = 0.02


def history_without_a_change(_bench: Bench) -> Iterator[Figure]:
    """Series that are looked at after each of 100 runs and have no change: how many are ever said to have one."""
    asked = [(kind, 0.0, 100 * FALSE_ALARMS) for kind in KINDS]
    asked += [("normal", 0.4, 100 * FALSE_ALARMS), ("t of 3", 0.4, 100 * FALSE_ALARMS), ("normal", 0.6, 7)]
    for kind, correlation, target in asked:
        noise = _NOISE * lingering(kind, correlation, (SERIES, LIFE), seed=21)
        alarms = sum(bool(find_change_points(list(each))) for each in noise)
        name = f"history: {kind}, neighbours {correlation:g}: marked, %"
        yield Figure(name, 100 * alarms / SERIES, f"{alarms} of {SERIES}", target, at_most=True)


def history_with_a_step(_bench: Bench) -> Iterator[Figure]:
    """A step held for ten runs, so many standard deviations high: in how many series it is marked, and when."""
    for size, before, correlation, target in (
        (3, 20, 0.0, 50), (3, 30, 0.0, 85), (3, 50, 0.0, 90), (4, 30, 0.0, 90), (5, 20, 0.0, 90), (10, 10, 0.0, 90),
        (3, 50, 0.4, 50), (5, 30, 0.4, 85), (10, 20, 0.4, 90),
    ):  # fmt: skip
        delays = []
        for values in lingering("normal", correlation, (STEPS, before + HELD), seed=22):
            values[before:] += size
            seen = [each.seen for each in find_change_points(list(_NOISE * values)) if each.seen >= before]
            delays += [seen[0] - before + 1] if seen else []
        told = f"{len(delays)} of {STEPS}"
        told += f", after {numpy.median(delays):g} runs (9 of 10: {numpy.quantile(delays, 0.9):g})" if delays else ""
        name = f"history: {size} sd after {before} runs, neighbours {correlation:g}, %"
        yield Figure(name, 100 * len(delays) / STEPS, told, target, at_most=False)


def blocks_of_a_machine_whose_noise_lingers(_bench: Bench) -> Iterator[Figure]:
    """Noise from trial to trial, whichever cell they are of, and drift."""
    for name, runs in (
        ("machine's noise 0.3, 2 cells", of_the_machine(RUNS, 0.3, 0.03)),
        ("machine's noise 0.6, 2 cells", of_the_machine(RUNS, 0.6, 0.03)),
        ("machine's noise 0.6, 5 cells", of_the_machine(RUNS, 0.6, 0.03, cells=5)),
        ("drift of 30 %, 2 cells", drifting(RUNS, 0.3, 0.03)),
    ):
        yield from _false(name, runs, 2.5)


def blocks_of_cells_whose_noise_lingers(_bench: Bench) -> Iterator[Figure]:
    """Noise of each cell's own, from block to block."""
    for correlation in (0.0, 0.3):
        for deviation in (0.015, 0.03, 0.05):
            name = f"cell's own {correlation:g}, noise {deviation:.1%}"
            yield from _false(name, of_each(RUNS, correlation, deviation), 3.5 if correlation else 2.5)


def _false(name: str, runs: Runs, target: float) -> Iterator[Figure]:
    told = {f"{rounds}": fixed(runs, rounds) for rounds in ROUNDS}
    told |= {f"auto from {minimum}": auto(runs, minimum) for minimum in (5, 2)}
    each = "; ".join(
        f"{rounds}: {100 * of.false:.1f} ({100 * of.held:.0f} hold{f', {of.rounds:.1f} rounds' * ('auto' in rounds)})"
        for rounds, of in told.items()
    )
    spread = f"ratios {correlation_of(runs):+.2f}; {each}"
    worst = max(of.false for of in told.values())
    yield Figure(f"blocks: {name}: false, worst, %", 100 * worst, spread, target, at_most=True)
