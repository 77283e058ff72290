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

RateVerdict = Literal["holds", "violated", "undecided"]

MIN_WINDOWS = 3
"""Windows that a decision needs."""

KEEPS_UP = Clause("skipped", OVERLOADED)
"""Part of every objective: above the capacity, response times only grow with the length of the window."""

# Probability of a wrong decision at one rate, one-sided. A search makes a few decisions near its limit.
_ERROR = 0.02

# Number of requests above a percentile, in all windows together, that a decision that it holds needs.
_BEYOND = 3

# Usual spread of windows, and its weight in windows. It prevents decisions from three windows that agree by chance.
_USUAL_SPREAD, _USUAL_WEIGHT = 0.2, 3

# Bounds of log(metric / limit), so that one stalled window does not outweigh all others.
_FARTHEST = 3.0


@dataclass(frozen=True)
class Window:
    """Requests of one measured window that were due in it.

    ``times_ms``, ``counts``: response times of successful requests, ascending; ``failed``: number of failed requests;
    ``skipped``: number of requests that had not started when the window ended and had waited longer than the
    objective's limit. Requests due just before the end count as neither, because their response time is unknown.
    """

    times_ms: NDArray[np.float64]
    counts: NDArray[np.int64]
    failed: int = 0
    skipped: int = 0

    @property
    def ok(self) -> int:
        """Number of successful requests."""
        return int(self.counts.sum())

    @property
    def due(self) -> int:
        """Number of all requests that count."""
        return self.ok + self.failed + self.skipped


def metric_value(clause: Clause, windows: Sequence[Window]) -> float | None:
    """Return a metric over windows: milliseconds, or a share. None without requests.

    A request that failed or was skipped counts as slower than any limit: a time is infinite if they decide it.
    """
    due = sum(window.due for window in windows)
    if not due:
        return None
    lost = sum(window.failed + window.skipped for window in windows)
    match clause.metric:
        case "failed":
            return lost / due
        case "skipped":
            return sum(window.skipped for window in windows) / due
        case "max":
            return math.inf if lost else max(float(window.times_ms[-1]) for window in windows if window.ok)
        case "mean":
            ok = due - lost
            total = sum(float(window.times_ms @ window.counts) for window in windows)
            return total / ok if ok > (1 - OVERLOADED) * due else math.inf
    return _quantile(windows, max(math.ceil(QUANTILES[clause.metric] * due), 1))


def _quantile(windows: Sequence[Window], position: int) -> float:
    times = np.concatenate([window.times_ms for window in windows])
    counts = np.concatenate([window.counts for window in windows])
    order = np.argsort(times, kind="stable")
    found = int(np.searchsorted(np.cumsum(counts[order]), position))
    return float(times[order[found]]) if found < len(order) else math.inf


@dataclass(frozen=True)
class Decision:
    """A verdict. ``promising``: whether more windows at the rate would probably decide an undecided one."""

    verdict: RateVerdict
    promising: bool = False


def decide(objective: Objective, windows: Sequence[Window], most: int = 0) -> Decision:
    """Decide whether an objective holds at the rate of some windows: all clauses hold, and the system keeps up.

    ``most``: maximum number of windows at the rate.
    """
    # A window without a successful request, for example without a connection, needs no further windows.
    if any(window.failed and not window.ok for window in windows):
        return Decision("violated")
    if len(windows) < MIN_WINDOWS:
        return Decision("undecided", promising=True)
    decisions = [_decide(clause, windows, most) for clause in (*objective.clauses, KEEPS_UP)]
    verdicts = [decision.verdict for decision in decisions]
    if "violated" in verdicts:
        return Decision("violated")
    if "undecided" not in verdicts:
        return Decision("holds")
    return Decision("undecided", all(decision.promising for decision in decisions if decision.verdict == "undecided"))


def excess(objective: Objective, windows: Sequence[Window]) -> float:
    """Return the largest logarithm of the ratio of a metric to its limit; negative if all are below their limits."""
    return max(_excess(clause, windows) for clause in (*objective.clauses, KEEPS_UP))


def broken(objective: Objective, windows: Sequence[Window]) -> Clause:
    """Return the clause whose metric is farthest above its limit."""
    clauses = (*objective.clauses, KEEPS_UP)
    return max(clauses, key=lambda clause: _excess(clause, windows))


def _decide(clause: Clause, windows: Sequence[Window], most: int) -> Decision:
    count = len(windows)
    if clause.metric == "max":
        # A maximum grows with the time measured, so the decision is about the measured windows, not a population.
        value = metric_value(clause, windows)
        if value is None:
            return Decision("undecided", most > count)
        return Decision("holds" if value < clause.limit else "violated")
    whole = _excess(clause, windows)
    without = [_excess(clause, [*windows[:position], *windows[position + 1 :]]) for position in range(count)]
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
    """Return the log of the factor by which a percentile may be higher if its slowest requests came in few bursts.

    The number of bursts follows from the counts of slow requests per window, because the variance of a Poisson count
    equals its mean.
    """
    if clause.metric not in QUANTILES:
        return 0.0
    value = metric_value(clause, windows) or 0.0
    beyond = np.array(
        [int(window.counts[window.times_ms >= value].sum()) + window.failed + window.skipped for window in windows]
    )
    mean = float(beyond.mean())
    bursts = len(windows) * mean / max(float(beyond.var(ddof=1)) / mean, 1.0) if mean else 1.0
    return math.log1p(1 / (2 * bursts))


def _enough(clause: Clause, windows: Sequence[Window]) -> bool:
    """Whether windows contain enough requests to show that a clause holds."""
    due = sum(window.due for window in windows)
    if clause.is_share:
        # If none of n requests failed, the share is below 3.9 / n with 98% confidence.
        return due * clause.limit >= -math.log(_ERROR)
    return due * (1 - QUANTILES.get(clause.metric, 0.5)) >= _BEYOND


def _excess(clause: Clause, windows: Sequence[Window]) -> float:
    """Return how far a metric is above its limit: log(value / limit) for a time, value / limit - 1 for a share."""
    value = metric_value(clause, windows) or 0.0
    if clause.is_share:
        return min(value / clause.limit - 1, _FARTHEST)
    if value <= 0:
        return -_FARTHEST
    return min(max(math.log(value / clause.limit), -_FARTHEST), _FARTHEST) if math.isfinite(value) else _FARTHEST
