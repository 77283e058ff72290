"""Intervals, ratios, verdicts and outliers, against known series, scipy and the properties they must have."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from dbdyno.stats import Ratio, decide, outliers, paired_ratio, t_quantile, unpaired_ratio, verdict
from dbdyno.stats.intervals import correlation, deviation, more_error

VALUES = st.lists(st.floats(min_value=1e-3, max_value=1e9), min_size=2, max_size=30)
PAIRS = st.lists(
    st.tuples(st.floats(min_value=1e-2, max_value=1e6), st.floats(min_value=1e-2, max_value=1e6)),
    min_size=2,
    max_size=20,
)


def test_quantiles_are_those_of_the_printed_tables() -> None:
    assert t_quantile(0.975, 1) == pytest.approx(12.706, abs=5e-4)
    assert t_quantile(0.975, 4) == pytest.approx(2.776, abs=5e-4)
    assert t_quantile(0.95, 29) == pytest.approx(1.699, abs=5e-4)


@given(PAIRS)
def test_a_ratio_turned_round_is_its_reciprocal(pairs: list[tuple[float, float]]) -> None:
    a = {block: pair[0] for block, pair in enumerate(pairs)}
    b = {block: pair[1] for block, pair in enumerate(pairs)}
    one, other = paired_ratio(a, b), paired_ratio(b, a)
    assert one is not None
    assert other is not None
    assert one.mean * other.mean == pytest.approx(1)
    assert (one.low is None) == (other.high is None)
    if one.low is not None and other.high is not None:
        assert one.low * other.high == pytest.approx(1, rel=1e-6)


@given(PAIRS)
def test_the_ratio_is_scipys_paired_test_on_logarithms(pairs: list[tuple[float, float]]) -> None:
    logs = [math.log(b / a) for a, b in pairs]
    if max(logs) - min(logs) < 1e-6:
        return
    ratio = paired_ratio(dict(enumerate(a for a, _ in pairs)), dict(enumerate(b for _, b in pairs)))
    test = scipy_stats.ttest_rel([math.log(b) for _, b in pairs], [math.log(a) for a, _ in pairs])
    expected = test.confidence_interval(0.95)
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    if abs(expected.low) > 600 or abs(expected.high) > 600:
        return  # Wild pairs ask for more than a float holds.
    middle, wider = statistics.fmean(logs), more_error(correlation([logs]), len(logs))
    ends = [max(-700.0, min(700.0, middle + wider * (end - middle))) for end in (expected.low, expected.high)]
    assert [math.log(ratio.low), math.log(ratio.high)] == pytest.approx(ends, rel=1e-6, abs=1e-6)


@given(VALUES.filter(lambda values: len(values) >= 3), st.floats(min_value=0.5, max_value=2))
def test_drift_that_hits_both_alike_does_not_blur_a_ratio(drift: list[float], factor: float) -> None:
    a = dict(enumerate(drift))
    b = {block: value * factor * (1 + block / 1e9) for block, value in a.items()}
    ratio = paired_ratio(a, b)
    assert ratio is not None
    assert ratio.low == pytest.approx(factor, rel=1e-5)
    assert ratio.high == pytest.approx(factor, rel=1e-5)


@pytest.mark.parametrize("ratio", [paired_ratio, lambda a, b: unpaired_ratio(list(a.values()), list(b.values()))])
def test_rounds_without_any_spread_are_no_certainty(ratio: Any) -> None:
    a, b = dict.fromkeys(range(5), 0.5), dict.fromkeys(range(5), 1.0)
    for other in (a, b):
        found = ratio(a, other)
        assert (found.low, found.high) == (None, None)
        assert decide([found])[0].verdict == "inconclusive"


def test_counts_without_any_spread_are_certain() -> None:
    a, b = dict.fromkeys(range(3), 1000.0), dict.fromkeys(range(3), 1001.0)
    same, other = paired_ratio(a, a, exact=True), paired_ratio(a, b, exact=True)
    assert same is not None and same.ends == [1.0, 1.0]
    assert other is not None and other.ends == pytest.approx([1.001, 1.001])


def test_only_blocks_that_both_have_count() -> None:
    ratio = paired_ratio({0: 10.0, 1: 10.0, 2: 0.0}, {1: 20.0, 2: 20.0, 3: 20.0})
    assert ratio is not None
    assert ratio.mean == pytest.approx(2.0)
    assert (ratio.low, ratio.high, ratio.count) == (None, None, 1)
    assert paired_ratio({0: 1.0}, {1: 1.0}) is None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.03, 1.08, "faster"),
        (1.01, 1.05, "faster"),
        (1.001, 1.05, "faster"),
        (0.90, 0.97, "slower"),
        (0.99, 1.01, "equivalent"),
        (1.005, 1.015, "equivalent"),
        (0.97, 1.05, "inconclusive"),
        (0.999, 1.05, "inconclusive"),
        (None, None, "inconclusive"),
    ],
)
def test_verdicts(low: float | None, high: float | None, expected: str) -> None:
    assert verdict(_ratio(low, high), margin=0.02) == expected


def _ratio(low: float | None, high: float | None, count: int = 5) -> Ratio:
    """A ratio of so many blocks with this interval, and all that follows from it."""
    if low is None or high is None:
        return Ratio(1.0, None, 0.0, 1)
    middle, half = math.log(low * high) / 2, math.log(high / low) / 2
    error = half / t_quantile(0.975, count - 1)
    return Ratio(math.exp(middle), error, count - 1, count)


@given(PAIRS, st.floats(min_value=0.001, max_value=0.5))
def test_verdicts_turn_round_with_the_ratio(pairs: list[tuple[float, float]], margin: float) -> None:
    a = {block: pair[0] for block, pair in enumerate(pairs)}
    b = {block: pair[1] for block, pair in enumerate(pairs)}
    one, other = paired_ratio(a, b), paired_ratio(b, a)
    assert one is not None
    assert other is not None
    bounds = [bound for bound in (one.low, one.high) if bound is not None]
    # Where a bound lies on a limit to the last digit, rounding may decide.
    if any(abs(math.log(bound)) < 1e-9 or abs(abs(math.log(bound)) - math.log1p(margin)) < 1e-9 for bound in bounds):
        return
    turned = {"faster": "slower", "slower": "faster"}
    assert verdict(other, margin) == turned.get(verdict(one, margin), verdict(one, margin))


def test_outliers_are_pointed_out() -> None:
    assert outliers([100.0, 101.0, 99.0, 100.5, 60.0]) == [4]
    assert outliers([100.0, 101.0, 99.0, 100.5, 98.0]) == []


def test_few_or_nearly_equal_values_have_no_outliers() -> None:
    assert outliers([1.0, 1.0, 1.0, 9.0]) == []
    assert outliers([100.0, 100.0, 100.0, 100.0, 103.0]) == []


@given(VALUES)
def test_at_most_half_are_outliers(values: list[float]) -> None:
    assert len(outliers(values)) <= len(values) / 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.floats(-1e9, 1e9))
def test_the_standard_deviation_is_that_of_exact_fractions(values: list[float], offset: float) -> None:
    moved = [each + offset for each in values]
    assert deviation(moved) == pytest.approx(statistics.stdev(moved), rel=1e-9, abs=1e-12)
    assert deviation([offset] * len(values)) == 0
