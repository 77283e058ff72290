"""Stopping a run when it is precise enough, without the interval becoming a promise that is not kept.

Looking after each block and stopping at the first narrow interval picks the moments at which the spread looks small, so
an interval of nominal 95 % computed then holds less often: 92 % in simulation. The rule here looks with, and reports,
an interval of a higher nominal confidence, which holds in at least 95 % of runs (``tests/test_stats_sequential.py``
simulates it; the figures are in docs/explanation/statistics.md). The fewer rounds it may end after, the higher. The
problem is that of Chow and Robbins (1965, doi:10.1214/aoms/1177700156) with a bounded number of looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from dbdyno.stats.intervals import Interval, Ratio

# The nominal confidence that keeps the promise of 95 %, by the least number of rounds.
_CONFIDENCE = {2: 0.98, 3: 0.975, 4: 0.965}
SEQUENTIAL_CONFIDENCE = 0.96
"""The same from 5 rounds on."""

SETTLING_CONFIDENCE = 0.99
"""The nominal confidence with which a gate looks whether its verdicts are settled, at the rounds of `looks_after`.

Of equal code at most 2 % are then called a regression (docs/explanation/statistics.md).
"""

APART_CONFIDENCE = 0.985
"""The same for the ratio of two runs of which one or both ended by such a rule, each by its own.

The interval of a ratio is then made of two spreads that were both picked for looking small, and neither looked at the
ratio. At 98.5 % it covers at least 95 %.
"""


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a run with ``rounds = "auto"`` ends.

    ``target``: half the width of the interval, as a share; ``of_difference``: half the width that is also enough, as a
    share of the difference's logarithm, so that a ratio of 20 need not be known to ±3 %, but to ±35 %; 0 where a target
    was asked for. ``minimum`` (at least 2) and ``maximum``: rounds;
    ``budget_s``: seconds that a run may take, or None; ``kept``: rounds that are measured whatever they take, since
    fewer have no interval. The budget does not depend on the measured values, so it needs no correction.
    ``margin``: of a gate, which ends when each verdict about this loss of ``metric`` is settled, and whose ``target``
    counts for nothing.
    """

    target: float = 0.03
    minimum: int = 5
    maximum: int = 30
    budget_s: float | None = None
    kept: int = 2
    margin: float | None = None
    metric: str | None = None
    of_difference: float = 0.1

    @property
    def precision(self) -> str:
        """How narrow intervals are to be, in words."""
        words = f"±{self.target * 100:.3g} %"
        return f"{words} or a tenth of the difference" if self.of_difference else words

    @property
    def confidence(self) -> float:
        """The nominal confidence of the intervals it looks at, and of those that are reported."""
        if self.margin is not None:
            return SETTLING_CONFIDENCE
        return _CONFIDENCE.get(max(self.minimum, 2), SEQUENTIAL_CONFIDENCE)

    def looks_after(self, rounds: int) -> bool:
        """Return whether to look at the results after so many rounds.

        A gate looks each time that there are a third more rounds: fewer looks need less correction.
        """
        if rounds < self.minimum:
            return False
        look = self.minimum
        while self.margin is not None and look < rounds:
            look = max(look + 1, look * 4 // 3)
        return self.margin is None or look == rounds

    def stored(self) -> dict[str, Any]:
        """Return the rule as it is kept with a run."""
        return asdict(self) | {"confidence": self.confidence}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the rule of a stored run. One that says nothing of differences looked at the target only."""
        known = {each.name: stored[each.name] for each in fields(cls) if each.name in stored}
        return cls(**{"of_difference": 0.0} | known)

    def spent(self, rounds: int, passed_s: float, round_s: float) -> bool:
        """Return whether the budget has no room for another round.

        ``rounds``: measured so far; ``passed_s``: seconds since the run began; ``round_s``: expected for the next one.
        """
        return self.budget_s is not None and rounds >= self.kept and passed_s + round_s > self.budget_s

    def enough(self, asked: Sequence[Ratio | Interval | None]) -> bool:
        """Return whether every interval asked for, of :attr:`confidence`, is narrow enough.

        One that is not known is not, nor are rounds that agree to the last digit: nobody knows how sure they are.
        """
        return all(self._narrow(each) for each in asked)

    def _narrow(self, asked: Ratio | Interval | None) -> bool:
        if asked is None or asked.count < max(self.minimum, 2) or not asked.low or not asked.high:
            return False
        enough = math.log1p(self.target)
        if isinstance(asked, Ratio):
            enough = max(enough, self.of_difference * abs(math.log(asked.mean)))
        return math.log(asked.high / asked.low) / 2 <= enough
