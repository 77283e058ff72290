"""The stopping rule: when it stops, and that its interval keeps its promise although it was looked at.

What is simulated goes through the functions that decide in a run: the ratio of two cells within blocks, whether that is
enough, and the verdict. The noise is drawn, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy
import pytest
from numpy.typing import NDArray

from dbdyno.stats import APART_CONFIDENCE, Rate, Ratio, Stopping, decide, paired_rates, rate_interval, unpaired_rates
from simulated_noise import looks, most

RUNS = 1_500
NOISE = (0.005, 0.015, 0.03, 0.05, 0.1)

Noise = Callable[[float, int, int], NDArray[numpy.float64]]


def normal(deviation: float, runs: int, seed: int) -> NDArray[numpy.float64]:
    """The throughput of two equal cells in the blocks of so many runs: run, cell, block."""
    return numpy.exp(numpy.random.default_rng(seed).normal(0, deviation / math.sqrt(2), (runs, 2, 30)))


def disturbed(deviation: float, runs: int, seed: int) -> NDArray[numpy.float64]:
    """One round in ten is three times as noisy, as on a machine with neighbours."""
    random = numpy.random.default_rng(seed)
    wide = numpy.where(random.random((runs, 2, 30)) < 0.1, 3, 1)
    return numpy.exp(random.normal(0, deviation / math.sqrt(2), (runs, 2, 30)) * wide)


def rates(values: NDArray[numpy.float64]) -> dict[int, Rate]:
    return {block: Rate(float(value)) for block, value in enumerate(values)}


def until_enough(rule: Stopping, draws: NDArray[numpy.float64]) -> list[Ratio]:
    """The ratio of two cells as each run leaves it that looks at it after each block."""
    between = numpy.log(draws[:, 1] / draws[:, 0])
    return [ended(rule, each, counts) for each, counts in zip(draws, looks(rule, between), strict=True)]


def ended(rule: Stopping, draws: NDArray[numpy.float64], counts: Iterable[int]) -> Ratio:
    """The ratio as a run leaves it that looks at it after so many blocks, and so many."""
    a, b = rates(draws[0]), rates(draws[1])
    for count in counts:
        seen = [{block: each[block] for block in range(count)} for each in (a, b)]
        ratio = paired_rates(seen[0], seen[1], rule.confidence)
        assert ratio is not None
        if rule.enough([ratio]):
            break
    return ratio


@cache
def runs_of(minimum: int, noise: Noise, deviation: float) -> list[Ratio]:
    return until_enough(Stopping(minimum=minimum), noise(deviation, RUNS, 7))


def held(ratios: list[Ratio]) -> float:
    return sum(each.low is not None and each.low <= 1 <= (each.high or 0.0) for each in ratios) / len(ratios)


def differ(ratios: list[Ratio]) -> float:
    return sum(decide([each])[0].verdict in ("faster", "slower") for each in ratios) / len(ratios)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "minimum"), [(normal, 2), (normal, 5), (disturbed, 5)])
def test_looking_after_each_round_does_not_break_the_promise(noise: Noise, minimum: int) -> None:
    found = [runs_of(minimum, noise, deviation) for deviation in NOISE]
    # The promise is 95 %, and 5 % of false differences.
    assert 1 - min(map(held, found)) <= most(0.05, RUNS)
    assert max(map(differ, found)) <= most(0.05, RUNS)


def test_an_ordinary_interval_would_not_keep_it() -> None:
    class Naive(Stopping):
        @property
        def confidence(self) -> float:
            return 0.95

    assert held(until_enough(Naive(minimum=2), normal(0.03, RUNS, 7))) < 0.94


@pytest.mark.parametrize(("noise", "minimum"), [(normal, 2), (normal, 5), (disturbed, 5)])
def test_no_run_ends_where_the_simulation_does_not_look(noise: Noise, minimum: int) -> None:
    rule = Stopping(minimum=minimum)
    for deviation in NOISE:
        draws = noise(deviation, 15, 7)
        always = [ended(rule, each, range(rule.minimum, rule.maximum + 1)) for each in draws]
        assert always == until_enough(rule, draws)


@pytest.mark.slow
def test_two_runs_that_ended_so_keep_the_promise_too() -> None:
    for deviation in NOISE:
        draws = normal(deviation, RUNS, 5)
        ratios = [
            unpaired_rates(a, b, APART_CONFIDENCE) for a, b in zip(alone(draws[:, 0]), alone(draws[:, 1]), strict=True)
        ]
        known = [ratio for ratio in ratios if ratio is not None]
        assert 1 - held(known) <= most(0.06, RUNS)
        assert differ(known) <= most(0.06, RUNS)


def alone(draws: NDArray[numpy.float64]) -> list[list[Rate]]:
    """The rounds of runs of one cell that end when its own interval is narrow enough."""
    rule, made = Stopping(), []
    for each, counts in zip(draws, looks(rule, numpy.log(draws)), strict=True):
        of_all = list(rates(each).values())
        for count in counts:
            if rule.enough([rate_interval(of_all[:count], rule.confidence)]):
                break
        made.append(of_all[:count])
    return made


def test_quiet_machines_stop_early_and_noisy_ones_late() -> None:
    rounds = [numpy.mean([each.count for each in runs_of(5, normal, deviation)]) for deviation in NOISE]
    assert rounds == sorted(rounds)
    assert rounds[0] == 5
    assert rounds[-1] > 25


def test_too_few_rounds_are_never_enough() -> None:
    rule = Stopping()
    assert not rule.enough([rate_interval([Rate(100 + each / 1000) for each in range(4)])])
    assert rule.enough([rate_interval([Rate(100 + each / 1000) for each in range(5)])])
    assert not rule.enough([None])


def test_rounds_that_agree_to_the_last_digit_are_never_enough() -> None:
    same = {block: Rate(1.0) for block in range(30)}
    assert not Stopping().enough([paired_rates(same, same)])
    assert not Stopping().enough([rate_interval(list(same.values()))])


@pytest.mark.parametrize("ratio", [1.5, 4.0, 30.0])
def test_a_large_difference_need_not_be_known_as_narrowly(ratio: float) -> None:
    draws = normal(0.1, RUNS, 3) * numpy.asarray([[[1.0], [ratio]]])
    always = range(Stopping().minimum, Stopping().maximum + 1)
    found = [ended(Stopping(), each, always) for each in draws]
    assert 1 - numpy.mean([each.low <= ratio <= each.high for each in found if each.low and each.high]) <= most(
        0.05, RUNS
    )
    strict = [ended(replace(Stopping(), of_difference=0.0), each, always) for each in draws[:100]]
    assert numpy.mean([each.count for each in found]) < numpy.mean([each.count for each in strict])
    assert all(decide([each])[0].verdict == "faster" for each in found)


def test_what_is_known_of_both_alike_is_enough() -> None:
    drifting = [100.0, 150.0, 80.0, 120.0, 90.0]
    a = rates(numpy.asarray(drifting))
    b = {block: Rate(2 * rate.value * (1 + block / 1e4)) for block, rate in a.items()}
    rule = Stopping()
    assert rule.enough([paired_rates(a, b)])
    assert not rule.enough([rate_interval(list(a.values()))])
    assert not rule.enough([paired_rates(a, b), rate_interval(list(a.values()))])


def test_a_gate_looks_each_time_that_there_are_a_third_more_rounds() -> None:
    rule = Stopping(maximum=1000, margin=0.05)
    assert [each for each in range(60) if rule.looks_after(each)] == [5, 6, 8, 10, 13, 17, 22, 29, 38, 50]
    assert [each for each in range(8) if Stopping().looks_after(each)] == [5, 6, 7]
    assert rule.confidence > Stopping().confidence
