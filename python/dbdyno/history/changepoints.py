"""Where a series of runs changes its level: decided after each run, for good, and rarely wrong over all of its life.

A history is looked at after every run. A test that is wrong in 5 % of looks is wrong in one series of two within a
hundred runs, and what it marks comes and goes. So a series is gone through from its first run to its last, as those who
looked saw it. After each run the evidence for a change (:mod:`dbdyno.history.evidence`) is taken for every place in the
stretch since the last mark. Where it is above :data:`THRESHOLD`, the best place is marked and a new stretch begins
there. What a mark rests on is nothing but the runs up to then, so it never goes away or moves when others follow.

The place is searched for anew after each run, as in the generalised likelihood ratio procedure (Siegmund and
Venkatraman 1995, doi:10.1214/aos/1176324466); its threshold is set by simulation, as theirs is, so that a hundred looks
mark at most one series of twenty in which nothing changed, of the noise that is found worst (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.history.evidence import LEAST, Noise, log_odds

LIFE = 100
"""Runs of a series for which the false alarms are stated."""

FALSE_ALARMS = 0.05
"""The share of series of :data:`LIFE` runs without any change that are said to have one, looked at after every run."""

THRESHOLD = 7.0
"""The logarithm of the odds above which a change is marked: 1,100 to 1."""

FEWEST = 2 * LEAST
"""Runs a series needs before changes are looked for."""

_GREATEST = 700.0


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change between two values of a series.

    ``index``: of the first value after it. ``seen``: of the value after which it was marked. ``odds``: how many times
    better a change there explained the values than none.
    """

    index: int
    seen: int
    odds: float


def find_change_points(values: Sequence[float], resolution: float = 0.0) -> list[ChangePoint]:
    """Return where the values change, in order. Those of a series are the first of any that goes on from it.

    ``resolution``: what values may differ by and be the same, in their unit. Fewer than :data:`FEWEST` values have no
    change. ``ValueError`` for a value that is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if not np.isfinite(series).all():
        raise ValueError("a change point needs finite values")
    found: list[ChangePoint] = []
    known, start = Noise.unknown(), 0
    for end in range(1, len(series) + 1):
        if end - start < FEWEST:
            continue
        odds = log_odds(series[start:end], known, resolution)
        best = int(np.argmax(odds))
        if odds[best] > THRESHOLD:
            index = start + LEAST + best
            found.append(ChangePoint(index, end - 1, math.exp(min(float(odds[best]), _GREATEST))))
            known, start = known.after(series[start:index], resolution), index
    return found
