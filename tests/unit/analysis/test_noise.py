"""What a run of one cell against itself says of the machine."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from dbdyno.analysis.measured.comparisons import ASSUMED, RunNoise
from dbdyno.analysis.noise import between_runs, false_alarms, noise_of, noise_of_runs, stored_noise
from dbdyno.model.result import Document
from dbdyno.stats.intervals import usual_allowance
from synthetic_cells import cell, some


def twice(logs: list[float], **options: Any) -> Document:
    """A run of two cells whose ratios in each block have these logarithms, and whose trials take 3 s and 3 s."""
    cells = [cell(str(which), [1000 * math.exp(log * which) for log in logs]) for which in (0, 1)]
    return some(Document, cells=cells, options=options)


DRAWN = numpy.random.default_rng(7).normal(0, 0.03, 40)
NORMAL = [float(each) for each in DRAWN - DRAWN.mean()]


def test_equal_cells_seem_to_differ_as_often_as_promised() -> None:
    alarms, beyond = false_alarms(NORMAL, 10, 0.02)
    # Of independent rounds fewer than 5 %, since neighbors may be alike.
    assert 0.005 <= alarms <= 0.05
    assert 0 < beyond <= alarms
    assert false_alarms(NORMAL, 10, 0.5)[1] == 0


def test_noise_is_told_with_what_it_lets_see() -> None:
    noise = noise_of(twice(NORMAL))
    assert noise is not None
    assert noise.deviation == pytest.approx(0.03, rel=0.2)
    assert (noise.blocks, noise.alarm_rounds) == (40, 10)
    assert noise.ratio.low is not None and noise.ratio.high is not None
    assert noise.ratio.low < 1 < noise.ratio.high
    changes = [each.change for each in noise.sights]
    assert changes == sorted(changes, reverse=True)
    # t of 9 degrees at 0.975 and 0.8, of the deviation over the root of 10, and what blocks that may be alike ask for.
    quantiles = (2.262 + 0.883) * usual_allowance(10)
    assert changes[1] == pytest.approx(math.expm1(quantiles * noise.deviation / math.sqrt(10)), rel=0.01)


def test_a_block_takes_as_long_as_its_trials_one_after_another_or_as_one_where_they_take_turns() -> None:
    for options, block_s in (({}, 6.0), ({"slice_s": None}, 6.0), ({"slice_s": 0.02}, 3.0)):
        noise = noise_of(twice(NORMAL, **options))
        assert noise is not None
        assert noise.block_s == block_s
        assert [each.seconds for each in noise.sights] == [block_s * each.rounds for each in noise.sights]


def test_of_three_blocks_nothing_is_said() -> None:
    assert noise_of(twice(NORMAL[:3])) is None


def test_runs_that_differ_more_than_their_rounds_say_how_much() -> None:
    def run(level: float, number: int) -> Document:
        values = [level * (1 + 0.001 * each) for each in (-1, 0, 1)]
        return some(Document, id=str(number), cells=[cell("a", values)])

    levels = [1000.0, 1050.0, 980.0, 1020.0, 1000.0]
    noise = noise_of_runs([run(level, number) for number, level in enumerate(levels)])
    assert noise is not None
    assert noise.deviation == pytest.approx(numpy.std(numpy.log(levels), ddof=1), rel=1e-3)
    assert noise.within < 0.001
    assert (noise.runs, noise.rounds, noise.known.freedom) == (5, 3, 4)
    # All but the two that are the same.
    assert noise.false_alarms == pytest.approx(0.9)
    assert noise_of_runs([run(1.0, 1), run(2.0, 2)]) is None


def test_the_noise_of_earlier_runs_is_weighed_with_what_is_assumed() -> None:
    steady = [[1000.0, 1001.0, 999.0]] * 2
    assert between_runs("throughput", [1000.0, 1500.0], steady) == ASSUMED
    # Rounds that differ more than runs usually do speak of runs too, and percentiles vary more than throughput.
    assert between_runs("throughput", [], [[1000.0, 1500.0, 700.0]] * 2).deviation > 0.3
    assert between_runs("p99", [], steady).deviation > ASSUMED.deviation
    values = [float(each) for each in numpy.exp(numpy.random.default_rng(3).normal(0, 0.1, 60))]
    found = between_runs("throughput", values, steady)
    assert found.deviation == pytest.approx(0.1, rel=0.2)
    assert found.runs == 60 and found.freedom > 30
    # A change of level long ago counts for one difference.
    half = [1000.0, 1010.0] * 15
    changed = between_runs("throughput", [*half, *(2 * each for each in half)], steady)
    assert changed.deviation < 0.1


def test_noise_is_that_of_one_machine() -> None:
    host = {"cpu": "a", "cores": 2, "memory_bytes": 8}
    measured = {"deviation": 0.03, "runs": 10, "host": host}
    assert stored_noise(measured, host) == RunNoise(0.03, 9, 10)
    assert stored_noise(measured, host | {"cpu": "b"}) is None
    assert stored_noise(None, host) is None
    assert stored_noise({"host": host, "deviation": "?"}, host) is None
