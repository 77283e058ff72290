"""Two levels and a level that moves: found where they are, and not in noise."""

from __future__ import annotations

import numpy
import pytest

from dbdyno.stats import trend, two_levels
from dbdyno.stats.stability import thirds


def test_two_levels_are_found() -> None:
    found = two_levels([100, 121, 101, 120, 99, 122, 100])
    assert found == (pytest.approx(100), pytest.approx(121))


@pytest.mark.parametrize(
    "values", [[100, 101, 102, 99, 100, 98, 130], [100, 120, 100, 120], [100.0] * 8, [100, 102, 104, 106, 108, 110]]
)
def test_one_level_is_one(values: list[float]) -> None:
    assert two_levels(values) is None


def test_noise_is_seldom_two_levels() -> None:
    random = numpy.random.default_rng(5)
    found = sum(two_levels([float(x) for x in random.normal(100, 5, 10)]) is not None for _ in range(500))
    assert found / 500 < 0.05


def test_a_window_that_has_not_settled_is_told_by_how_much() -> None:
    rising = [50, 60, 80, 95, 100, 100, 100, 100, 100]
    assert trend([rising, rising]) == pytest.approx(100 / (190 / 3) - 1)


def test_a_level_window_has_no_trend() -> None:
    random = numpy.random.default_rng(6)
    windows = [[float(x) for x in random.normal(100, 4, 12)] for _ in range(5)]
    assert trend(windows) is None
    assert trend([[1.0, 2.0, 3.0]]) is None
    assert trend([]) is None


def test_noise_is_seldom_a_trend() -> None:
    random = numpy.random.default_rng(7)
    for rounds, intervals in ((1, 20), (2, 20), (3, 9), (5, 7)):
        windows = random.lognormal(0, 0.15, (400, rounds, intervals))
        found = sum(trend([[float(x) for x in window] for window in run]) is not None for run in windows)
        assert found / 400 < 0.01, (rounds, intervals)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_window_that_falls_in_each_round_is_told(rounds: int) -> None:
    random = numpy.random.default_rng(8)
    falling = numpy.linspace(1, 0.3, 13) * random.lognormal(0, 0.05, (rounds, 13))
    assert (trend([[float(x) for x in window] for window in falling]) or 0) < -0.3


def test_clients_that_end_their_transactions_together_are_no_trend() -> None:
    """Eight clients take 0.7 s each; an interval of 0.25 s holds none or eight of their transactions."""
    counts = [0.0] * 20
    for number in range(1, 7):
        counts[int(0.7 * number / 0.25)] += 8
    counts = counts[:16]
    windows = [counts, counts, counts]
    assert trend(windows) is not None
    first, last = thirds(counts)
    assert trend(windows, [8 / min(first, last)] * 3) is None
    # More than one transaction of each client is a change.
    rising = [1.0] * 5 + [2.0] * 6 + [6.0] * 5
    assert trend([rising, rising], [8 / 5] * 2) == pytest.approx(5.0)
