"""The rows that transactions would return if their own changes had not changed the data.

A faster system inserts more rows in the same time, so its queries find more. To compare two systems, the rows
per transaction are extrapolated to the beginning of their trials: a line is fitted over the intervals of the windows,
by weighted least squares (Montgomery, Peck and Vining 2012, Introduction to Linear Regression Analysis, section 5.5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import count

# With fewer intervals, the error of a line is not known well.
_FEWEST_INTERVALS = 8


class RowsAtStart(NamedTuple):
    """Rows per transaction at the beginning of a cell's trials, with the standard error."""

    mean: float
    error: float


class _Point(NamedTuple):
    """An interval. ``before``: transactions from the beginning of the trial to its middle."""

    before: float
    rows: float
    transactions: int


def rows_at_start(cell: Cell, rounds: Sequence[Round]) -> RowsAtStart | None:
    """Return the rows that transactions returned at first; None if none changed rows, or the intervals are too few."""
    if cell.rows_per_transaction is None or not any(round_.rows_changed for round_ in rounds):
        return None
    points = [point for round_ in rounds for point in _points(round_)]
    if len(points) < _FEWEST_INTERVALS:
        return None
    weights = sum(point.transactions for point in points)
    before = sum(point.before * point.transactions for point in points) / weights
    rows = sum(point.rows * point.transactions for point in points) / weights
    spread = sum(point.transactions * (point.before - before) ** 2 for point in points)
    if spread == 0:
        return None
    slope = sum(point.transactions * (point.before - before) * (point.rows - rows) for point in points) / spread
    squares = sum(point.transactions * (point.rows - rows - slope * (point.before - before)) ** 2 for point in points)
    error = math.sqrt(squares / (len(points) - 2) * (1 / weights + before**2 / spread))
    # Intervals also count rows that are changed, a constant number per transaction.
    return RowsAtStart(cell.rows_per_transaction - slope * before, error)


def _points(round_: Round) -> Iterator[_Point]:
    begun = round_.completed / round_.elapsed_s * float(round_.warmup.get("seconds") or 0) if round_.elapsed_s else 0.0
    for interval in round_.intervals:
        number = count(interval, "ok") or 0
        if number:
            yield _Point(begun + number / 2, (count(interval, "rows") or 0) / number, number)
            begun += number
