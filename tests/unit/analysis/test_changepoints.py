"""Change points of series. The series are drawn from distributions with fixed seeds; nothing here was measured.

What is simulated goes through the function that marks changes: it goes through a series run by run, so that a series of
which it marks nothing is one that was looked at after every run and never had a mark.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dbdyno.analysis.history import changepoints, evidence
from dbdyno.analysis.history.changepoints import FALSE_ALARMS, LIFE, MIN_VALUES, ODDS, STRETCH, find_change_points
from dbdyno.analysis.history.evidence import MIN_SEGMENT, Noise, log_odds
from dbdyno.analysis.measured.comparisons import RunNoise
from simulated_noise import between_runs, lingering, most

# A run is noisy by 2 % (1 sd).
DEVIATION = 0.02


def places(values: object) -> list[int]:
    return [each.index for each in find_change_points(values)]  # type: ignore[arg-type]


def shifted(count: int, steps: dict[int, float], seed: int, correlation: float = 0.0) -> list[float]:
    """Normal noise whose level changes at each step by so many standard deviations, as logarithms."""
    values = lingering("normal", correlation, (count,), seed)
    for at, by in steps.items():
        values[at:] += by
    return [float(4.6 + DEVIATION * each) for each in values]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "correlation", "allowed"),
    [
        ("normal", 0.0, FALSE_ALARMS),
        ("normal", 0.4, 0.1),
        ("normal", 0.6, 0.2),
        ("t of 3", 0.0, FALSE_ALARMS),
        ("lognormal", 0.0, FALSE_ALARMS),
        ("two levels, 10 %", 0.0, FALSE_ALARMS),
    ],
)
def test_a_series_without_a_change_seldom_has_one_in_all_its_life(
    kind: str, correlation: float, allowed: float
) -> None:
    series = 200
    noise = 4.6 + DEVIATION * lingering(kind, correlation, (series, LIFE), seed=1)
    alarms = sum(bool(find_change_points(list(each))) for each in noise)
    assert alarms / series <= most(allowed, series)


@pytest.mark.parametrize("least", [0.0, RunNoise(0.1, 9, 10).least])
def test_runs_that_differ_by_a_tenth_are_equal_and_a_loss_of_30_percent_is_found(least: float) -> None:
    """Runs differ by 10 %, and the five rounds of each by 3 %; ``least``: as measured by ten runs, or unknown."""
    series = 60
    equal = between_runs(series, 40, seed=3)
    slower = between_runs(series, 30, seed=4)
    slower[:, 15:] += np.log(0.7)
    alarms, found = (sum(bool(find_change_points(list(each), 0.0, least)) for each in logs) for logs in (equal, slower))
    assert alarms / series <= FALSE_ALARMS
    # Nineteen of twenty, but for chance.
    assert 1 - found / series <= most(0.05, series)


def test_runs_that_differ_less_than_their_machine_is_known_to_are_equal() -> None:
    values = shifted(20, {10: 4}, seed=2)
    assert places(values) == [10]
    assert find_change_points(values, 0.0, RunNoise(4 * DEVIATION, 9, 10).least) == []


@pytest.mark.parametrize(
    ("count", "steps", "least"),
    [
        # Held for ten runs.
        (40, {30: 3}, 0.85),
        (60, {50: -3}, 0.9),
        (20, {10: 6}, 0.85),
        (100, {50: 3}, 0.9),
        (100, {30: 4, 60: -4}, 0.9),
        # A change that was undone: half before and half after it agree on the mean.
        (60, {25: 6, 33: -6}, 0.9),
        # The five newest runs only.
        (30, {24: 6}, 0.85),
        (16, {11: 10}, 0.8),
    ],
)
def test_a_shift_is_found_near_its_place(count: int, steps: dict[int, float], least: float) -> None:
    found = 0
    for seed in range(60):
        there = places(shifted(count, steps, seed))
        found += all(any(abs(each - at) <= 2 for each in there) for at in steps)
    assert found / 60 >= least


def test_a_shift_in_noise_that_lingers_is_found_later() -> None:
    found = sum(bool(places(shifted(50, {30: 4}, seed, correlation=0.4))) for seed in range(60))
    assert found / 60 >= 0.85


def test_a_mark_neither_goes_away_nor_moves_when_runs_follow() -> None:
    for seed in range(3):
        values = shifted(70, {20: 5, 40: -3}, seed, correlation=0.3)
        marks = find_change_points(values)
        assert marks
        for count in range(len(values)):
            assert find_change_points(values[:count]) == [each for each in marks if each.seen < count]


def test_an_excursion_that_fades_is_no_change() -> None:
    """One run far off, where noise lingers: the next ones are on their way back."""
    for seed in range(5):
        values = np.asarray(shifted(60, {}, seed, correlation=0.4))
        values[30:] += 6 * DEVIATION * 0.4 ** np.arange(30)
        assert places(values) == []


def test_a_long_series_has_each_of_its_changes() -> None:
    there = places(shifted(300, {60: 4, 150: -4, 240: 6}, seed=3))
    assert all(any(abs(each - at) <= 1 for each in there) for at in (60, 150, 240))


def test_a_change_without_noise_is_certain() -> None:
    for count, at in ((MIN_VALUES, MIN_SEGMENT), (19, 4), (40, 20)):
        values = [10.0] * at + [11.0] * (count - at)
        (found,) = find_change_points(values)
        assert found.index == at
        assert found.seen == max(at + MIN_SEGMENT, MIN_VALUES) - 1
        assert found.odds > ODDS * (found.seen + 1)


def test_what_is_within_the_resolution_is_the_same() -> None:
    values = [10.0] * 8 + [10.001] * 8
    assert places(values) == [8]
    assert find_change_points(values, resolution=0.001) == []
    assert [each.index for each in find_change_points(values, resolution=0.00001)] == [8]


def test_one_run_that_stands_alone_is_no_change() -> None:
    values = shifted(30, {}, seed=1)
    values[12] += 50 * DEVIATION
    assert places(values) == []


def test_the_last_runs_are_no_change_until_there_are_three() -> None:
    steady = shifted(20, {}, seed=1)
    assert places([*steady, *(each + 2.0 for each in steady[:2])]) == []
    assert places([*steady, *(each + 2.0 for each in steady[:6])]) == [20]


def test_a_machine_without_noise_makes_the_odds_greater_the_longer_it_lasts() -> None:
    values = np.asarray([0.0, 0.1, -0.1, 0.05, 0.0, 1.0, 1.1, 0.9, 1.0, 1.05, 0.95])
    best = [log_odds(values[:count], Noise.unknown(), 0.0).max() for count in range(8, len(values) + 1)]
    assert best == sorted(best)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        find_change_points([1.0, bad, 2.0, 3.0, 4.0])


def test_the_odds_are_those_of_the_regression() -> None:
    """Against the same marginal likelihoods by matrices: whitened values, their level, and a step or a shock."""
    values = np.random.default_rng(8).normal(size=9)
    values[5:] += 2.5
    # As far as values are from being moved.
    middle = np.median(values)
    reach = evidence.FAR * 1.4826 * np.median(np.abs(values - middle))
    x = np.clip(values, middle - reach, middle + reach)
    count, at = len(x), 5
    sides = np.zeros((3, len(evidence.CORRELATIONS)))
    for column, rho in enumerate(evidence.CORRELATIONS):
        whiten = np.eye(count) - rho * np.eye(count, k=-1)
        whiten[0, 0] = np.sqrt(1 - rho**2)
        z, level = whiten @ x, whiten @ np.ones(count)
        step = whiten @ (np.arange(count) >= at).astype(float)
        shock = (np.arange(count) == at).astype(float)
        rows = (
            (step, [0.0]),
            (step, [each / (1 - rho**2) for each in evidence.STEP]),
            (shock, list(evidence.SHOCK)),
        )
        for row, (regressor, variances) in enumerate(rows):
            for variance in variances:
                spread = np.eye(count) + variance * np.outer(regressor, regressor)
                inverse = np.linalg.inv(spread)
                weight = level @ inverse @ level
                left = z @ inverse @ z - (level @ inverse @ z) ** 2 / weight
                marginal = np.linalg.slogdet(whiten)[1] - (np.linalg.slogdet(spread)[1] + np.log(weight)) / 2
                marginal -= (count - 1) / 2 * np.log(left)
                sides[row, column] += evidence.LIKELY[column] * np.exp(marginal) / len(variances)
    nothing, change, alone = sides.sum(axis=1)
    expected = np.log(change / ((nothing + alone) / 2))
    expected -= evidence.SHORT / (count - at)
    assert log_odds(values, Noise.unknown(), 0.0)[at - MIN_SEGMENT] == pytest.approx(expected, abs=1e-6)


values_of_a_series = st.lists(st.floats(-1e9, 1e9).map(lambda each: round(each, 3)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(values_of_a_series)
def test_any_series_gives_changes_that_part_it(values: list[float]) -> None:
    found = find_change_points(values)
    assert found == find_change_points(values)
    bounds = [0, *(each.index for each in found), len(values)]
    assert bounds == sorted(bounds)
    if found:
        assert min(after - before for before, after in pairwise(bounds)) >= MIN_SEGMENT
    assert all(each.index + MIN_SEGMENT <= each.seen + 1 <= len(values) for each in found)


@settings(max_examples=60, deadline=None)
@given(values_of_a_series.filter(lambda values: len(values) < MIN_VALUES))
def test_a_series_too_short_for_two_stretches_has_no_change(values: list[float]) -> None:
    assert find_change_points(values) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 4.0, 1024.0]), st.integers(10, 40))
def test_the_unit_of_the_values_makes_no_difference(seed: int, scale: float, count: int) -> None:
    values = shifted(count, {count // 2: 5}, seed)
    assert places(values) == places([scale * each for each in values])


def test_a_long_series_is_searched_in_short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    longest: list[int] = []
    search = changepoints.log_odds

    def measured(values: NDArray[np.float64], *more: Any) -> NDArray[np.float64]:
        longest.append(len(values))
        return search(values, *more)

    monkeypatch.setattr(changepoints, "log_odds", measured)
    rng = np.random.default_rng(7)
    values = rng.normal(size=4000)
    values[2900:] += 3
    found = find_change_points(values.tolist())
    assert len(found) == 1 and abs(found[0].index - 2900) <= MIN_SEGMENT
    # Most runs look like those before, and nothing is searched after them.
    assert max(longest) <= 2 * STRETCH and len(longest) < len(values) / 3
    assert find_change_points(values[: found[0].seen + 1].tolist()) == found
    assert find_change_points(values[: found[0].seen].tolist()) == []


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_where_nothing_is_searched_nothing_would_be_found(monkeypatch: pytest.MonkeyPatch, correlation: float) -> None:
    rng = np.random.default_rng(11)
    series = []
    for _ in range(6):
        values = rng.standard_t(4, 300)
        for index in range(1, len(values)):
            values[index] += correlation * values[index - 1]
        values[rng.integers(100, 280) :] += rng.choice([-2, -1, 1, 2]) * values.std()
        series.append(values.tolist())
    screened = [find_change_points(each) for each in series]
    monkeypatch.setattr(changepoints, "SCREENED", 10**6)
    assert screened == [find_change_points(each) for each in series]
    assert any(screened)
