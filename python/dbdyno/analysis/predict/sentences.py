"""A prediction in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log

from dbdyno.engines.server.facts import size
from dbdyno.model.result.prediction import Point, Prediction, Series

_TWO_DIGITS = 100
_FAR = 10**9
# Ratios up to this are no difference that is worth a word.
_LIKE = 1.1


def sentences(prediction: Prediction) -> list[str]:
    """Say what a prediction shows, the answer first."""
    label = prediction.label
    found = []
    # A size that most have, of those asked for; a billion is far enough for a sentence.
    rows = prediction.asked.rows
    told = {
        size: [(each, point) for each in prediction.series for point in each.points if point.rows == size]
        for size in rows
    }
    known = {size: [each for each in of if each[1].throughput] for size, of in told.items()}
    most = max((len(of) for of in known.values()), default=0)
    common = [size for size, of in known.items() if len(of) == most]
    if most:
        said = _FAR if _FAR in common else max(common)
        found.append(f"At {said:,} rows {_compared(known[said], label)}.")
    for each in prediction.series:
        found += _half(each, label)
    error = prediction.error
    if error is not None:
        several = error["sizes"] != 1
        found.append(
            f"The prediction is off by {100 * error['median']:.2g} %"
            + (f" in the median and by {100 * error['worst']:.2g} % at most" if several else "")
            + f" at {error['sizes']:.0f} larger point{'s' if several else ''} that the run measured."
        )
    return found


def _compared(there: list[tuple[Series, Point]], label: str) -> str:
    """Name each series with its rate, the fastest first, and how much slower the others are."""
    best, *others = sorted(there, key=lambda each: each[1].throughput or 0.0, reverse=True)
    words = _named(best, label)
    for other in others:
        times = (best[1].throughput or 0.0) / (other[1].throughput or 1.0)
        apart = (other[1].band or [0.0, 0.0])[1] < (best[1].band or [0.0, 0.0])[0]
        words += f"; {_named(other, label)}"
        words += (
            f": 1/{_two(times)} of that" if times > _LIKE and apart else ": the bands overlap" if times > _LIKE else ""
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
    """Say what is assumed, and what is left out.

    ``unseen``: series whose calibration saw no read of the device; ``left_out``: why others are none; ``slower``: sizes
    at which the machine was slower than where it was calibrated, and how many times; ``unlimited``: why memory was not
    limited, where it should have been.
    """
    found = [f"Nothing is predicted for {each}." for each in left_out]
    for series in prediction.series:
        lacking = list(dict.fromkeys(point.lacking for point in series.points if point.lacking))
        found += [f"Nothing is predicted for {series.name} where {each}." for each in lacking[:1]]
    if any(each.system_pages for each in prediction.series if each.name in unseen):
        found.append(
            f"The calibration with {', '.join(unseen)} did not read the device: how much of the memory serves is an "
            "assumption."
        )
    if unlimited:
        found.append(f"The calibration had all memory of the machine, which could not be limited: {unlimited}.")
    if slower:
        sizes = ", ".join(f"{rows:,}" for rows in sorted({rows for rows, _ in slower}))
        most = max(times for _, times in slower)
        found.append(
            f"The machine was slower when {sizes} rows were measured: the client took up to {most:.2g} times the CPU "
            "for an insert. A part of the error may be that."
        )
    if more_clients:
        found.append(
            "What clients wait for among themselves is not in it: locks, the end of an index, syncs at commit."
        )
    if other_device:
        found.append("Syncs, the log and checkpoints are taken to be as on the device that was calibrated with.")
    return found


def _named(one: tuple[Series, Point], label: str) -> str:
    series, point = one
    band = point.band or [0.0, 0.0]
    made = _two(point.throughput or 0.0)
    return (
        f"{series.name} makes {made} {label}/s ({_two(band[0])} to {_two(band[1])}), "
        f"limited by {limit_words(point.limited_by)}"
    )


def limit_words(limit: str) -> str:
    """Write what limits inserts, for a sentence."""
    return {
        "insert itself": "what an insert itself takes",
        "cache misses": "pages that the engine's cache lacks",
        "room in the page cache": "making room in the page cache",
        "device reads": "reads of the device",
        "checkpoint": "writing checkpoints",
        "processors": "the processors",
        "reads of the device": "the reads a second of the device",
        "writes of the device": "the writes a second of the device",
        "log": "writing the log",
    }.get(limit, limit)


def _half(series: Series, label: str) -> list[str]:
    """Say from which size on a series makes less than half of what it makes at its smallest."""
    points = [each for each in series.points if each.throughput]
    if len(points) <= 1:
        return []
    bound = (points[0].throughput or 0.0) / 2.0
    for before, after in pairwise(points):
        high, low = before.throughput or 0.0, after.throughput or 0.0
        if high > bound >= low:
            part = log(high / bound) / log(high / low)
            rows = exp(log(before.rows) + part * log(after.rows / before.rows))
            first = _two(points[0].throughput or 0.0)
            words = f"{series.name} falls below half of its {first} {label}/s at about {_two(rows)} rows"
            if before.times_memory and after.times_memory and after.index_bytes:
                times = exp(log(before.times_memory) + part * log(after.times_memory / before.times_memory))
                memory = after.index_bytes / after.times_memory
                words += f", where the index is {_two(times)} times the memory of {size(round(memory))}"
            return [words + "."]
    return []


def _two(value: float) -> str:
    """Write a number with two digits."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= _TWO_DIGITS else f"{value:.2g}"
