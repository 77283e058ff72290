"""Histograms: decoding, merging and percentiles, against the library's own slow ways. Values are synthetic."""

from __future__ import annotations

import base64
import zlib

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.analysis.measured.histograms import Histogram, HistogramError, merge

HOUR = 3_600_000_000_000
TIMES = st.lists(st.integers(min_value=1, max_value=HOUR // 2), min_size=1, max_size=60)


def recorded(values: list[int], highest: int = HOUR, digits: int = 3) -> HdrHistogram:
    histogram = HdrHistogram(1, highest, digits)
    for value in values:
        histogram.record_value(value)
    return histogram


def encoded(values: list[int], highest: int = HOUR, digits: int = 3) -> str:
    return bytes(recorded(values, highest, digits).encode()).decode()


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(TIMES)
def test_percentiles_are_the_librarys(values: list[int]) -> None:
    reference = recorded(values)
    latency = Histogram(encoded(values)).latency_ms()
    for name, share in (("p50", 50), ("p90", 90), ("p99", 99), ("p99_9", 99.9)):
        assert getattr(latency, name) == pytest.approx(reference.get_value_at_percentile(share) / 1e6)
    assert latency.max == pytest.approx(reference.get_max_value() / 1e6, rel=1e-3)
    assert latency.mean == pytest.approx(reference.get_mean_value() / 1e6, rel=1e-3)
    assert latency.count == len(values)


@settings(deadline=None, max_examples=40)
@given(st.lists(TIMES, min_size=1, max_size=4))
def test_merged_rounds_are_one_recording_of_all(rounds: list[list[int]]) -> None:
    together = Histogram(encoded([value for values in rounds for value in values]))
    merged = merge(encoded(values) for values in rounds)
    assert merged is not None
    assert merged.latency_ms() == together.latency_ms()
    assert Histogram(merged.encode()).latency_ms() == together.latency_ms()


def test_histograms_that_grew_differently_are_merged() -> None:
    short, long = encoded([1000, 2000], highest=100_000), encoded([5_000_000], highest=HOUR)
    for order in ([short, long], [long, short]):
        merged = merge(order)
        assert merged is not None
        assert merged.count == 3
        assert merged.latency_ms() == Histogram(encoded([1000, 2000, 5_000_000])).latency_ms()
        assert Histogram(merged.encode()).count == 3


def test_a_histogram_that_is_not_deflated_is_read() -> None:
    raw = base64.b64decode(encoded([1000, 2000]))
    plain = base64.b64encode(zlib.decompress(raw[8:])).decode()
    assert Histogram(plain).latency_ms() == Histogram(encoded([1000, 2000])).latency_ms()


def test_an_empty_histogram_has_no_percentiles() -> None:
    latency = Histogram(encoded([])).latency_ms()
    assert latency.count == 0
    assert latency.p50 is None


def test_no_histograms_merge_to_none() -> None:
    assert merge([]) is None


@pytest.mark.parametrize("text", ["", "nonsense", "AAAA", "HISTFAAAABl4"])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(HistogramError, match="invalid histogram"):
        Histogram(text)


def test_different_precision_is_refused() -> None:
    with pytest.raises(HistogramError, match="different precision"):
        merge([encoded([5], digits=3), encoded([5], digits=2)])
