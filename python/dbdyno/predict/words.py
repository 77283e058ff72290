"""A prediction in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import exp, log

from dbdyno.document.prediction import Point, Prediction, Series
from dbdyno.engines.server.facts import size

_TWO_DIGITS = 100
_FAR = 10**9
# Ratios up to this are no difference that is worth a word.
_LIKE = 1.005


def sentences(prediction: Prediction, *, unseen: Sequence[str]) -> list[str]:
    """Say what a prediction shows, the answer first; ``unseen``: series whose calibration saw no read of the device."""
    label = prediction["label"]
    found = []
    told = [(each, point) for each in prediction["series"] for point in each["points"] if point["throughput"]]
    counts = Counter(point["rows"] for _, point in told)
    # A size that all have; a thousand million is far enough for a sentence.
    common = [rows for rows, count in counts.items() if count == max(counts.values())]
    said = max((rows for rows in common if rows <= _FAR), default=min(common, default=0))
    there = [each for each in told if each[1]["rows"] == said]
    if there:
        there.sort(key=lambda each: each[1]["throughput"] or 0.0, reverse=True)
        best, *others = there
        words = f"At {said:,} rows {_named(best, label)}"
        for other in others:
            times = (best[1]["throughput"] or 0.0) / (other[1]["throughput"] or 1.0)
            words += (
                f"; {_named(other, label)}: 1/{_two(times)} of that" if times > _LIKE else f"; {_named(other, label)}"
            )
        found.append(words + ".")
    for each in prediction["series"]:
        found += _half(each, label)
    error = prediction["error"]
    if error is not None:
        several = error["sizes"] != 1
        found.append(
            f"Of {error['sizes']:.0f} larger size{'s' if several else ''} that the run measured, the prediction is off "
            f"by {100 * error['median']:.2g} %"
            + (f" in the median, {100 * error['worst']:.2g} % at most." if several else ".")
        )
    if unseen and any(each["system_pages"] for each in prediction["series"] if each["name"] in unseen):
        names = [
            each for each in unseen if any(one["name"] == each and one["key"] == "v4" for one in prediction["series"])
        ]
        if names:
            found.append(
                f"The calibration with {', '.join(names)} did not read the device: how much of the memory serves is "
                "assumed."
            )
    for each in prediction["series"]:
        lacking = list(dict.fromkeys(point["lacking"] for point in each["points"] if point["lacking"]))
        if lacking:
            found.append(f"Nothing is predicted for {each['name']} where {lacking[0]}.")
    return found


def _named(one: tuple[Series, Point], label: str) -> str:
    series, point = one
    band = point["band95"] or [0.0, 0.0]
    made = _two(point["throughput"] or 0.0)
    return (
        f"{series['name']} makes {made} {label}/s ({_two(band[0])} to {_two(band[1])}), "
        f"limited by {limit_words(point['limited_by'])}"
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
    points = [each for each in series["points"] if each["throughput"]]
    if len(points) < 2:
        return []
    bound = (points[0]["throughput"] or 0.0) / 2.0
    for before, after in pairwise(points):
        high, low = before["throughput"] or 0.0, after["throughput"] or 0.0
        if high > bound >= low:
            part = log(high / bound) / log(high / low)
            rows = exp(log(before["rows"]) + part * log(after["rows"] / before["rows"]))
            first = _two(points[0]["throughput"] or 0.0)
            words = f"{series['name']} falls below half of its {first} {label}/s at about {_two(rows)} rows"
            if before["times_memory"] and after["times_memory"] and after["index_bytes"]:
                times = exp(log(before["times_memory"]) + part * log(after["times_memory"] / before["times_memory"]))
                memory = after["index_bytes"] / after["times_memory"]
                words += f", where the index is {_two(times)} times the {size(round(memory))} that cache it"
            return [words + "."]
    return []


def _two(value: float) -> str:
    """Write a number with two digits."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= _TWO_DIGITS else f"{value:.2g}"
