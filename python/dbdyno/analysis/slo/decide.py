"""Whether an objective holds at a rate, from the windows that were measured there.

Requests of one window are not independent: a queue keeps its length for a while. Windows are the unit instead. The
metric of all windows together is compared with its limit, a time on a logarithmic scale. Its standard error comes from
leaving out one window at a time (the jackknife, Quenouille 1956, doi:10.1093/biomet/43.3-4.353), which also removes
most of the bias that a percentile of few requests has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.bottleneck.common import OVERLOADED
from dbdyno.model.experiment.objective import QUANTILES, Clause, Objective
from dbdyno.stats.intervals import t_quantile

Verdict = Literal["holds", "violated", "undecided"]

LEAST_WINDOWS = 3
"""Windows that a decision needs."""

KEEPS_UP = Clause("skipped", OVERLOADED)
"""Part of every objective: above the capacity, response times only grow with the length of the window."""

# Wrong decisions at one rate and one side. A search decides near its limit a few times.
_ERROR = 0.02

# Requests above a percentile that all windows together must have, before it can be said to hold.
_BEYOND = 3

# What windows usually differ by, and as how many windows more it counts: three that agree by chance decide nothing.
_USUAL_SPREAD, _USUAL_WEIGHT = 0.2, 3

# Bounds of a metric over its limit, as a logarithm: one window that stood still must not outweigh all others.
_FARTHEST = 3.0


@dataclass(frozen=True)
class Window:
    """Requests of one measured window that were due in it.

    ``times_ms``, ``counts``: response times of those that ended well, ascending; ``failed``: the others; ``skipped``:
    those that were not begun when the window ended and had waited longer than the objective's limit. Requests that
    were due just before the end are in none of them: nothing is known of how long they would have taken.
    """

    times_ms: NDArray[np.float64]
    counts: NDArray[np.int64]
    failed: int = 0
    skipped: int = 0

    @property
    def ok(self) -> int:
        """Requests that ended well."""
        return int(self.counts.sum())

    @property
    def due(self) -> int:
        """All requests."""
        return self.ok + self.failed + self.skipped


def metric_value(clause: Clause, windows: Sequence[Window]) -> float | None:
    """Return a metric over windows: milliseconds, or a share. None without requests.

    A request that failed or was skipped counts as slower than any limit: a time is infinite if they decide it.
    """
    due = sum(each.due for each in windows)
    if not due:
        return None
    lost = sum(each.failed + each.skipped for each in windows)
    match clause.metric:
        case "failed":
            return lost / due
        case "skipped":
            return sum(each.skipped for each in windows) / due
        case "max":
            return math.inf if lost else max(float(each.times_ms[-1]) for each in windows if each.ok)
        case "mean":
            ok = due - lost
            total = sum(float(each.times_ms @ each.counts) for each in windows)
            return total / ok if ok > (1 - OVERLOADED) * due else math.inf
    return _quantile(windows, max(math.ceil(QUANTILES[clause.metric] * due), 1))


def _quantile(windows: Sequence[Window], place: int) -> float:
    times = np.concatenate([each.times_ms for each in windows])
    counts = np.concatenate([each.counts for each in windows])
    order = np.argsort(times, kind="stable")
    found = int(np.searchsorted(np.cumsum(counts[order]), place))
    return float(times[order[found]]) if found < len(order) else math.inf


@dataclass(frozen=True)
class Decision:
    """A verdict, and whether more windows at the rate would probably change one that is undecided."""

    verdict: Verdict
    promising: bool = False


def decide(objective: Objective, windows: Sequence[Window], most: int = 0) -> Decision:
    """Say whether an objective holds at the rate of some windows: if all clauses hold, and the load was kept up.

    ``most``: how many windows there will be at the rate at most.
    """
    # Where nothing ended well, as when no connection is made, no more windows are needed.
    if any(each.failed and not each.ok for each in windows):
        return Decision("violated")
    if len(windows) < LEAST_WINDOWS:
        return Decision("undecided", promising=True)
    found = [_decide(clause, windows, most) for clause in (*objective.clauses, KEEPS_UP)]
    verdicts = [each.verdict for each in found]
    if "violated" in verdicts:
        return Decision("violated")
    if "undecided" not in verdicts:
        return Decision("holds")
    return Decision("undecided", all(each.promising for each in found if each.verdict == "undecided"))


def excess(objective: Objective, windows: Sequence[Window]) -> float:
    """Return how far the worst metric is above its limit, as in a logarithm of their ratio; negative below it."""
    return max(_excess(clause, windows) for clause in (*objective.clauses, KEEPS_UP))


def broken(objective: Objective, windows: Sequence[Window]) -> Clause:
    """Return the clause whose metric is farthest above its limit."""
    clauses = (*objective.clauses, KEEPS_UP)
    return max(clauses, key=lambda clause: _excess(clause, windows))


def _decide(clause: Clause, windows: Sequence[Window], most: int) -> Decision:
    count = len(windows)
    if clause.metric == "max":
        # Longer watching only finds longer times: this is of the windows measured, and not of a population.
        value = metric_value(clause, windows)
        if value is None:
            return Decision("undecided", most > count)
        return Decision("holds" if value < clause.limit else "violated")
    whole = _excess(clause, windows)
    without = [_excess(clause, [*windows[:place], *windows[place + 1 :]]) for place in range(count)]
    pseudo = np.array([count * whole - (count - 1) * each for each in without])
    freedom = count - 1 + _USUAL_WEIGHT
    variance = ((count - 1) * float(pseudo.var(ddof=1)) + _USUAL_WEIGHT * _USUAL_SPREAD**2) / freedom
    half = t_quantile(1 - _ERROR, freedom) * math.sqrt(variance / count)
    highest, lowest = max(float(pseudo.mean()), whole), min(float(pseudo.mean()), whole)
    unseen = _unseen(clause, windows)
    if highest + half + unseen < 0 and _enough(clause, windows):
        return Decision("holds")
    if lowest - half > 0:
        return Decision("violated")
    # More windows like these narrow the interval by the root of their number.
    later = half * math.sqrt(count / max(most, count))
    promising = highest + later + unseen * count / max(most, count) < 0 or lowest - later > 0
    return Decision("undecided", most > count and promising)


def _unseen(clause: Clause, windows: Sequence[Window]) -> float:
    """Return how much higher a percentile may be because its slowest requests came in few bursts, as a logarithm.

    The counts of these requests per window show how many bursts there were: a Poisson count has its mean as variance.
    """
    if clause.metric not in QUANTILES:
        return 0.0
    value = metric_value(clause, windows) or 0.0
    beyond = np.array([int(each.counts[each.times_ms >= value].sum()) + each.failed + each.skipped for each in windows])
    mean = float(beyond.mean())
    bursts = len(windows) * mean / max(float(beyond.var(ddof=1)) / mean, 1.0) if mean else 1.0
    return math.log1p(1 / (2 * bursts))


def _enough(clause: Clause, windows: Sequence[Window]) -> bool:
    """Whether windows have the requests that show that a clause holds, whatever they were."""
    due = sum(each.due for each in windows)
    if clause.is_share:
        # None of n: with 98 % confidence below 3.9 / n.
        return due * clause.limit >= -math.log(_ERROR)
    return due * (1 - QUANTILES.get(clause.metric, 0.5)) >= _BEYOND


def _excess(clause: Clause, windows: Sequence[Window]) -> float:
    """Return how far a metric is above its limit: of times the logarithm of the ratio, of shares the ratio less 1."""
    value = metric_value(clause, windows) or 0.0
    if clause.is_share:
        return min(value / clause.limit - 1, _FARTHEST)
    if value <= 0:
        return -_FARTHEST
    return min(max(math.log(value / clause.limit), -_FARTHEST), _FARTHEST) if math.isfinite(value) else _FARTHEST
