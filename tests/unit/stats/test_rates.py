"""Rates of windows with few and with many transactions: their intervals hold as often as they say."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis.measured.rounds import transactions_per_s
from dbdyno.model.events import accounting
from dbdyno.stats import Rate, decide, paired_rates, pooled, rate_interval, unpaired_rates
from dbdyno.stats.rates import sampling_error
from simulated_noise import most
from simulated_windows import Kind, windows

RATES = st.lists(
    st.tuples(st.floats(min_value=1e-3, max_value=1e9), st.floats(min_value=0.1, max_value=10)), min_size=2, max_size=30
)


def of(values: list[tuple[float, float]]) -> list[Rate]:
    return [Rate(value, time) for value, time in values]


def test_the_interval_of_a_known_series() -> None:
    # Mean 3, standard deviation sqrt(2.5), t(4) = 2.776: 3 · exp(± 2.776 · sqrt(2.5) / sqrt(5) / 3), and 1.380 times as
    # much for neighbors that are alike.
    interval = rate_interval([Rate(each) for each in (1, 2, 3, 4, 5)])
    assert interval.mean == 3
    assert interval.low == pytest.approx(3 * math.exp(-1.38009 * 0.6544), rel=1e-3)
    assert interval.high == pytest.approx(3 * math.exp(1.38009 * 0.6544), rel=1e-3)


@given(RATES)
def test_the_rate_of_all_rounds_is_all_that_was_done_by_all_the_time(values: list[tuple[float, float]]) -> None:
    done, time = sum(value * time for value, time in values), sum(time for _, time in values)
    interval = rate_interval(of(values))
    assert interval.mean == pytest.approx(done / time)
    if interval.low is not None and interval.high is not None:
        assert 0 <= interval.low <= interval.mean <= interval.high


@given(RATES, RATES)
def test_a_ratio_turned_round_is_its_reciprocal(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> None:
    sides = dict(enumerate(of(a))), dict(enumerate(of(b)))
    one, other = paired_rates(*sides), paired_rates(*reversed(sides))
    assert one is not None and other is not None
    assert one.mean * other.mean == pytest.approx(1)
    if one.low and other.high and other.high < 1e300:
        assert one.low * other.high == pytest.approx(1, rel=1e-6)


def test_what_disturbs_a_block_disturbs_both_alike() -> None:
    drift = [1.0, 2.0, 0.5, 1.5, 0.8]
    a = {block: Rate(100 * each) for block, each in enumerate(drift)}
    b = {block: Rate(173 * each * (1 + block / 1e6)) for block, each in enumerate(drift)}
    ratio = paired_rates(a, b)
    assert ratio is not None and ratio.low is not None and ratio.high is not None
    assert ratio.mean == pytest.approx(1.73, rel=1e-5)
    assert ratio.high / ratio.low < 1.0001


def test_rounds_without_any_spread_are_no_certainty() -> None:
    same = {block: Rate(1.0) for block in range(5)}
    for other in (same, {block: Rate(2.0) for block in range(5)}):
        for ratio in (paired_rates(same, other), unpaired_rates(list(same.values()), list(other.values()))):
            assert ratio is not None and ratio.low is None
            assert decide([ratio])[0].verdict == "inconclusive"
    assert rate_interval(list(same.values())).low is None


def test_counts_that_a_window_cut_may_be_off_by_what_it_cut() -> None:
    # One transaction of 1.1 s, or of 1.9 s, ends in each window of 2 s.
    counted = {block: Rate(0.5 + block / 1e9, resolution=1.0) for block in range(5)}
    ratio = paired_rates(counted, counted | {5: Rate(0.5)})
    assert ratio is not None
    other = paired_rates(counted, {block: Rate(each.value * (1 + block / 1e9)) for block, each in counted.items()})
    assert other is not None and other.low is not None and other.high is not None
    assert other.low <= 1 / 1.99 and other.high >= 1.99
    assert decide([other])[0].verdict == "inconclusive"


def test_few_transactions_leave_an_error_that_rounds_may_not_show() -> None:
    # Three rounds of one exponential time each that agree by chance.
    few = [Rate(1.0 + each / 1000, count=1, seconds=1.0, squares=2.0) for each in range(3)]
    assert sampling_error(few) == pytest.approx(math.sqrt((3 * 6 / 9 - 1) * 4 / 2 / 3))
    interval = rate_interval(few)
    assert interval.low is not None and interval.low < 0.2
    # Times that are all alike leave none.
    assert sampling_error([Rate(1.0, count=2, seconds=2.0, squares=2.0)] * 3) == 0
    assert sampling_error([Rate(1.0, count=1, seconds=1.0, squares=1.0)]) == 1
    # What many leave, rounds show.
    assert sampling_error([Rate(1.0, count=100, seconds=100.0, squares=9000.0)] * 3) == 0


def test_no_round_has_no_rate() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        pooled([])
    assert rate_interval([Rate(7.0)]).low is None
    assert paired_rates({0: Rate(1.0)}, {1: Rate(1.0)}) is None
    assert unpaired_rates([], [Rate(1.0)]) is None


def runs_of(made: list[Rate], rounds: int) -> list[list[Rate]]:
    return [made[at : at + rounds] for at in range(0, len(made), rounds)]


LENGTHS = [1.0, 10.0, 1e3, 1e6]


@pytest.mark.parametrize(
    ("kind", "clients", "length"),
    [(kind, clients, length) for kind in ("exponential",) for clients in (1, 8, 64) for length in LENGTHS]
    + [
        (kind, clients, length)
        for kind in ("uniform", "steady", "lognormal")
        for clients in (1, 8)
        for length in (1.0, 10.0)
    ],
)
def test_the_interval_of_95_percent_holds_in_at_least_94_percent_of_runs(
    kind: Kind, clients: int, length: float
) -> None:
    runs, random = 300, numpy.random.default_rng(1)
    for rounds in (3, 10):
        missed = 0
        for each in runs_of(windows(random, kind, clients, length, runs * rounds), rounds):
            interval = rate_interval(each)
            assert interval.low is not None and interval.high is not None
            missed += not interval.low <= clients <= interval.high
        assert missed / runs <= most(0.06, runs), (rounds, missed)


@pytest.mark.slow
@pytest.mark.parametrize(("clients", "length"), [(1, 1.0), (1, 10.0), (8, 1.0), (64, 1e4)])
def test_cells_of_one_rate_and_different_times_seem_to_differ_in_at_most_2_percent(clients: int, length: float) -> None:
    """Of few transactions the logarithm of a rate is too small by more the more they differ."""
    runs, random = 300, numpy.random.default_rng(2)
    for rounds in (3, 10, 30):
        differ = 0
        kinds: tuple[Kind, Kind] = ("exponential", "uniform" if length < 100 else "exponential")
        both = (runs_of(windows(random, kind, clients, length, runs * rounds), rounds) for kind in kinds)
        for a, b in zip(*both, strict=True):
            ratio = paired_rates(dict(enumerate(a)), dict(enumerate(b)))
            differ += decide([ratio])[0].verdict in ("faster", "slower")
        assert differ / runs <= most(0.02, runs), (rounds, differ)


def test_a_client_that_waited_for_a_lock_counts_within_the_window() -> None:
    # One client did 139 transactions. The other one got the lock when the window ended, for one of 64 µs.
    few = accounting.Few(clients=1, completed=1, seconds=64e-6, within=0.5, window_s=0.4)
    whole = accounting.Whole(completed=0.0, seconds=0.0)
    rate = accounting.Rate(many_per_s=139 / 0.4, few=few, whole=whole, client_s=0.4, clients=2)
    value, other = transactions_per_s(rate)
    assert value == pytest.approx(139.5 / 0.4)
    assert other > 10
    # Alone, it waits for no other client.
    alone = rate.model_copy(update={"many_per_s": 0.0, "clients": 1})
    assert transactions_per_s(alone) == (pytest.approx(1 / 64e-6), 1.0)
