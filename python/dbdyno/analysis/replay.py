"""What a replay shows: whether it kept up and what made it late, and how executions differ from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.stats import Ratio, paired_ratio
from dbdyno.stats.verdicts import Decision, decide
from dbdyno.trace.recording import Executions, Recording

KEEPS_UP_S = 0.01
"""A replay keeps up if 99 % of its statements begin at most this late."""


@dataclass(frozen=True)
class Lag:
    """How late the statements of a replay began, in seconds. ``causes``: each cause's share of the lateness."""

    p50_s: float
    p99_s: float
    max_s: float
    causes: Mapping[str, float]

    @property
    def kept_up(self) -> bool:
        """Whether the statements began in time."""
        return self.p99_s <= KEEPS_UP_S

    @property
    def main_cause(self) -> str:
        """The cause of most of the lateness."""
        return max(self.causes, key=lambda cause: self.causes[cause])


def lag_of(late_s: NDArray[np.float32], causes_s: Mapping[str, float]) -> Lag:
    """Return the lag of a replay. ``late_s``: of each statement; ``causes_s``: the sum by cause."""
    if not len(late_s):
        return Lag(0.0, 0.0, 0.0, dict.fromkeys(causes_s, 0.0))
    total = sum(causes_s.values())
    p50, p99 = np.percentile(late_s, (50, 99)).tolist()
    shares = {cause: seconds / total if total else 0.0 for cause, seconds in causes_s.items()}
    return Lag(p50, p99, float(late_s.max()), shares)


@dataclass(frozen=True)
class StatementChange:
    """How the executions of a statement differ from their bases.

    ``rows``: executions with another number of rows. ``failed``, ``succeeded``: executions with an error on the new
    side only, or on the base side only, by the error's code. ``other_errors``: executions with different errors. Times
    are milliseconds of executions without errors, None if unknown. ``speed``: the base's time over the new time; its
    interval is corrected for the number of statements.
    """

    statement: str
    count: int
    rows: int
    failed: Counter[str]
    succeeded: Counter[str]
    other_errors: int
    base_p50_ms: float | None
    base_p99_ms: float | None
    new_p50_ms: float | None
    new_p99_ms: float | None
    new_ms: float
    speed: Decision

    @property
    def differs(self) -> bool:
        """Whether rows or errors differ."""
        return bool(self.rows or self.failed or self.succeeded or self.other_errors)


@dataclass(frozen=True)
class Comparison:
    """A comparison of executions. ``speed``: of all statements together."""

    statements: Sequence[StatementChange]
    speed: Ratio | None

    @property
    def differing(self) -> int:
        """The number of executions with other rows or errors."""
        return sum(
            each.rows + each.failed.total() + each.succeeded.total() + each.other_errors for each in self.statements
        )


def compare_executions(
    recording: Recording,
    segments: Sequence[tuple[int, int]],
    base: Executions,
    new: Executions,
    done: NDArray[np.bool_],
) -> Comparison:
    """Compare executions one by one. Times are compared by segment, so each segment is a round of the interval.

    ``done``: the executions to compare. Statements with other errors or rows are first, followed by statements with
    settled times.
    """
    at = np.flatnonzero(done)
    if not len(at):
        return Comparison((), None)
    segment = np.searchsorted([first for first, _ in segments], at, side="right") - 1
    timed = (base.error[at] == 0) & (new.error[at] == 0) & ~np.isnan(base.seconds[at])
    found, ratios = [], []
    statements = recording.statement[at]
    by_statement = np.argsort(statements, kind="stable")
    numbers, begins = np.unique(statements[by_statement], return_index=True)
    for number, chosen in zip(numbers.tolist(), np.split(by_statement, begins[1:]), strict=True):
        found.append((recording.texts[number], chosen))
        ratios.append(_speed(base, new, at, segment, chosen[timed[chosen]]))
    decisions = decide(ratios, family=sum(each is not None and each.reach is not None for each in ratios) or 1)
    codes = recording.codes.codes
    changes = [
        _change(text, (base, new), at[chosen], at[chosen[timed[chosen]]], codes, decision)
        for (text, chosen), decision in zip(found, decisions, strict=True)
    ]
    changes.sort(
        key=lambda each: (
            not each.differs,
            each.speed.verdict not in ("slower", "faster"),
            -each.new_ms,
            each.statement,
        )
    )
    return Comparison(changes, _speed(base, new, at, segment, np.flatnonzero(timed)))


def _speed(
    base: Executions,
    new: Executions,
    at: NDArray[np.int64],
    segment: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> Ratio | None:
    """Return the base's time over the new time, by segment."""
    of = segment[chosen]
    sums = [np.bincount(of, weights=side.seconds[at[chosen]]) for side in (base, new)]
    old, now = ({number: float(value) for number, value in enumerate(each) if value > 0} for each in sums)
    return paired_ratio(now, old)


def _change(
    text: str,
    sides: tuple[Executions, Executions],
    at: NDArray[np.int64],
    timed: NDArray[np.int64],
    codes: Sequence[str | None],
    decision: Decision,
) -> StatementChange:
    base, new = sides
    before, after = base.error[at], new.error[at]
    known = (base.rows[at] >= 0) & (new.rows[at] >= 0) & (before == 0) & (after == 0)
    # Without recorded times, the new times are shown alone.
    of_new = timed if len(timed) else at[after == 0]
    times = [
        np.percentile(side.seconds[chosen] * 1e3, (50, 99)).tolist() if len(chosen) else (None, None)
        for side, chosen in ((base, timed), (new, of_new))
    ]
    return StatementChange(
        statement=text,
        count=len(at),
        rows=int(np.count_nonzero(known & (base.rows[at] != new.rows[at]))),
        failed=_named(after[(before == 0) & (after != 0)], codes),
        succeeded=_named(before[(before != 0) & (after == 0)], codes),
        other_errors=int(np.count_nonzero((before != 0) & (after != 0) & (before != after))),
        base_p50_ms=times[0][0],
        base_p99_ms=times[0][1],
        new_p50_ms=times[1][0],
        new_p99_ms=times[1][1],
        new_ms=float(np.nansum(new.seconds[at])) * 1e3,
        speed=decision,
    )


def _named(errors: NDArray[np.int16], codes: Sequence[str | None]) -> Counter[str]:
    numbers, counts = np.unique(errors, return_counts=True)
    return Counter(
        {codes[number] or "": count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)}
    )
