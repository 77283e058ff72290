"""Budgets of time, with a clock of the test's own."""

import pytest

from dbdyno.run.pace import Pace
from dbdyno.stats import Stopping


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _rounds(budget_s: float, took: list[float], *, kept: int = 2, setup_s: float = 0.0) -> int:
    """Return how many rounds, which take what is given, a budget has room for."""
    clock = _Clock()
    pace = Pace(Stopping(budget_s=budget_s, kept=kept), 1, clock.now, clock)
    clock.now += setup_s
    for number, seconds in enumerate(took):
        pace.begin_round(number)
        clock.now += seconds
        pace.end_round(seconds)
        if pace.spent(number + 1):
            return number + 1
    return len(took)


def test_a_round_that_would_end_beyond_the_budget_is_not_begun() -> None:
    assert _rounds(60.0, [12.0] * 30) == 5
    assert _rounds(59.0, [12.0] * 30) == 4
    assert _rounds(59.0, [12.0, 12.0, 20.0, 12.0]) == 3, "the last round tells what the next will take"


def test_what_comes_before_the_rounds_counts() -> None:
    assert _rounds(60.0, [12.0] * 30, setup_s=13.0) == 3


def test_rounds_that_an_interval_needs_may_exceed_the_budget() -> None:
    assert _rounds(10.0, [12.0] * 30) == 2
    assert _rounds(20.0, [9.0] * 30, kept=4) == 4
    assert _rounds(100.0, [48.0] * 30, kept=4) == 4


def test_rounds_that_take_far_more_than_the_budget_are_not_repeated() -> None:
    assert _rounds(10.0, [54.0] * 30) == 1
    assert _rounds(20.0, [15.0] * 30, kept=4) == 2
    assert _rounds(100.0, [60.0] * 30, kept=4) == 3


def test_without_a_budget_nothing_ends_a_run() -> None:
    clock = _Clock()
    for rule in (None, Stopping()):
        pace = Pace(rule, 1, clock.now, clock)
        assert pace.begin_round(0) is None
        clock.now += 1e6
        pace.end_round(1e6)
        assert not pace.spent(100)


def test_windows_leave_room_for_the_rounds_that_are_needed() -> None:
    clock = _Clock()
    pace = Pace(Stopping(budget_s=40.0), 4, clock.now, clock)
    first = pace.begin_round(0)
    assert first is not None
    assert 4 * first < 20.0, "two rounds share the budget"
    # What a round takes beside its windows is known from then on.
    clock.now += 16.0
    pace.end_round(windows_s=10.0)
    assert pace.begin_round(1) == pytest.approx((24.0 - 6.0) / 4)
    # What was loaded for all rounds doesn't count for the next one.
    clock.now += 16.0
    pace.end_round(windows_s=6.0, load_s=8.0)
    assert pace.begin_round(1) == pytest.approx((8.0 - 2.0) / 4)
    # A window is never so short that it holds nothing.
    clock.now += 100.0
    shortest = pace.begin_round(1)
    assert shortest is not None
    assert shortest > 0
