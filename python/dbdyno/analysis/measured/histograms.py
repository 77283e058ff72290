"""The worker's histograms (HdrHistogram V2, nanoseconds): decoding, merging, percentiles, distribution.

Merging adds counts and never averages percentiles, so the precision of 3 digits is preserved.
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

# A percentile counts as known if it can be larger by at most this factor, as in the worker.
_KNOWN = 1.01

# One hour, as in the worker: longer times count as one hour.
_MAX_NS = 3_600_000_000_000


def no_latency() -> Latency:
    """Return the latency of an empty histogram."""
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
    """An encoded histogram is invalid or has another precision than the others."""


class Histogram:
    """A histogram of times in nanoseconds."""

    def __init__(self, encoded: str) -> None:
        """Decode a base64 HdrHistogram V2, compressed or not. Raises HistogramError if it is invalid."""
        try:
            self._inner: Any = HdrHistogram.decode(_deflated(encoded))
        except Exception as error:  # the library passes on any exception, including those of its C extension
            raise HistogramError(f"invalid histogram ({type(error).__name__}: {error})") from error
        # The library creates a reference cycle that keeps about 100 kB until the garbage collector runs.
        self._inner.encoder.histogram = weakref.proxy(self._inner)

    def add(self, other: Histogram) -> Histogram:
        """Return the sum, modifying the longer histogram. Raises HistogramError if the precision differs."""
        mine, theirs = self._inner, other._inner
        if (mine.unit_magnitude, mine.sub_bucket_count) != (theirs.unit_magnitude, theirs.sub_bucket_count):
            raise HistogramError("cannot add histograms of different precision")
        if theirs.counts_len > mine.counts_len:
            return other.add(self)
        if theirs.counts_len == mine.counts_len:
            mine.add(theirs)
            return self
        # Index i is the same value in both, since growing only makes a histogram longer. The library would loop over
        # all indexes in Python.
        longer, shorter = self._counts(), other._counts()
        longer[: len(shorter)] += shorter
        mine.total_count += theirs.total_count
        mine.max_value = max(mine.max_value, theirs.max_value)
        mine.min_value = min(mine.min_value, theirs.min_value)
        return self

    @property
    def count(self) -> int:
        """Number of recorded events."""
        return int(self._inner.total_count)

    def encode(self) -> str:
        """Return the histogram as base64 of a compressed HdrHistogram V2."""
        return bytes(self._inner.encode()).decode("ascii")

    def points(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the values in ascending order (the highest of each bucket, in nanoseconds) and their counts."""
        counts = self._counts()
        # `flatnonzero` is three times as fast on Booleans.
        index = np.flatnonzero(counts != 0)
        half = self._inner.sub_bucket_half_count
        magnitude = self._inner.sub_bucket_half_count_magnitude
        # The layout of HdrHistogram: the first bucket has a full set of sub-buckets; each later bucket has the upper
        # half of a set with twice the width.
        bucket = (index >> magnitude) - 1
        sub_bucket = (index & (half - 1)) + half
        sub_bucket = np.where(bucket < 0, sub_bucket - half, sub_bucket)
        width = np.maximum(bucket, 0) + self._inner.unit_magnitude
        lowest = sub_bucket.astype(np.int64) << width
        return lowest + (np.int64(1) << width) - 1, counts[index]

    def latency_ms(self, at_least: Histogram | None = None) -> Latency:
        """Return percentiles, maximum, mean and count in milliseconds.

        A percentile is the highest value of the first bucket at which the share of events reaches it, as in
        HdrHistogram. The mean uses the middle of each bucket. ``at_least``: lower bounds of further times. The result's
        ``at_least`` lists the values that are then only lower bounds. A percentile is known if it is the same (within
        1 %) for times equal to the bounds and for infinite times. Raises HistogramError if the precisions differ.
        """
        known = self.points()
        bounded = at_least is not None and at_least.count > 0
        values, counts = self._with(at_least).points() if bounded and at_least is not None else known
        total = int(counts.sum())
        if total == 0:
            return no_latency()
        running = np.cumsum(counts)
        places = {name: max(1, int(share / 100 * total + 0.5)) for name, share in PERCENTILES.items()}
        at = {name: float(values[np.searchsorted(running, position)]) / NS_PER_MS for name, position in places.items()}
        lower = []
        if bounded:
            own = np.cumsum(known[1])
            for name, position in places.items():
                found = int(np.searchsorted(own, position))
                if found >= len(own) or float(known[0][found]) / NS_PER_MS > at[name] * _KNOWN:
                    lower.append(name)
            lower += ["max", "mean"]
        # The middle of a bucket is half its width (at most a thousandth of the value) below its highest value.
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
        """Return the sum without modifying either histogram."""
        return Histogram(self.encode()).add(Histogram(other.encode()))

    def _half_widths(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        # The bucket of v has the width 2^(bits of v - bits of a sub-bucket), at least one unit.
        bits = np.floor(np.log2(np.maximum(values, 1))).astype(np.int64) + 1
        sub_bits = self._inner.sub_bucket_half_count_magnitude + 1
        width = np.maximum(bits - sub_bits, self._inner.unit_magnitude)
        half: NDArray[np.float64] = ((np.int64(1) << width) - 1) / 2
        return half

    def _counts(self) -> NDArray[np.int64]:
        return np.frombuffer(self._inner.encoder.get_counts(), dtype=np.int64)


def encode_ns(values: Iterable[int]) -> str:
    """Encode times in nanoseconds as a histogram with the worker's format and bounds."""
    histogram = HdrHistogram(1, _MAX_NS, 3)
    for value in values:
        histogram.record_value(min(max(value, 1), _MAX_NS))
    return str(histogram.encode().decode("ascii"))


def merge(encoded: Iterable[str]) -> Histogram | None:
    """Return the sum of encoded histograms; None if there are none. Raises HistogramError if one is invalid."""
    total: Histogram | None = None
    for each in encoded:
        histogram = Histogram(each)
        total = histogram if total is None else total.add(histogram)
    return total


def _deflated(encoded: str) -> str:
    """Compress an uncompressed V2 histogram, because the library reads only compressed ones."""
    raw = base64.b64decode(encoded, validate=True)
    cookie = int.from_bytes(raw[:4], "big") & ~_WORD_SIZE_BITS
    if cookie != _PLAIN_COOKIE:
        return encoded
    packed = zlib.compress(raw)
    head = (_DEFLATED_COOKIE | _NINE_BYTE_WORDS).to_bytes(4, "big") + len(packed).to_bytes(4, "big")
    return base64.b64encode(head + packed).decode("ascii")
