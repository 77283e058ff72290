"""The stopping rule: when it stops, and that its interval keeps its promise although it was looked at."""

from __future__ import annotations

import numpy
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from dbdyno.stats import APART_CONFIDENCE, LEVEL, SEQUENTIAL_CONFIDENCE, Stopping

RUNS = 20_000


def coverage(draws: NDArray[numpy.float64], rule: Stopping, confidence: float) -> tuple[float, float]:
    """How often the interval at the stop holds the true mean, 0; and the rounds it took on average.

    ``draws``: a run a row, of as many rounds as the rule allows.
    """
    count = numpy.arange(1, rule.maximum + 1)
    mean = numpy.cumsum(draws, axis=1) / count
    squares = numpy.cumsum(draws**2, axis=1) - count * mean**2
    deviation = numpy.sqrt(numpy.maximum(squares / numpy.maximum(count - 1, 1), 0))
    quantile = numpy.concatenate([[0.0], scipy_stats.t.ppf((1 + confidence) / 2, count[1:] - 1)])
    reach = quantile * deviation / numpy.sqrt(count)
    enough = reach <= numpy.log1p(rule.target)
    enough[:, : rule.minimum - 1] = False
    enough[:, -1] = True
    stop = enough.argmax(axis=1)
    rows = numpy.arange(len(draws))
    return float((numpy.abs(mean[rows, stop]) <= reach[rows, stop]).mean()), float((stop + 1).mean())


def apart(deviation: float, confidence: float, level: float) -> tuple[float, float]:
    """How often Welch's interval of two equal runs, each ended by the rule, holds; how often they seem to differ."""
    rule, ends = Stopping(), []
    for seed in (3, 4):
        draws = numpy.random.default_rng(seed).normal(0, deviation, (RUNS, rule.maximum))
        count = numpy.arange(1, rule.maximum + 1)
        mean = numpy.cumsum(draws, axis=1) / count
        squares = numpy.maximum(numpy.cumsum(draws**2, axis=1) - count * mean**2, 0)
        error2 = squares / numpy.maximum(count - 1, 1) / count
        quantile = numpy.concatenate([[0.0], scipy_stats.t.ppf((1 + SEQUENTIAL_CONFIDENCE) / 2, count[1:] - 1)])
        enough = quantile * numpy.sqrt(error2) <= numpy.log1p(rule.target)
        enough[:, : rule.minimum - 1] = False
        enough[:, -1] = True
        stop = enough.argmax(axis=1)
        rows = numpy.arange(RUNS)
        ends.append((mean[rows, stop], error2[rows, stop], stop))
    (mean_a, a, freedom_a), (mean_b, b, freedom_b) = ends
    freedom = (a + b) ** 2 / (a**2 / freedom_a + b**2 / freedom_b)
    t = numpy.abs(mean_a - mean_b) / numpy.sqrt(a + b)
    held = t <= scipy_stats.t.ppf((1 + confidence) / 2, freedom)
    return float(held.mean()), float((2 * scipy_stats.t.sf(t, freedom) < level).mean())


def normal(deviation: float, rounds: int) -> NDArray[numpy.float64]:
    return numpy.random.default_rng(1).normal(0, deviation, (RUNS, rounds))


def disturbed(deviation: float, rounds: int) -> NDArray[numpy.float64]:
    """One round in ten is three times as noisy, as on a machine with neighbours."""
    random = numpy.random.default_rng(2)
    wide = random.random((RUNS, rounds)) < 0.1
    return random.normal(0, deviation, (RUNS, rounds)) * numpy.where(wide, 3, 1)


NOISE = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.08, 0.1)


@pytest.mark.parametrize("draw", [normal, disturbed])
def test_the_interval_of_95_percent_holds_in_at_least_94_percent_of_runs(draw: type) -> None:
    rule = Stopping()
    worst = min(coverage(draw(deviation, rule.maximum), rule, SEQUENTIAL_CONFIDENCE)[0] for deviation in NOISE)
    assert worst >= 0.94


def test_two_runs_that_ended_so_keep_the_promise_too() -> None:
    level = LEVEL * (1 - APART_CONFIDENCE) / 0.05
    found = [apart(deviation, APART_CONFIDENCE, level) for deviation in NOISE]
    assert min(held for held, _ in found) >= 0.94
    assert max(false for _, false in found) <= 0.023
    assert max(apart(deviation, 0.95, LEVEL)[1] for deviation in NOISE) > 0.04, "without the correction"


def test_without_the_correction_it_would_not() -> None:
    rule = Stopping()
    worst = min(coverage(normal(deviation, rule.maximum), rule, 0.95)[0] for deviation in NOISE)
    assert worst < 0.935


def test_quiet_machines_stop_early_and_noisy_ones_late() -> None:
    rule = Stopping()
    rounds = [coverage(normal(deviation, rule.maximum), rule, SEQUENTIAL_CONFIDENCE)[1] for deviation in NOISE]
    assert rounds == sorted(rounds)
    assert rounds[0] == rule.minimum
    assert rounds[-1] > 25


def blocks(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def test_the_ratios_to_the_baselines_are_what_is_asked_for() -> None:
    rule = Stopping(minimum=3)
    drifting = blocks(100, 150, 80, 120)
    # Both drift alike: the ratio is known, though neither mean is.
    cells = [drifting, blocks(200, 300, 160, 240.1)]
    assert rule.enough(cells, [(0, 1)])
    assert not rule.enough(cells[:1], [])
    other = blocks(200, 300, 160, 400)
    assert not rule.enough([*cells, other], [(0, 1), (0, 2)])
    assert rule.enough([*cells, other, other], [(0, 1), (2, 3)])
    # Of a cell that is compared with none, its mean.
    assert not rule.enough([*cells, other], [(0, 1)])
    assert rule.enough([*cells, blocks(100, 100, 100, 100.1)], [(0, 1)])


def test_too_few_rounds_are_never_enough() -> None:
    assert not Stopping().enough([blocks(100, 100, 100, 100)], [])
    assert Stopping().enough([blocks(100, 100, 100, 100, 100)], [])


def test_failed_rounds_do_not_count() -> None:
    rule = Stopping(minimum=3)
    assert not rule.enough([blocks(100, 100, 100), {0: 100.0, 2: 100.0}], [(0, 1)])
