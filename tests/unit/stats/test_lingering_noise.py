"""Blocks whose noise lingers: how often equal cells differ, through the functions that decide in a run."""

from __future__ import annotations

import math

import numpy
import pytest

from dbdyno.stats import decide
from dbdyno.stats.intervals import correlation, more_error, ratio_of, usual_allowance
from simulated_blocks import auto, correlation_of, drifting, fixed, of_each, of_the_machine
from simulated_noise import lingering, most

RUNS = 700


@pytest.mark.parametrize(("lingers", "cells"), [(0.3, 2), (0.6, 2), (0.6, 4)])
def test_noise_of_the_machine_is_none_of_the_ratios(lingers: float, cells: int) -> None:
    runs = of_the_machine(RUNS, lingers, 0.03, cells)
    # Blocks in random order, and in the other order every second time, break it up.
    assert abs(correlation_of(runs)) < 0.1
    assert fixed(runs, 5).false <= most(0.05, RUNS)
    assert fixed(runs, 20).false <= most(0.05, RUNS)
    assert fixed(runs, 20).held >= 0.92


def test_a_drift_of_the_machine_is_none_of_the_ratios() -> None:
    runs = drifting(RUNS, 0.3, 0.03)
    assert abs(correlation_of(runs)) < 0.1
    assert fixed(runs, 10).false <= most(0.05, RUNS)


@pytest.mark.parametrize("rounds", [2, 3, 5, 8, 10, 30])
def test_blocks_that_are_alike_seldom_make_a_difference(rounds: int) -> None:
    runs = of_each(RUNS, 0.3, 0.03)
    # The promise is 5 %.
    assert fixed(runs, rounds).false <= most(0.05, RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("minimum", [2, 5])
def test_nor_where_the_run_ends_itself(minimum: int) -> None:
    assert auto(of_each(RUNS, 0.3, 0.03), minimum).false <= most(0.05, RUNS)
    assert auto(of_each(RUNS, 0.0, 0.03), minimum).held >= 0.94


def test_independent_blocks_need_hardly_more_rounds_to_be_equivalent() -> None:
    runs = of_each(RUNS, 0.0, 0.02)
    # Without an allowance it is 7.5.
    assert auto(runs).rounds < 10.5
    assert fixed(runs, 20).held >= 0.935


def test_blocks_that_are_alike_beyond_chance_have_a_wider_interval() -> None:
    alike = [0.01 * each for each in (-3, -3, -2, -2, -1, 0, 0, 1, 2, 2, 3, 3)]
    mixed = [alike[place] for place in (0, 11, 3, 7, 1, 9, 5, 8, 2, 10, 4, 6)]
    wide, narrow = ratio_of(alike), ratio_of(mixed)
    assert wide is not None
    assert narrow is not None
    assert math.log((wide.high or 0) / (wide.low or 1)) > 1.5 * math.log((narrow.high or 0) / (narrow.low or 1))


def test_correlation_is_found_without_its_bias() -> None:
    for true in (0.0, 0.3):
        own = lingering("normal", true, (2000, 20), seed=5)
        raw = [correlation([list(each)]) for each in own]
        # With the allowance of three quarters of a standard error, and at least 0 by definition.
        assert numpy.mean(raw) == pytest.approx(0.21 if true == 0 else 0.44, abs=0.05)


def test_the_error_of_a_mean_is_what_simulation_finds() -> None:
    for true, count in ((0.3, 5), (0.3, 20), (0.6, 20)):
        own = lingering("normal", true, (40_000, count), seed=6)
        own_error = math.sqrt(own.var(axis=1, ddof=1).mean() / count)
        assert more_error(true, count) == pytest.approx(own.mean(axis=1).std() / own_error, rel=0.02)


def test_what_is_usually_allowed_is_what_independent_blocks_get() -> None:
    for count in (5, 10, 15, 30):
        own = lingering("normal", 0.0, (1500, count), seed=7)
        mean = numpy.mean([more_error(correlation([list(each)]), count) for each in own])
        assert usual_allowance(count) == pytest.approx(mean, rel=0.06)


def test_a_great_difference_is_found_all_the_same() -> None:
    logs = [0.10 + each for each in lingering("normal", 0.0, (5,), seed=8) * 0.01]
    assert decide([ratio_of(logs)])[0].verdict == "faster"
