"""Verdicts of several comparisons together, what they could have seen, and what the two intervals say of each other."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from dbdyno.stats import Ratio, decide, detectable, holm, more_rounds, unpaired_ratio, verdict
from dbdyno.stats.intervals import ratio_of, usual_allowance


def drawn(mean: float, deviation: float, count: int, seed: int = 1) -> Ratio:
    logs = numpy.random.default_rng(seed).normal(mean, deviation, count)
    ratio = ratio_of([float(each) for each in logs])
    assert ratio is not None
    return ratio


def test_holm_by_hand() -> None:
    # Sorted: 0.01, 0.03, 0.04 with the factors 3, 2, 1; the last may not be below the one before it.
    corrected = holm([0.04, None, 0.01, 0.03])
    assert corrected[1] is None
    assert [corrected[0], corrected[2], corrected[3]] == pytest.approx([0.06, 0.03, 0.06])


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=12))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(values: list[float]) -> None:
    corrected = [p for p in holm(values) if p is not None]
    assert len(corrected) == len(values)
    assert all(value <= p <= 1 for value, p in zip(values, corrected, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    ranked = [corrected[index] for index in order]
    assert ranked == sorted(ranked)


def test_p_is_that_of_the_t_test_with_neighbours_that_are_alike() -> None:
    logs = [0.01, 0.03, -0.01, 0.04, 0.02]
    ratio = ratio_of(logs)
    assert ratio is not None
    # n times the variance of the mean of 5 values that correlate by 0.3, 0.09, 0.027 and 0.0081.
    total = 1 + 2 * (0.8 * 0.3 + 0.6 * 0.09 + 0.4 * 0.027 + 0.2 * 0.0081)
    assert ratio.wider == pytest.approx(math.sqrt(total * 4 / (5 - total)))
    t = float(scipy_stats.ttest_1samp(logs, 0).statistic) / ratio.wider
    assert ratio.p == pytest.approx(2 * float(scipy_stats.t.sf(t, 4)))


def test_an_unpaired_ratio_is_welchs() -> None:
    a, b = [100.0, 103.0, 99.0, 104.0], [110.0, 108.0, 113.0, 109.0, 111.0]
    ratio = unpaired_ratio(a, b)
    welch = scipy_stats.ttest_ind([math.log(x) for x in b], [math.log(x) for x in a], equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert ratio is not None
    assert ratio.p == pytest.approx(float(welch.pvalue))
    assert ratio.low is not None
    assert ratio.high is not None
    assert (math.log(ratio.low), math.log(ratio.high)) == pytest.approx((interval.low, interval.high))


def test_one_difference_among_many_is_kept_and_chance_is_not() -> None:
    ratios: list[Ratio | None] = [drawn(0.10, 0.01, 8), *(drawn(0.0, 0.03, 8, seed) for seed in range(2, 12)), None]
    words = [decision.verdict for decision in decide(ratios)]
    assert words[0] == "faster"
    assert words[-1] == "inconclusive"
    assert not {"faster", "slower"} & set(words[1:])


@pytest.mark.slow
def test_false_differences_among_many_comparisons_stay_nominal() -> None:
    random = numpy.random.default_rng(7)
    families = 600
    false = 0
    for _ in range(families):
        ratios = [ratio_of([float(x) for x in random.normal(0, 0.03, 6)]) for _ in range(5)]
        false += any(each.verdict in ("faster", "slower") for each in decide(ratios, margin=1e-6))
    # 2 % of 600 are 12, give or take 3.4.
    assert false / families < 0.02 + 3 * 0.0057


def test_alone_it_goes_by_p_and_never_against_its_interval() -> None:
    words = set()
    for seed in range(60):
        ratio = drawn(0.03, 0.03, 6, seed)
        assert ratio.low is not None
        assert ratio.p is not None
        word = verdict(ratio, margin=1e-9)
        words.add(word)
        assert (word == "faster") is (ratio.p < 0.02)
        assert word != "faster" or ratio.low > 1
    assert words == {"faster", "inconclusive"}


def test_what_could_have_been_seen_is_seen_four_times_in_five() -> None:
    random = numpy.random.default_rng(3)
    deviation, count = 0.03, 10
    change = detectable(Ratio(1.0, 1.0, 1.0, count, 1.0, deviation, wider=usual_allowance(count)))
    assert change is not None
    seen = 0
    for _ in range(1000):
        ratio = ratio_of([float(x) for x in random.normal(math.log1p(change), deviation, count)])
        assert ratio is not None
        seen += ratio.p is not None and ratio.p < 0.02
    assert 0.75 < seen / 1000 < 0.88


@pytest.mark.slow
def test_in_a_table_it_is_seen_four_times_in_five_too() -> None:
    random = numpy.random.default_rng(4)
    deviation, count, tested = 0.03, 10, 7
    change = detectable(Ratio(1.0, 1.0, 1.0, count, 1.0, deviation, wider=usual_allowance(count)), tested=tested)
    assert change is not None
    seen = 0
    for _ in range(400):
        true = [math.log1p(change), *[0.0] * (tested - 1)]
        ratios = [ratio_of([float(x) for x in random.normal(mean, deviation, count)], resample=False) for mean in true]
        seen += decide(ratios, margin=1e-9)[0].verdict == "faster"
    assert 0.72 < seen / 400 < 0.9


def test_the_rounds_asked_for_settle_it() -> None:
    ratio = drawn(0.012, 0.03, 6, seed=4)
    more = more_rounds(ratio)
    assert more is not None
    assert ratio.deviation is not None
    count = ratio.count + more
    error = ratio.deviation / math.sqrt(count)
    effect = abs(math.log(ratio.mean))
    different = float(scipy_stats.t.ppf(0.99, count - 1)) * error < effect
    assert different or effect + float(scipy_stats.t.ppf(0.975, count - 1)) * error <= math.log1p(0.02)


def test_rounds_that_nobody_would_wait_for_are_not_asked_for() -> None:
    # Just at the margin: neither a difference that matters nor equivalence will ever be shown.
    assert more_rounds(Ratio(1.0, 0.9, 1.1, 5, 1.0, 2.0)) is None


def test_the_bootstrap_agrees_where_rounds_are_normal_and_says_where_they_are_not() -> None:
    agreeing = sum(not drawn(0.0, 0.03, 12, seed).intervals_disagree for seed in range(50))
    assert agreeing >= 45
    wild = ratio_of([0.0, 0.001, -0.001, 0.0005, 0.002, -0.0005, 0.001, 0.4])
    assert wild is not None
    assert wild.intervals_disagree


def test_the_bootstrap_is_the_same_each_time() -> None:
    assert drawn(0.0, 0.03, 9).bootstrap == drawn(0.0, 0.03, 9).bootstrap
