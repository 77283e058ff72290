"""Divide a recording into phases of different rates, such as a burst or the rush at noon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# Transactions of a phase, its length as a share of the recording, and the ratio to the phase beside it.
_FEWEST = 30
_SHORTEST = 0.01
_RATIO = 1.5
_MOST_PHASES = 16
# A shorter calm phase at either end is the beginning or the end of the application.
_SHORTEST_CALM = 0.05
# Gain in log likelihood, which random differences do not reach.
_GAIN = 10.0


@dataclass(frozen=True)
class Phase:
    """A part of a recording: its length, and transactions per second."""

    seconds: float
    rate: float


def phases(counts: Sequence[int], seconds: float) -> list[Phase]:
    """Return the phases of a recording without its calm ends; one if its rate is constant.

    ``counts``: transactions in equal parts of the recording; ``seconds``: its length.
    """
    sums = np.concatenate(([0], np.cumsum(np.asarray(counts, dtype=np.float64))))
    ends = [0, len(counts)]
    # Counts of transactions in groups vary more than counts of independent ones.
    between = float((np.diff(counts) ** 2).sum()) / 2
    noise = max(between / max(sums[-1], 1), 1.0)
    while len(ends) <= _MOST_PHASES:
        found = max(_splits(sums, ends), default=(0.0, 0))
        if found[0] < _GAIN * noise:
            break
        ends = sorted([*ends, found[1]])
    width = seconds / len(counts)
    made = [
        Phase((end - begin) * width, float(sums[end] - sums[begin]) / ((end - begin) * width))
        for begin, end in pairwise(ends)
    ]
    return _without_ends(_merged(made), seconds)


def _without_ends(made: list[Phase], seconds: float) -> list[Phase]:
    def is_end(phase: Phase, beside: Phase) -> bool:
        return phase.seconds < _SHORTEST_CALM * seconds and phase.rate < beside.rate

    if len(made) > 1 and is_end(made[0], made[1]):
        made = made[1:]
    if len(made) > 1 and is_end(made[-1], made[-2]):
        made = made[:-1]
    return made


def _splits(sums: NDArray[np.float64], ends: Sequence[int]) -> Iterator[tuple[float, int]]:
    """Yield the best division of each phase, and its gain in log likelihood if arrivals are independent."""
    least = max(math.ceil(_SHORTEST * (len(sums) - 1)), 1)
    for begin, end in pairwise(ends):
        at = np.arange(begin + least, end - least + 1)
        left, right = sums[at] - sums[begin], sums[end] - sums[at]
        at = at[(left + right >= _FEWEST)]
        if not len(at):
            continue
        left, right = sums[at] - sums[begin], sums[end] - sums[at]
        whole = _likelihood(np.array([sums[end] - sums[begin]]), np.array([end - begin]))[0]
        gains = _likelihood(left, at - begin) + _likelihood(right, end - at) - whole
        best = int(np.argmax(gains))
        yield float(gains[best]), int(at[best])


def _likelihood(count: NDArray[np.float64], length: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(count > 0, count * np.log(np.maximum(count, 1) / length), 0.0)


def _merged(found: Sequence[Phase]) -> list[Phase]:
    """Join phases whose rates hardly differ from the one before."""
    made: list[Phase] = []
    for each in found:
        last = made[-1] if made else None
        if last is not None and max(last.rate, each.rate) < _RATIO * min(last.rate, each.rate):
            seconds = last.seconds + each.seconds
            rate = (last.seconds * last.rate + each.seconds * each.rate) / seconds
            made[-1] = Phase(seconds, rate)
        else:
            made.append(each)
    return made
