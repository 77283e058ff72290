"""Stop a run when its intervals are narrow enough, and keep their coverage at 95 % despite the stopping.

A run that stops at the first narrow interval stops when the spread happens to look small. A nominal 95 % interval then
covers in only 92 % of simulated runs. The rule here therefore uses and reports intervals of a higher nominal
confidence, which cover in at least 95 % (``test_stats_sequential.py`` simulates it; docs/explanation/statistics.md has
the results). The fewer rounds a run may stop after, the higher the nominal confidence. This is the problem of Chow and
Robbins (1965, doi:10.1214/aoms/1177700156) with a bounded number of looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from dbdyno.stats.intervals import Interval, Ratio

# The nominal confidence that gives a coverage of 95 %, by the minimum number of rounds.
_CONFIDENCE = {2: 0.98, 3: 0.975, 4: 0.965}
SEQUENTIAL_CONFIDENCE = 0.96
"""The nominal confidence for a minimum of 5 or more rounds."""

SETTLING_CONFIDENCE = 0.99
"""The nominal confidence of a gate's intervals, which are checked after the rounds of `looks_after`.

At most 2 % of gates on equal code then report a regression (docs/explanation/statistics.md).
"""

APART_CONFIDENCE = 0.985
"""The nominal confidence for the ratio of two separate runs if at least one of them stopped by such a rule.

Each run stopped when its own spread looked small, and neither looked at the ratio. At 98.5 % the interval covers in at
least 95 %.
"""


# Seconds by which the rounds that an interval needs may always exceed the budget.
_MIN_OVERRUN_S = 20.0


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a run with ``rounds = "auto"`` ends.

    ``target``: the relative half width of an interval that is narrow enough. ``of_difference``: a half width that is
    also narrow enough, as a share of the ratio's logarithm: a ratio of 20 need only be known to ±35 %. It is 0 if the
    user gave a target. ``minimum`` (at least 2) and ``maximum``: numbers of rounds. ``budget_s``: the time limit of the
    run in seconds, or None. ``kept``: rounds that may exceed the budget by ``overrun_s`` seconds (by default, as much
    again or 20 s), since an interval needs them. The budget doesn't depend on measured values, so it needs no
    correction. ``margin``: for a gate, which ends when it is settled for each cell whether ``metric`` got worse by this
    share; ``target`` is then ignored.
    """

    target: float = 0.03
    minimum: int = 5
    maximum: int = 30
    budget_s: float | None = None
    kept: int = 2
    overrun_s: float | None = None
    margin: float | None = None
    metric: str | None = None
    of_difference: float = 0.1

    @property
    def precision(self) -> str:
        """The required precision in words."""
        words = f"±{self.target * 100:.3g} %"
        return f"{words} or a tenth of the difference" if self.of_difference else words

    @property
    def confidence(self) -> float:
        """The nominal confidence of the intervals, for stopping and in the report."""
        if self.margin is not None:
            return SETTLING_CONFIDENCE
        return _CONFIDENCE.get(max(self.minimum, 2), SEQUENTIAL_CONFIDENCE)

    def looks_after(self, rounds: int) -> bool:
        """Return whether to check the intervals after this number of rounds.

        A gate checks each time the number of rounds has grown by a third: fewer looks need less correction.
        """
        if rounds < self.minimum:
            return False
        look = self.minimum
        while self.margin is not None and look < rounds:
            look = max(look + 1, look * 4 // 3)
        return self.margin is None or look == rounds

    def stored(self) -> dict[str, Any]:
        """Return the rule as it is stored with a run."""
        return asdict(self) | {"confidence": self.confidence}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the rule of a stored run. Runs stored without ``of_difference`` used the target only."""
        known = {field.name: stored[field.name] for field in fields(cls) if field.name in stored}
        return cls(**{"of_difference": 0.0} | known)

    def spent(self, rounds: int, passed_s: float, round_s: float) -> bool:
        """Return whether another round would exceed the budget.

        ``rounds``: measured so far; ``passed_s``: seconds since the run began; ``round_s``: seconds that a round takes.
        """
        if self.budget_s is None:
            return False
        allowed_s = max(self.budget_s, _MIN_OVERRUN_S) if self.overrun_s is None else self.overrun_s
        return passed_s + round_s > self.budget_s + (0.0 if rounds >= self.kept else allowed_s)

    def enough(self, intervals: Sequence[Ratio | Interval | None]) -> bool:
        """Return whether every interval (of :attr:`confidence`) is narrow enough.

        A missing interval isn't, and neither are identical rounds, whose error is unknown.
        """
        return all(self._is_narrow(interval) for interval in intervals)

    def _is_narrow(self, interval: Ratio | Interval | None) -> bool:
        if interval is None or interval.count < max(self.minimum, 2) or not interval.low or not interval.high:
            return False
        enough = math.log1p(self.target)
        if isinstance(interval, Ratio):
            enough = max(enough, self.of_difference * abs(math.log(interval.mean)))
        return math.log(interval.high / interval.low) / 2 <= enough
