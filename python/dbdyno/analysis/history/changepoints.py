"""Change points of a series of runs: permanent marks with few false alarms over the life of the series.

Users check a history after every run. A test with 5% false alarms per check marks every second series within a hundred
runs, and its marks appear and disappear. This module therefore processes a series from its first run to its last.
After each run, it computes the evidence for a change (module ``evidence``) at every place since the last mark. If the
evidence exceeds :data:`ODDS`, it marks the best place, and a new stretch begins there. A mark depends only on the runs
up to then, so later runs don't remove or move it.

The search is repeated after each run, as in the generalised likelihood ratio procedure (Siegmund and Venkatraman 1995,
doi:10.1214/aos/1176324466). The threshold grows with the number of runs, because the number of places and checks does.
Simulations determined it (docs/explanation/validation.md): at most 5% of series of a hundred runs without a change are
ever marked. If runs differ by 10%, a loss of 30% is found in 86% of series with ten runs on either side, and in all
series with fifteen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.history.evidence import MIN_SEGMENT, Noise, log_odds

LIFE = 100
"""Runs of a series for which the false alarms are stated."""

FALSE_ALARMS = 0.05
"""Largest fraction of series of :data:`LIFE` runs without a change that get a mark, with a check after every run."""

ODDS = 1.0
"""Odds per run of the series above which a change is marked: 40 to 1 after 40 runs."""

MIN_VALUES = 2 * MIN_SEGMENT
"""Smallest number of runs in which changes are searched."""

_MAX_EXPONENT = 700.0

STRETCH = 200
"""A stretch twice as long is shortened to this many values. The values that are cut off still count for the noise.
Without a limit, a series of ten thousand runs would take minutes."""

SCREENED = 64
"""Shorter series are searched after every run. Longer ones are searched only if the latest values differ."""

# The mean of this many latest values is compared with the mean of the values before them.
_LATEST = (3, 4, 5, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181)

# The two means must differ by this many standard errors. Marks have been seen from 2.7 on.
_DIFFERENT = 2.5

# The noise is estimated again after this many values.
_EVERY = 50

_NORMAL = 1.4826 / math.sqrt(2)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change between two values of a series.

    ``index``: index of the first value after it. ``seen``: index of the value after which it was marked. ``odds``: how
    many times better a change at this place explained the values than no change.
    """

    index: int
    seen: int
    odds: float


def find_change_points(values: Sequence[float], resolution: float = 0.0, deviation: float = 0.0) -> list[ChangePoint]:
    """Return the change points of a series in order. Additional values only add further change points.

    ``resolution``: difference up to which values count as equal, in their unit; ``deviation``: known lower limit of the
    standard deviation of runs. The result is empty for fewer than :data:`MIN_VALUES` values. Raises ``ValueError`` for
    a value that is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError("a change point needs finite values")
    change_points: list[ChangePoint] = []
    known, start = Noise.unknown(), 0
    different = _differences(series, resolution)
    end, begun = 0, 0
    while end < len(series):
        end += 1
        if end - start > 2 * STRETCH:
            known, start = known.after(series[start : start + STRETCH], resolution), start + STRETCH
        if end - start < MIN_VALUES or (end - begun >= SCREENED and different[end - 1 - begun] < _DIFFERENT):
            continue
        odds = log_odds(series[start:end], known, resolution, deviation)
        best = int(np.argmax(odds))
        if odds[best] > math.log(ODDS * end):
            index = start + MIN_SEGMENT + best
            change_points.append(ChangePoint(index, end - 1, math.exp(min(float(odds[best]), _MAX_EXPONENT))))
            known, start = known.after(series[start:index], resolution), index
            different, begun = _differences(series[start:], resolution), start
    return change_points


def _differences(series: NDArray[np.float64], resolution: float) -> NDArray[np.float64]:
    """Return for each value how much the latest values differ from the values before them, in standard errors.

    It is the maximum over several numbers of latest values. The noise is estimated from the differences between
    neighbors, so positive correlation makes the result larger.
    """
    n = len(series)
    greatest = np.zeros(n)
    if n < SCREENED:
        return greatest
    ends = np.arange(1, n + 1)
    jumps = np.abs(np.diff(series))
    # The noise at a value must not depend on later values.
    known = [jumps[max(0, each - 1 - 2 * STRETCH) : each - 1] for each in range(_EVERY, n + 1, _EVERY)]
    noise = np.array([0.0, *(_NORMAL * float(np.median(each)) for each in known)])[ends // _EVERY]
    sums = np.concatenate(([0.0], np.cumsum(series - series[0])))
    for latest in _LATEST:
        at = ends[ends >= 2 * latest]
        before = np.minimum(at - latest, STRETCH)
        mean = (sums[at] - sums[at - latest]) / latest
        difference = np.abs(mean - (sums[at - latest] - sums[at - latest - before]) / before)
        # Ignore differences within the resolution.
        difference = np.where(difference > resolution, difference, 0.0)
        error = noise[at - 1] * np.sqrt(1 / latest + 1 / before)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(difference > 0, difference / error, 0.0)
        greatest[at - 1] = np.maximum(greatest[at - 1], errors)
    return greatest
