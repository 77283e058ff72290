"""Stopping a run when it is precise enough, without the interval becoming a promise that is not kept.

Looking after each block and stopping at the first narrow interval picks the moments at which the spread looks small, so
an interval of nominal 95 % computed then holds less often: 92 % in simulation. The rule here looks with, and reports,
an interval of nominal 97 %, which holds in at least 94 % of runs (``tests/test_stats_sequential.py`` simulates it; the
figures are in docs/statistics.md). The problem is that of Chow and Robbins (1965, doi:10.1214/aoms/1177700156) with a
bounded number of looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from dbdyno.stats.intervals import block_logs, standard_error, t_quantile

SEQUENTIAL_CONFIDENCE = 0.97
"""The nominal confidence that keeps a promise of 95 % under this rule."""

APART_CONFIDENCE = 0.985
"""The same for the ratio of two runs of which one or both ended by such a rule, each by its own.

The interval of a ratio is then made of two spreads that were both picked for looking small, and neither looked at the
ratio. At 98.5 % it covers at least 95 %, and the level of its test that goes with it keeps false differences at 2 %.
"""


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a run with ``rounds = "auto"`` ends.

    ``target``: half the width of the interval, as a share; ``minimum`` and ``maximum``: rounds; ``budget_s``: seconds
    after which no further round is begun, or None. The budget does not look at what was measured, so it needs no
    correction.
    """

    target: float = 0.03
    minimum: int = 5
    maximum: int = 30
    budget_s: float | None = None

    def stored(self) -> dict[str, Any]:
        """Return the rule as it is kept with a run."""
        return asdict(self) | {"confidence": SEQUENTIAL_CONFIDENCE}

    def enough(self, cells: Sequence[Mapping[int, float]], pairs: Sequence[tuple[int, int]]) -> bool:
        """Return whether every interval asked for is narrow enough.

        ``cells``: the throughput of each cell by block. ``pairs``: the places of a baseline and of what is compared
        with it. What is asked for are their ratios, and of a cell that is in none its mean (on logarithms, as the
        ratios).
        """
        asked = [block_logs(cells[a], cells[b]) for a, b in pairs]
        paired = {place for pair in pairs for place in pair}
        alone = [cell for place, cell in enumerate(cells) if place not in paired]
        asked += [[math.log(value) for value in cell.values() if value > 0] for cell in alone]
        return all(self._narrow(logs) for logs in asked)

    def _narrow(self, logs: Sequence[float]) -> bool:
        count = len(logs)
        if count < max(self.minimum, 2):
            return False
        reach = t_quantile((1 + SEQUENTIAL_CONFIDENCE) / 2, count - 1) * standard_error(logs)
        return reach <= math.log1p(self.target) and math.isfinite(fmean(logs))
