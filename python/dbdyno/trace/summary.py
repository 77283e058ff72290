"""Totals of a trace by statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dbdyno.trace.fingerprint import CURSOR
from dbdyno.trace.header import Role, role_of
from dbdyno.trace.reading import Trace

# Durations kept per statement for percentiles, a random sample.
_SAMPLED = 2000


@dataclass
class StatementTotals:
    """The executions of one statement. ``duration_ns``: the total; ``timed``: the executions with a duration.

    ``counted``: executions whose rows are known; ``sample_ns``: durations of a random sample of executions.
    """

    text: str
    count: int = 0
    timed: int = 0
    duration_ns: int = 0
    rows: int = 0
    counted: int = 0
    errors: int = 0
    sample_ns: list[int] = field(default_factory=list)

    @property
    def mean_ms(self) -> float | None:
        """The mean duration."""
        return self.duration_ns / self.timed / 1e6 if self.timed else None

    def percentile_ms(self, percent: float) -> float | None:
        """Return a percentile of the durations; ``None`` if they aren't known one by one."""
        return float(np.percentile(self.sample_ns, percent)) / 1e6 if self.sample_ns else None


@dataclass(frozen=True)
class Summary:
    """A trace's statements, those with the largest share of time first, and its errors by code."""

    statements: Sequence[StatementTotals]
    errors: Counter[str]
    transactions: int

    @property
    def duration_ns(self) -> int:
        """The total time of all statements."""
        return sum(each.duration_ns for each in self.statements)


def summarize(trace: Trace) -> Summary:
    """Read a trace to its end, in bounded memory. Reading a cursor is a part of its query. Raises InputError."""
    totals: list[StatementTotals] = []
    cursors = _Cursors()
    errors: Counter[str] = Counter()
    transactions = 0
    random = np.random.default_rng(1)
    for batch in trace.batches:
        totals += [StatementTotals(text) for text in trace.texts[len(totals) :]]
        duration = np.array([-1 if each is None else each for each in batch.duration_ns], dtype=np.int64)
        statement = np.array(batch.statement, dtype=np.int64)
        count = np.array(batch.count, dtype=np.int64)
        cursors.merge(trace.texts, batch.session, statement, count, duration)
        known = duration >= 0
        with_rows = np.array([each is not None for each in batch.rows], dtype=np.int64)
        sums = {
            "count": np.bincount(statement, weights=count, minlength=len(totals)),
            "timed": np.bincount(statement, weights=count * known, minlength=len(totals)),
            "duration_ns": np.bincount(statement, weights=duration * known, minlength=len(totals)),
            "counted": np.bincount(statement, weights=count * with_rows, minlength=len(totals)),
            "rows": np.bincount(statement, weights=[each or 0 for each in batch.rows], minlength=len(totals)),
        }
        for name, values in sums.items():
            for number in np.flatnonzero(values).tolist():
                each = totals[number]
                setattr(each, name, getattr(each, name) + int(values[number]))
        if trace.header.ordered:
            for number in np.unique(statement).tolist():
                _sample(totals[number], duration[known & (count > 0) & (statement == number)], random)
        for number, code in zip(statement.tolist(), batch.error, strict=True):
            if code is not None:
                totals[number].errors += 1
                errors[code] += 1
        numbers = [each for each in batch.transaction if each is not None]
        transactions = max(transactions, max(numbers, default=0))
    ordered = sorted(totals, key=lambda each: (-each.duration_ns, -each.count, each.text))
    return Summary(ordered, errors, transactions)


class _Cursors:
    """Adds reading and closing a cursor to its query. If a session has several open cursors, it takes the newest."""

    def __init__(self) -> None:
        # For each session, the query's number, and its row in the batch.
        self._queries: dict[int, tuple[int, int | None]] = {}
        self._roles: list[Role | None] = []

    def merge(
        self,
        texts: Sequence[str],
        sessions: Sequence[int],
        statement: NDArray[np.int64],
        count: NDArray[np.int64],
        duration: NDArray[np.int64],
    ) -> None:
        """Replace the numbers of a batch's statements, and move their durations. ``duration``: -1 if unknown."""
        self._queries = {session: (query, None) for session, (query, _) in self._queries.items()}
        self._roles += [
            "query" if text.startswith(CURSOR) else "cursor" if role_of(text) == "cursor" else None
            for text in texts[len(self._roles) :]
        ]
        if not any(self._roles):
            return
        for at in np.flatnonzero([self._roles[number] is not None for number in statement.tolist()]).tolist():
            session, number = sessions[at], int(statement[at])
            if self._roles[number] == "query":
                self._queries[session] = number, at
            elif session in self._queries:
                query, row = self._queries[session]
                statement[at], count[at] = query, 0
                if row is not None and duration[row] >= 0 and duration[at] >= 0:
                    duration[row] += duration[at]
                    duration[at] = 0


def _sample(totals: StatementTotals, durations: NDArray[np.int64], random: np.random.Generator) -> None:
    """Add durations to the sample; once it is full, they replace others in proportion to their share."""
    room = _SAMPLED - len(totals.sample_ns)
    totals.sample_ns += durations[:room].tolist()
    rest = durations[room:] if room > 0 else durations
    if len(rest) == 0:
        return
    share = len(rest) / max(totals.timed, 1)
    places = np.flatnonzero(random.random(_SAMPLED) < share)
    for place, value in zip(places, random.choice(rest, len(places)), strict=True):
        totals.sample_ns[place] = int(value)
