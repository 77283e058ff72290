"""Queues whose highest rate is known, drawn and not measured: one server, requests that arrive at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.slo.decide import Window
from dbdyno.analysis.slo.search import Search
from dbdyno.model.experiment.objective import Objective

Floats = NDArray[np.float64]

SPACING_S = 0.4
"""Seconds between two windows, in which a worker ends and the next begins."""


@dataclass(frozen=True)
class Neighbor:
    """A program that comes and goes: mean milliseconds on and off, and how much slower requests are meanwhile."""

    on_ms: float
    off_ms: float
    slower: float


@dataclass
class Queue:
    """A server with one queue. ``kind``: exponential, constant, or 90 % short and 10 % long service times."""

    kind: str
    service_ms: float
    random: np.random.Generator
    neighbor: Neighbor | None = None
    now_ms: float = 0.0
    _busy: Floats = field(default_factory=lambda: np.empty((0, 2)))

    def window(self, rate: float, seconds: float, warmup_s: float, limit_ms: float) -> Window:
        """Draw a window that begins with an empty queue and a warm-up."""
        end = (seconds + warmup_s) * 1e3
        gaps = self.random.exponential(1e3 / rate, int(rate * end / 1e3 * 1.3) + 200)
        due = np.cumsum(gaps)
        due, gaps = due[due < end], gaps[due < end]
        services = self._services(due)
        changes = np.concatenate([[0.0], services[:-1]]) - gaps
        total = np.cumsum(changes)
        waits = total - np.minimum.accumulate(np.minimum(total, 0))
        counts, begun = due >= warmup_s * 1e3, due + waits < end
        times = np.sort((waits + services)[counts & begun])
        skipped = int(((end - due)[counts & ~begun] > limit_ms).sum())
        self.now_ms += end + SPACING_S * 1e3
        return Window(times, np.ones(len(times), np.int64), 0, skipped)

    def _services(self, due: Floats) -> Floats:
        match self.kind:
            case "exponential":
                drawn = self.random.exponential(self.service_ms, len(due))
            case "constant":
                drawn = np.full(len(due), self.service_ms)
            case _:
                drawn = np.where(self.random.random(len(due)) < 0.1, 5.5, 0.5) * self.service_ms
        if self.neighbor is None:
            return drawn
        at = due + self.now_ms
        while not len(self._busy) or self._busy[-1, 0] < at[-1]:
            last = float(self._busy[-1, 1]) if len(self._busy) else 0.0
            begins = last + self.random.exponential(self.neighbor.off_ms)
            self._busy = np.vstack([self._busy, [begins, begins + self.random.exponential(self.neighbor.on_ms)]])
        place = np.searchsorted(self._busy[:, 0], at) - 1
        disturbed = (place >= 0) & (at < self._busy[np.maximum(place, 0), 1])
        return np.where(disturbed, drawn * self.neighbor.slower, drawn)


def highest_rate(objective: Objective, queue: Queue, share: float) -> float:
    """Return the rate at which a share of requests takes longer than the limit, from long windows."""
    limit_ms = objective.clauses[0].limit
    low, high = 0.02e3 / queue.service_ms, 1.2e3 / queue.service_ms
    for _ in range(11):
        rate = math.sqrt(low * high)
        seconds = max(150_000 / rate, 40.0)
        window = queue.window(rate, seconds, 3.0, limit_ms)
        slow = int((window.times_ms > limit_ms).sum()) + window.skipped
        low, high = (low, rate) if slow / window.due > share else (rate, high)
    return math.sqrt(low * high)


def search(objective: Objective, queue: Queue, budget_s: float, window_s: float, warmup_s: float) -> Search:
    """Carry out a search whose closed loop is off by some percent."""
    capacity = 1e3 / queue.service_ms * (1 + 0.05 * queue.random.standard_normal())
    found = Search(objective, capacity, 1e7, window_s)
    left = int(budget_s / (window_s + warmup_s + SPACING_S))
    while (probe := found.next(left)) is not None:
        found.add(probe, queue.window(probe.rate, window_s, warmup_s, objective.clauses[0].limit))
        left -= 1
    return found
