"""The sentences that state a prediction, and its warnings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log

from dbdyno.engines.server.facts import size
from dbdyno.model.result.prediction import Point, Prediction, Series

_TWO_DIGITS = 100
_FAR = 10**9
# Don't mention ratios up to this.
_LIKE = 1.1


def sentences(prediction: Prediction) -> list[str]:
    """Return the sentences on a prediction, the answer first."""
    label = prediction.label
    found = []
    # Compare at a requested size for which most series have a prediction, one billion rows if possible.
    rows = prediction.asked.rows
    points = {
        size: [(series, point) for series in prediction.series for point in series.points if point.rows == size]
        for size in rows
    }
    known = {size: [pair for pair in pairs if pair[1].throughput] for size, pairs in points.items()}
    most = max((len(pairs) for pairs in known.values()), default=0)
    common = [size for size, pairs in known.items() if len(pairs) == most]
    if most:
        chosen = _FAR if _FAR in common else max(common)
        found.append(f"At {chosen:,} rows, {_compared(known[chosen], label)}.")
    for series in prediction.series:
        found += _half(series, label)
    error = prediction.error
    if error is not None:
        several = error["sizes"] != 1
        found.append(
            f"The {'median ' if several else ''}error of the prediction is {100 * error['median']:.2g} %"
            + (f" and the largest is {100 * error['worst']:.2g} %" if several else "")
            + f" at {error['sizes']:.0f} measured size{'s' if several else ''} outside the calibration."
        )
    return found


def _compared(points: list[tuple[Series, Point]], label: str) -> str:
    """Return each series with its rate, the fastest first, and how much slower the others are."""
    best, *others = sorted(points, key=lambda pair: pair[1].throughput or 0.0, reverse=True)
    words = _named(best, label)
    for other in others:
        times = (best[1].throughput or 0.0) / (other[1].throughput or 1.0)
        apart = (other[1].band or [0.0, 0.0])[1] < (best[1].band or [0.0, 0.0])[0]
        words += f"; {_named(other, label)}"
        words += (
            f" ({_two(times)} times slower)"
            if times > _LIKE and apart
            else " (the bands overlap)"
            if times > _LIKE
            else ""
        )
    return words


def warnings(
    prediction: Prediction,
    *,
    unseen: Sequence[str],
    left_out: Sequence[str],
    more_clients: bool,
    other_device: bool,
    slower: Sequence[tuple[int, float]],
    unlimited: str,
) -> list[str]:
    """Return what the prediction assumes and leaves out.

    ``unseen``: series whose calibration didn't read from the device; ``left_out``: series that can't be predicted, with
    the reason; ``slower``: sizes in rows at which the machine was slower than during calibration, each with the factor;
    ``unlimited``: why a requested memory limit is not in effect.
    """
    found = [f"No prediction for {each}." for each in left_out]
    for series in prediction.series:
        lacking = list(dict.fromkeys(point.lacking for point in series.points if point.lacking))
        found += [f"No prediction for some sizes of {series.name}: {each}." for each in lacking[:1]]
    if any(each.system_pages for each in prediction.series if each.name in unseen):
        found.append(
            f"The calibration of {', '.join(unseen)} never read from the device, so the share of memory that caches "
            "the index is an assumption."
        )
    if unlimited:
        found.append(f"The calibration could use all memory, because the memory limit is not in effect: {unlimited}.")
    if slower:
        sizes = ", ".join(f"{rows:,}" for rows in sorted({rows for rows, _ in slower}))
        most = max(times for _, times in slower)
        found.append(
            f"The machine was slower at {sizes} rows: the client took up to {most:.2g} times as much CPU time per "
            "insert. This may explain a part of the error."
        )
    if more_clients:
        found.append(
            "The prediction ignores waits of clients for each other: locks, the end of an index, syncs at commit."
        )
    if other_device:
        found.append("Syncs, the log and checkpoints are assumed to be as fast as on the calibrated device.")
    return found


def _named(one: tuple[Series, Point], label: str) -> str:
    series, point = one
    band = point.band or [0.0, 0.0]
    made = _two(point.throughput or 0.0)
    return (
        f"{series.name} reaches {made} {label}/s ({_two(band[0])} to {_two(band[1])}), "
        f"limited by {limit_words(point.limited_by)}"
    )


def limit_words(limit: str) -> str:
    """Return the limit of inserts as a part of a sentence."""
    return {
        "insert itself": "the insert itself",
        "cache misses": "misses of the engine's cache",
        "room in the page cache": "making room in the page cache",
        "device reads": "device reads",
        "checkpoint": "writing checkpoints",
        "processors": "the CPUs",
        "reads of the device": "the device's reads per second",
        "writes of the device": "the device's writes per second",
        "log": "writing the log",
    }.get(limit, limit)


def _half(series: Series, label: str) -> list[str]:
    """Return a sentence with the size from which a series has less than half of its rate at the smallest size."""
    points = [point for point in series.points if point.throughput]
    if len(points) <= 1:
        return []
    bound = (points[0].throughput or 0.0) / 2.0
    for before, after in pairwise(points):
        high, low = before.throughput or 0.0, after.throughput or 0.0
        if high > bound >= low:
            part = log(high / bound) / log(high / low)
            rows = exp(log(before.rows) + part * log(after.rows / before.rows))
            first = _two(points[0].throughput or 0.0)
            words = f"{series.name} falls below half of its initial {first} {label}/s at about {_two(rows)} rows"
            if before.times_memory and after.times_memory and after.index_bytes:
                times = exp(log(before.times_memory) + part * log(after.times_memory / before.times_memory))
                memory = after.index_bytes / after.times_memory
                words += f", when the index is {_two(times)} times as large as the memory of {size(round(memory))}"
            return [words + "."]
    return []


def _two(value: float) -> str:
    """Return a number with two digits."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= _TWO_DIGITS else f"{value:.2g}"
