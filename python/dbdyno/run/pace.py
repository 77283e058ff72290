"""Keep a run within its time budget: decide whether another round fits, and how long its windows may be."""

import time
from collections.abc import Callable

from dbdyno.stats import Stopping

AROUND_S = 0.7
"""Assumed seconds of a trial outside window and warm-up, for the process and the copy of the data."""

# Shorter windows mostly measure the start of a trial.
_MIN_WINDOW_S = 0.2


class Pace:
    """Time budget of a run's rounds. Without a budget, there is no limit."""

    def __init__(
        self, rule: Stopping | None, cells: int, began: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``cells``: number per round; ``began``: time of ``clock`` at which the budget starts, in seconds."""
        self._rule = rule
        self._cells = cells
        self._began = began
        self._clock = clock
        self._round_began = began
        self._round_s = 0.0
        self._around_s = cells * AROUND_S

    def begin_round(self, rounds: int) -> float | None:
        """Return the longest window, in seconds, with which the next round fits; None without a budget.

        ``rounds``: number measured so far. The minimum number of rounds shares the remaining time.
        """
        self._round_began = self._clock()
        if self._rule is None or self._rule.budget_s is None:
            return None
        left = self._rule.budget_s - (self._round_began - self._began)
        for_windows = left / max(self._rule.kept - rounds, 1) - self._around_s
        return max(for_windows / self._cells, _MIN_WINDOW_S)

    def end_round(self, windows_s: float, load_s: float = 0.0) -> None:
        """Record the duration of a round.

        ``windows_s``: seconds of its windows, in total; ``load_s``: seconds of loads that later rounds don't repeat.
        """
        self._round_s = max(self._clock() - self._round_began - load_s, 0.0)
        self._around_s = max(self._round_s - windows_s, 0.0)

    def spent(self, rounds: int) -> bool:
        """Return whether another round like the last one would exceed the budget."""
        return self._rule is not None and self._rule.spent(rounds, self._clock() - self._began, self._round_s)
