"""Verdicts that are asked for again and again: of a history after each run, of a run after each block.

Both are simulated through the functions that decide; only the noise is drawn.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
from bench import Bench
from figures import Figure

from dbdyno.analysis.history.changepoints import FALSE_ALARMS, LIFE, find_change_points
from dbdyno.analysis.measured.comparisons import RunNoise

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/support"))

from simulated_blocks import Runs, auto, correlation_of, drifting, fixed, of_each, of_the_machine
from simulated_noise import KINDS, between_runs, lingering

SERIES = 600
RUNS = 2000
STEPS = 200
HELD = 10
ROUNDS = (2, 3, 5, 8, 10, 15, 20, 30)

# Noise of a run, 1 sd, as a share: what is judged are logarithms.
_NOISE = 0.02


def history_without_a_change(_bench: Bench) -> Iterator[Figure]:
    """Series of 40 and of 100 equal runs that are looked at after each run: how many are ever said to have a change.

    The noise of their machine is unknown, or was measured by ten runs.
    """
    asked = [(kind, 0.0, 100 * FALSE_ALARMS) for kind in KINDS] + [("normal", 0.4, 10), ("normal", 0.6, 20)]
    for kind, correlation, target in asked:
        for runs in (40, LIFE):
            series = between_runs(SERIES, runs, 21, kind, correlation)
            name = f"history: {runs} runs, {kind}, neighbours {correlation:g}"
            for known in (False, True):
                yield Figure(f"{name}{_MEASURED * known}: marked, %", *_marked(series, known), target, at_most=True)


def history_with_a_loss(_bench: Bench) -> Iterator[Figure]:
    """Runs that differ by 10 %, and are faster or slower from the middle on: in how many series that is marked."""
    for change in (0.7, 0.8, 1.3, 1.5):
        for before in (10, 15, 20):
            series = between_runs(SERIES, 2 * before, 22)
            series[:, before:] += numpy.log(change)
            target = 95 if (change, before) == (0.7, 15) else 0
            for known in (False, True):
                name = f"history: {change} times after {before} runs{_MEASURED * known}: marked, %"
                yield Figure(name, *_marked(series, known), target, at_most=False)


_MEASURED = ", noise measured"


def _marked(series: numpy.ndarray, known: bool) -> tuple[float, str]:
    """Return the share of series that are marked, in percent. ``known``: ten further runs measured the noise."""
    deviations = between_runs(len(series), 10, 23).std(axis=1, ddof=1)
    marked = sum(
        bool(find_change_points(list(each), 0.0, RunNoise(deviation, 9, 10).least if known else 0.0))
        for each, deviation in zip(series, deviations, strict=True)
    )
    return 100 * marked / len(series), f"{marked} of {len(series)}"


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
