"""Change points of series. The series are drawn from distributions with fixed seeds; nothing here was measured."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.history.changepoints import MINIMAL_SEGMENT, SIGNIFICANCE, find_change_points, student_p

NOISE = {
    "normal": lambda rng, count: 100 + rng.normal(size=count),
    "long tails": lambda rng, count: 100 + rng.standard_t(3, size=count),
    "skewed": lambda rng, count: np.exp(rng.normal(size=count)),
}


def places(values: object) -> list[int]:
    return [each.index for each in find_change_points(values)]  # type: ignore[arg-type]


def shifted(count: int, steps: dict[int, float], seed: int) -> list[float]:
    """Normal noise of standard deviation 1 whose mean changes at each step by so many of them."""
    values = 100 + np.random.default_rng(seed).normal(size=count)
    for at, by in steps.items():
        values[at:] += by
    return [float(each) for each in values]


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(("count", "series"), [(5, 2000), (8, 2000), (19, 2000), (20, 1000), (40, 1000)])
def test_noise_alone_is_said_to_change_no_more_often_than_stated(noise: str, count: int, series: int) -> None:
    rng = np.random.default_rng(count)
    alarms = sum(bool(find_change_points(NOISE[noise](rng, count))) for _ in range(series))
    assert alarms / series <= SIGNIFICANCE + 0.01


@pytest.mark.parametrize(
    ("count", "steps", "least"),
    [
        (20, {10: 3}, 0.85),
        (40, {20: -3}, 0.9),
        (100, {50: 3}, 0.9),
        (100, {30: 3, 60: -3}, 0.8),
        # A change that was undone: half before and half after it agree on the mean.
        (60, {25: 4, 33: -4}, 0.8),
        # The two newest runs only.
        (20, {18: 5}, 0.85),
        (12, {10: 5}, 0.85),
        (8, {4: 5}, 0.9),
        (5, {3: 8}, 0.9),
    ],
)
def test_a_shift_is_found_at_its_place(count: int, steps: dict[int, float], least: float) -> None:
    found = 0
    for seed in range(60):
        there = places(shifted(count, steps, seed))
        found += all(any(abs(each - at) <= 1 for each in there) for at in steps)
    assert found / 60 >= least


def test_a_long_series_has_each_of_its_changes() -> None:
    there = places(shifted(500, {100: 3, 250: -3, 400: 5}, seed=3))
    assert all(any(abs(each - at) <= 1 for each in there) for at in (100, 250, 400))


def test_a_change_without_noise_is_certain() -> None:
    for count, at in ((5, 3), (19, 2), (40, 20)):
        values = [10.0] * at + [11.0] * (count - at)
        (found,) = find_change_points(values)
        assert found.index == at
        assert found.p_value <= SIGNIFICANCE


def test_one_run_that_stands_alone_is_no_change() -> None:
    values = shifted(30, {}, seed=1)
    values[12] += 50
    assert places(values) == []


def test_the_last_run_alone_is_no_change_yet() -> None:
    assert places([10.0, 10.1, 9.9, 10.0, 10.05, 20.0]) == []


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        find_change_points([1.0, bad, 2.0, 3.0, 4.0])


def test_students_p_is_that_of_the_tables() -> None:
    # Means 2 and 5, variances 1 and 1, so t = -3 / sqrt(2/3) = -3.674 with 4 degrees of freedom.
    assert student_p(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])) == pytest.approx(0.0213, abs=1e-4)


values_of_a_series = st.lists(st.floats(-1e9, 1e9).map(lambda each: round(each, 3)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(values_of_a_series)
def test_any_series_gives_changes_that_part_it(values: list[float]) -> None:
    found = find_change_points(values)
    assert found == find_change_points(values)
    bounds = [0, *(each.index for each in found), len(values)]
    assert bounds == sorted(bounds)
    if found:
        assert min(after - before for before, after in pairwise(bounds)) >= MINIMAL_SEGMENT
    assert all(0 <= each.p_value <= SIGNIFICANCE for each in found)


@settings(max_examples=60, deadline=None)
@given(values_of_a_series.filter(lambda values: len(values) < 2 * MINIMAL_SEGMENT))
def test_a_series_too_short_for_two_segments_has_no_change(values: list[float]) -> None:
    assert find_change_points(values) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 4.0, 1024.0]), st.integers(6, 40))
def test_the_unit_of_the_values_makes_no_difference(seed: int, scale: float, count: int) -> None:
    values = shifted(count, {count // 2: 2}, seed)
    assert places(values) == places([scale * each for each in values])
