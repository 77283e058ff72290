"""The chart of the time of each statement, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.answer.words import interval_of, time_of
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Document
from dbdyno.report.charts.figure import Figure, colour, draw
from dbdyno.report.charts.points import points

# Maximum number of statements in the chart; the slowest ones are drawn.
_MAX_STATEMENTS = 14
_WIDE_ROW = 24


def times_chart(document: Document) -> Figure | None:
    """Draw the time of one execution of each statement; None if the experiment doesn't report times."""
    timed = [cell for cell in document.cells if time_of(cell) is not None]
    if document.report.get("times") is not True or not timed:
        return None
    systems = document.answer.systems
    several = len(systems) > 1
    rows = [_row(cell, systems[cell.system.name] if several else "") for cell in timed]
    slowest: dict[str, float] = {}
    for row in rows:
        slowest[row["name"]] = max(slowest.get(row["name"], 0.0), row["ms"])
    names = sorted(slowest, key=lambda name: -slowest[name])[:_MAX_STATEMENTS]
    rows = [row for row in rows if row["name"] in names]
    label = "Milliseconds per execution of each statement"
    slim, wide = (draw(_chart(rows, names, wide=each), label) for each in (False, True))
    left = len(slowest) - len(names)
    more = f" {left} faster ones are not drawn." if left > 1 else " One faster one is not drawn." if left else ""
    note = f"Point: mean of the rounds; bar: its 95 % interval. Logarithmic axis.{more}"
    return Figure("Time of each statement", slim, note, wide=wide)


def _chart(rows: Sequence[dict[str, Any]], names: Sequence[str], *, wide: bool) -> Any:
    axis = alt.Axis(title="milliseconds of an execution", tickCount=5, format="~g")
    x = alt.X("ms:Q", scale=alt.Scale(type="log", nice=True), axis=axis)
    series = colour(list(dict.fromkeys(row["series"] for row in rows)), wide=wide)
    return points(rows, names, x, series, wide_row=_WIDE_ROW if wide else None)


def _row(cell: Cell, series: str) -> dict[str, Any]:
    mean = time_of(cell) or 0.0
    low, high = interval_of(cell) or (mean, mean)
    name = str(cell.factors.get(STATEMENT, cell.id))
    return {"name": name, "series": series, "ms": mean, "low": low, "high": high}
