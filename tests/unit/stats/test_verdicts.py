"""Verdicts of several comparisons together, what they could have seen."""

from __future__ import annotations

import math

import numpy
import pytest
from scipy import stats as scipy_stats

from dbdyno.stats import Ratio, decide, detectable, more_rounds, unpaired_ratio, verdict
from dbdyno.stats.intervals import ratio_of, usual_allowance


def drawn(mean: float, deviation: float, count: int, seed: int = 1) -> Ratio:
    logs = numpy.random.default_rng(seed).normal(mean, deviation, count)
    ratio = ratio_of([float(each) for each in logs])
    assert ratio is not None
    return ratio


def usual(deviation: float, count: int) -> Ratio:
    return Ratio(1.0, deviation / math.sqrt(count) * usual_allowance(count), count - 1, count)


def test_an_interval_is_that_of_the_t_test_with_neighbors_that_are_alike() -> None:
    logs = [0.01, 0.03, -0.01, 0.04, 0.02]
    ratio = ratio_of(logs)
    assert ratio is not None
    # n times the variance of the mean of 5 values that correlate by 0.3, 0.09, 0.027 and 0.0081.
    total = 1 + 2 * (0.8 * 0.3 + 0.6 * 0.09 + 0.4 * 0.027 + 0.2 * 0.0081)
    error = float(scipy_stats.sem(logs)) * math.sqrt(total * 4 / (5 - total))
    assert ratio.error == pytest.approx(error)
    assert ratio.reach == pytest.approx(float(scipy_stats.t.ppf(0.975, 4)) * error)


def test_intervals_of_a_family_are_wider_and_decide() -> None:
    ratios = [drawn(0.03, 0.03, 6, seed) for seed in range(60)]
    words = set()
    for size in (1, 5):
        for ratio, decision in zip(ratios, decide(ratios, 1e-9, size), strict=True):
            made = decision.ratio
            assert made is not None and made.low is not None and made.high is not None
            assert made.ends == ratio.at(1 - 0.05 / size).ends
            word = "faster" if made.low > 1 else "slower" if made.high < 1 else "inconclusive"
            assert decision.verdict == word
            words.add(word)
    assert words >= {"faster", "inconclusive"}
    assert [each.ratio for each in decide([*ratios[:3], None])] == [
        *(each.at(1 - 0.05 / 4) for each in ratios[:3]),
        None,
    ]


def test_an_unpaired_ratio_is_welchs() -> None:
    a, b = [100.0, 103.0, 99.0, 104.0], [110.0, 108.0, 113.0, 109.0, 111.0]
    ratio = unpaired_ratio(a, b)
    welch = scipy_stats.ttest_ind([math.log(x) for x in b], [math.log(x) for x in a], equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert ratio is not None
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
    # 5 % of 600 are 30, give or take 5.3.
    assert false / families < 0.05 + 3 * 0.0089


def test_what_could_have_been_seen_is_seen_four_times_in_five() -> None:
    random = numpy.random.default_rng(3)
    deviation, count = 0.03, 10
    change = detectable(usual(deviation, count))
    assert change is not None
    seen = 0
    for _ in range(1000):
        ratio = ratio_of([float(x) for x in random.normal(math.log1p(change), deviation, count)])
        assert ratio is not None
        seen += verdict(ratio, 1e-9) == "faster"
    assert 0.75 < seen / 1000 < 0.88


@pytest.mark.slow
def test_in_a_table_it_is_seen_four_times_in_five_too() -> None:
    random = numpy.random.default_rng(4)
    deviation, count, tested = 0.03, 10, 7
    change = detectable(usual(deviation, count).at(1 - 0.05 / tested))
    assert change is not None
    seen = 0
    for _ in range(400):
        true = [math.log1p(change), *[0.0] * (tested - 1)]
        ratios = [ratio_of([float(x) for x in random.normal(mean, deviation, count)]) for mean in true]
        seen += decide(ratios, margin=1e-9)[0].verdict == "faster"
    assert 0.72 < seen / 400 < 0.9


@pytest.mark.parametrize(("true", "deviation"), [(0.0, 0.02), (0.03, 0.03), (0.1, 0.1), (0.02, 0.03)])
def test_the_rounds_asked_for_settle_it_four_times_in_five(true: float, deviation: float) -> None:
    random = numpy.random.default_rng(5)
    asked = settled = 0
    for _ in range(400):
        logs = [float(each) for each in random.normal(true, deviation, 1000)]
        (decision,) = decide([ratio_of(logs[:5])])
        if decision.more_rounds is not None:
            asked += 1
            settled += decide([ratio_of(logs[: 5 + decision.more_rounds])])[0].verdict != "inconclusive"
    assert asked > 80
    assert settled / asked > 0.8 - 2 * math.sqrt(0.8 * 0.2 / asked)


def test_rounds_that_nobody_would_wait_for_are_not_asked_for() -> None:
    # 30 rounds show hardly anything, and the margin is far out of reach.
    assert more_rounds(Ratio(1.0, 1.0, 29, 30)) is None
