"""Histograms of the worker (HdrHistogram V2): decoding, merging over rounds, percentiles, distribution.

The values are nanoseconds. The recording's precision (3 digits) is kept: merging adds counts, it never averages
percentiles.
"""

from __future__ import annotations

import base64
import weakref
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from numpy.typing import NDArray

from dbdyno.model.result.cell import Latency

NS_PER_MS = 1e6
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9}

_PLAIN_COOKIE = 0x1C849303
_DEFLATED_COOKIE = 0x1C849304
_WORD_SIZE_BITS = 0xF0
_NINE_BYTE_WORDS = 0x10

# A percentile that may be greater by less than this is known, as in the worker.
_KNOWN = 1.01

# An hour, as the worker's histograms: what takes longer counts as an hour.
_LONGEST_NS = 3_600_000_000_000


def no_latency() -> Latency:
    """Give what is told of times where there are none."""
    return Latency(
        p50=None,
        p90=None,
        p99=None,
        p99_9=None,
        max=None,
        mean=None,
        count=0,
        at_least=[],
    )


class HistogramError(ValueError):
    """An encoded histogram cannot be read or does not fit the others."""


class Histogram:
    """A histogram of nanoseconds, as counts by value."""

    def __init__(self, encoded: str) -> None:
        """Decode base64 of an HdrHistogram V2, deflated or not. ``HistogramError`` where it is none."""
        try:
            self._inner: Any = HdrHistogram.decode(_deflated(encoded))
        except Exception as error:  # the library lets through whatever its parts raise, C extension included
            raise HistogramError(f"a histogram cannot be read ({type(error).__name__}: {error})") from error
        # The library makes a cycle of references, which would keep some 100 kB until garbage is collected.
        self._inner.encoder.histogram = weakref.proxy(self._inner)

    def add(self, other: Histogram) -> Histogram:
        """Return the sum of both, made in the longer one. ``HistogramError`` where their precision differs."""
        mine, theirs = self._inner, other._inner
        if (mine.unit_magnitude, mine.sub_bucket_count) != (theirs.unit_magnitude, theirs.sub_bucket_count):
            raise HistogramError("histograms of different precision cannot be added")
        if theirs.counts_len > mine.counts_len:
            return other.add(self)
        if theirs.counts_len == mine.counts_len:
            mine.add(theirs)
            return self
        # Index i means the same value in both: a histogram that was allowed to grow is only longer. The library would
        # go through every index in Python here.
        longer, shorter = self._counts(), other._counts()
        longer[: len(shorter)] += shorter
        mine.total_count += theirs.total_count
        mine.max_value = max(mine.max_value, theirs.max_value)
        mine.min_value = min(mine.min_value, theirs.min_value)
        return self

    @property
    def count(self) -> int:
        """Return the number of recorded events."""
        return int(self._inner.total_count)

    def encode(self) -> str:
        """Return base64 of the HdrHistogram V2, deflated."""
        return bytes(self._inner.encode()).decode("ascii")

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the recorded values in nanoseconds (the highest of each bucket), rising, and their counts."""
        counts = self._counts()
        # Of truth values it takes a third of the time.
        index = np.flatnonzero(counts != 0)
        half = self._inner.sub_bucket_half_count
        magnitude = self._inner.sub_bucket_half_count_magnitude
        # As HdrHistogram lays its buckets out: the first holds a full set of sub-buckets, each later one the upper half
        # of a set twice as wide.
        bucket = (index >> magnitude) - 1
        sub_bucket = (index & (half - 1)) + half
        sub_bucket = np.where(bucket < 0, sub_bucket - half, sub_bucket)
        width = np.maximum(bucket, 0) + self._inner.unit_magnitude
        lowest = sub_bucket.astype(np.int64) << width
        return lowest + (np.int64(1) << width) - 1, counts[index]

    def latency_ms(self, at_least: Histogram | None = None) -> Latency:
        """Return percentiles, maximum, mean and count in milliseconds.

        A percentile is the highest value of the first bucket at which the share of events reaches it, as HdrHistogram
        defines it; the mean takes the middle of each bucket. ``at_least``: times that would have been so long or
        longer. What is then a lower bound is named: a percentile is known where it is the same (to 1 %) whether these
        are as long as they are known to be, or without an end. ``HistogramError`` where the two do not fit.
        """
        known = self.points()
        bounded = at_least is not None and at_least.count > 0
        values, counts = self._with(at_least).points() if bounded and at_least is not None else known
        total = int(counts.sum())
        if total == 0:
            return no_latency()
        running = np.cumsum(counts)
        places = {name: max(1, int(share / 100 * total + 0.5)) for name, share in PERCENTILES.items()}
        at = {name: float(values[np.searchsorted(running, place)]) / NS_PER_MS for name, place in places.items()}
        lower = []
        if bounded:
            own = np.cumsum(known[1])
            for name, place in places.items():
                found = int(np.searchsorted(own, place))
                if found >= len(own) or float(known[0][found]) / NS_PER_MS > at[name] * _KNOWN:
                    lower.append(name)
            lower += ["max", "mean"]
        # Bucket widths are at most a thousandth of the value: the middle is half of that below the top.
        middle = values - self._half_widths(values)
        return Latency(
            p50=at["p50"],
            p90=at["p90"],
            p99=at["p99"],
            p99_9=at["p99_9"],
            max=float(values[-1]) / NS_PER_MS,
            mean=float((middle * counts).sum() / total) / NS_PER_MS,
            count=total,
            at_least=lower,
        )

    def _with(self, other: Histogram) -> Histogram:
        """Return the sum of both, in neither of them."""
        return Histogram(self.encode()).add(Histogram(other.encode()))

    def _half_widths(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        # The width of the bucket that holds v is 2^(bits of v - bits of a sub-bucket), at least the unit.
        bits = np.floor(np.log2(np.maximum(values, 1))).astype(np.int64) + 1
        sub_bits = self._inner.sub_bucket_half_count_magnitude + 1
        width = np.maximum(bits - sub_bits, self._inner.unit_magnitude)
        half: NDArray[np.float64] = ((np.int64(1) << width) - 1) / 2
        return half

    def _counts(self) -> NDArray[np.int64]:
        return np.frombuffer(self._inner.encoder.get_counts(), dtype=np.int64)


def encode_ns(values: Iterable[int]) -> str:
    """Return the histogram of some nanoseconds, in the form and with the bounds of a worker's."""
    histogram = HdrHistogram(1, _LONGEST_NS, 3)
    for value in values:
        histogram.record_value(min(max(value, 1), _LONGEST_NS))
    return str(histogram.encode().decode("ascii"))


def merge(encoded: Iterable[str]) -> Histogram | None:
    """Return the sum of encoded histograms, or None without any. ``HistogramError`` where one does not fit."""
    total: Histogram | None = None
    for each in encoded:
        histogram = Histogram(each)
        total = histogram if total is None else total.add(histogram)
    return total


def _deflated(encoded: str) -> str:
    """Wrap a V2 histogram that is not deflated as one that is: the library reads only those."""
    raw = base64.b64decode(encoded, validate=True)
    cookie = int.from_bytes(raw[:4], "big") & ~_WORD_SIZE_BITS
    if cookie != _PLAIN_COOKIE:
        return encoded
    packed = zlib.compress(raw)
    head = (_DEFLATED_COOKIE | _NINE_BYTE_WORDS).to_bytes(4, "big") + len(packed).to_bytes(4, "big")
    return base64.b64encode(head + packed).decode("ascii")
