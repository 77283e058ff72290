"""Search for the highest rate at which an objective holds: choose the next rate to measure, and bound the result.

It first approaches the limit by single windows: from below the closed loop's throughput upwards or downwards in large
steps, then by halving the bracket on a logarithmic scale. Then it decides with fresh windows only, so that luck in the
approach does not count: at the bracket's ends in turn, and between them as long as there is time. A rate that stays
undecided belongs to the interval. MLRsearch (https://datatracker.ietf.org/doc/draft-ietf-bmwg-mlrsearch/) brackets
network devices in this way, with trials too short to decide by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.analysis.slo.decide import MIN_WINDOWS, RateVerdict, Window, decide, excess
from dbdyno.model.experiment.objective import QUANTILES, Objective

# The first rate and the first steps, as shares of the closed loop's throughput and of the rate before.
_FIRST, _UP, _DOWN = 0.7, 1.25, 0.5

# The same without a closed loop, per second: a ladder of doubled rates.
_LADDER_FROM, _LADDER_UP = 10.0, 2.0

# Below this share of the closed loop's throughput requests don't queue, so a violated objective cannot be met.
_MIN_RATE_SHARE = 1 / 64

# The approach ends at the first ratio of the bracket's ends, and the search at the second ratio of the interval's ends.
_NEAR, _NARROW = 1.15, 1.05

# Maximum number of windows that decide about one rate.
_MAX_WINDOWS = 8

# Windows at the highest rate that holds, measured at the end to include disturbances that were absent before.
_AGAIN = 4

# Maximum logarithm of metric / limit that is used to interpolate between two rates.
_MAX_EXCESS = 1.0

# Steps away from a rate that stays undecided: each squares the ratio, up to this factor.
_STEPS, _MAX_STEP = 6, 1.6

# The first rate to decide about is outside the bracket by this value over the root of the requests beyond the
# percentile.
_BESIDE, _MIN_BESIDE, _MAX_BESIDE = 0.5, 1.1, 2.0


@dataclass(frozen=True)
class Probe:
    """The next window: at which rate, and whether it counts for a decision."""

    rate: float
    confirms: bool


@dataclass
class ProbedRate:
    """The windows at one rate: ``approach`` only guides the search, ``fresh`` decides."""

    approach: list[Window] = field(default_factory=list)
    fresh: list[Window] = field(default_factory=list)


@dataclass(frozen=True)
class Bounds:
    """The interval: the highest rate proven to hold and the lowest proven not to; None if unknown."""

    low: float | None
    high: float | None


class Search:
    """Finds the highest rate at which an objective holds, from windows that its caller measures."""

    def __init__(self, objective: Objective, capacity: float | None, highest: float, window_s: float) -> None:
        """``capacity``: the throughput of the closed loop per second, None if unknown.

        ``highest``: the highest rate per second that can be offered; ``window_s``: the length of the windows.
        """
        self._window_s = window_s
        self._objective = objective
        self._first = _LADDER_FROM if capacity is None else _FIRST * capacity
        self._up = _LADDER_UP if capacity is None else _UP
        self._lowest = _MIN_RATE_SHARE * (_LADDER_FROM if capacity is None else capacity)
        self._highest = highest
        self.rates: dict[float, ProbedRate] = {}
        # The ends of the bracket to confirm after the approach.
        self._ends: tuple[float | None, float | None] | None = None
        self._turn = self._again = 0

    def add(self, probe: Probe, window: Window) -> None:
        """Add a window that was measured."""
        at = self.rates.setdefault(probe.rate, ProbedRate())
        (at.fresh if probe.confirms else at.approach).append(window)

    def verdict(self, rate: float) -> RateVerdict:
        """Return the verdict about a rate, by its fresh windows."""
        at = self.rates.get(rate)
        return "undecided" if at is None else decide(self._objective, at.fresh).verdict

    def bounds(self) -> Bounds:
        """Return the interval as it is known so far."""
        return bounds_of({rate: self.verdict(rate) for rate in self.rates})

    def next(self, left: int) -> Probe | None:
        """Return the next window to measure; None if all is known or the time is over.

        ``left``: how many windows there is time for. The first is measured in any case.
        """
        if left <= 0 and self.rates:
            return None
        if self._ends is None:
            rate = self._approach() if left > 2 * MIN_WINDOWS or not self.rates else None
            if rate is not None:
                return Probe(rate, False)
            self._ends = self._bracket()
        rate = self._confirm(left)
        return None if rate is None else Probe(rate, True)

    def _approach(self) -> float | None:
        """Return the rate that narrows the bracket by single windows; None if it is narrow enough."""
        low, high = self._bracket()
        if low is None and high is None:
            return _rounded(min(self._first, self._highest))
        if high is None and low is not None:
            return _rounded(min(low * self._up, self._highest)) if low < self._highest else None
        if low is None and high is not None:
            return _rounded(high * _DOWN) if high > self._lowest else None
        assert low is not None and high is not None  # noqa: S101 - the cases above
        return _between(low, high) if high / low > max(_NEAR, self._beside(low)) else None

    def _bracket(self) -> tuple[float | None, float | None]:
        """Return the rates between which the limit seems to be: by all windows at each rate, decided or not."""
        seen = sorted((rate, excess(self._objective, [*at.approach, *at.fresh])) for rate, at in self.rates.items())
        high = next((rate for rate, above in seen if above > 0), None)
        low = max((rate for rate, above in seen if above <= 0 and (high is None or rate < high)), default=None)
        return low, high

    def _confirm(self, left: int) -> float | None:
        """Return the next rate that needs fresh windows for a decision."""
        assert self._ends is not None  # noqa: S101 - only called then
        low, high = self._ends
        bounds = self.bounds()
        wanted = [self._end_below(low, high, bounds), self._end_above(low, high, bounds)]
        wanted = [each for each in wanted if each is not None]
        if wanted:
            # Alternate, so that temporary disturbances of the machine affect both.
            self._turn += 1
            return wanted[self._turn % len(wanted)]
        rate = self._refine(bounds, left) if left > _AGAIN else None
        if rate is None and bounds.low is not None and self._again < _AGAIN:
            self._again += 1
            return bounds.low
        return rate

    def _end_below(self, low: float | None, high: float | None, bounds: Bounds) -> float | None:
        """Return a rate at which the objective may be proven to hold; None if already done or impossible."""
        if bounds.low is not None:
            return None
        at = low if low is not None else None if high is None else _rounded(high * _DOWN)
        if at is None:
            return None
        for ratio in self._ratios(at):
            rate = _rounded(at / ratio)
            if rate < self._lowest:
                return None
            if self._is_open(rate) and (bounds.high is None or rate < bounds.high):
                return rate
        return None

    def _end_above(self, low: float | None, high: float | None, bounds: Bounds) -> float | None:
        """Return a rate at which the objective may be proven not to hold; None if already done or impossible."""
        if bounds.high is not None:
            return None
        at = high if high is not None else low
        if at is None:
            return None
        # Without a lower end, the upper end itself must be proven to violate the objective.
        for ratio in [1.0, *self._ratios(at)] if low is None else self._ratios(at):
            rate = _rounded(min(at * ratio, self._highest))
            if self._is_open(rate) and (bounds.low is None or rate > bounds.low):
                return rate
        return None

    def _refine(self, bounds: Bounds, left: int) -> float | None:
        """Return a rate between the decided ones, as far as there is time to decide about it."""
        if bounds.low is None or bounds.high is None or bounds.high / bounds.low <= _NARROW:
            return None
        undecided = sorted(rate for rate, at in self.rates.items() if at.fresh and bounds.low < rate < bounds.high)
        begun = [rate for rate in undecided if self._is_open(rate)]
        if begun:
            return begun[0]
        if left < MIN_WINDOWS:
            return None
        gaps = [(bounds.low, undecided[0]), (undecided[-1], bounds.high)] if undecided else [(bounds.low, bounds.high)]
        low, high = max(gaps, key=lambda gap: gap[1] / gap[0])
        return _between(low, high) if high / low > _NARROW else None

    def _ratios(self, rate: float) -> list[float]:
        """Return the factors between an undecided rate and the rates to try next."""
        found = [self._beside(rate)]
        while len(found) < _STEPS:
            found.append(found[-1] * min(found[-1], _MAX_STEP))
        return found

    def _beside(self, rate: float) -> float:
        """Return the ratio of two rates that windows can probably distinguish."""
        beyond = min(1 - QUANTILES.get(clause.metric, 0.9) for clause in self._objective.clauses)
        found = 1 + _BESIDE / math.sqrt(rate * self._window_s * beyond)
        return min(max(found, _MIN_BESIDE), _MAX_BESIDE)

    def _is_open(self, rate: float) -> bool:
        """Whether further windows may decide about a rate."""
        at = self.rates.get(rate)
        return at is None or decide(self._objective, at.fresh, _MAX_WINDOWS).promising


def bounds_of(verdicts: dict[float, RateVerdict]) -> Bounds:
    """Return the interval that verdicts about rates leave: below the lowest rate that violates the objective."""
    high = min((rate for rate, verdict in verdicts.items() if verdict == "violated"), default=None)
    holding = [rate for rate, verdict in verdicts.items() if verdict == "holds" and (high is None or rate < high)]
    return Bounds(max(holding, default=None), high)


def estimate(
    objective: Objective, low: float, high: float, at_low: Sequence[Window], at_high: Sequence[Window]
) -> float:
    """Return the rate between two at which the worst metric is at its limit, interpolated on logarithmic scales.

    Above its capacity, a system's times can be arbitrarily long, so the excess is capped.
    """
    below = min(max(excess(objective, at_low), -_MAX_EXCESS), -1e-9)
    above = max(min(excess(objective, at_high), _MAX_EXCESS), 1e-9)
    return float(math.exp(math.log(low) + math.log(high / low) * -below / (above - below)))


def _between(low: float, high: float) -> float:
    return _rounded(math.sqrt(low * high))


def _rounded(rate: float) -> float:
    """Round to three digits, to keep the names of cells short."""
    return float(f"{rate:.3g}")
