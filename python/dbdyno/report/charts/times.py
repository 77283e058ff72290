"""The time of each statement of a file as a picture, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.answer.short import STATEMENT
from dbdyno.answer.words import interval_of, time_of
from dbdyno.document.cell import Cell
from dbdyno.document.shape import Document
from dbdyno.report.charts.drawing import WIDE, WIDTH, Figure, colour, data, draw

# So many are drawn, the slowest of them.
_MOST = 14
_ROW = 27
# Of a chart with the names beside the rows, and the pixels that they have.
_WIDE_ROW, _NAME = 24, 340


def times_chart(document: Document) -> Figure | None:
    """Draw what one execution of each statement takes; none where it is not asked for times."""
    timed = [cell for cell in document["cells"] if time_of(cell) is not None]
    if document["report"].get("times") is not True or not timed:
        return None
    systems = document["answer"]["systems"]
    several = len(systems) > 1
    rows = [_row(cell, systems[cell["system"]["name"]] if several else "") for cell in timed]
    slowest: dict[str, float] = {}
    for row in rows:
        slowest[row["name"]] = max(slowest.get(row["name"], 0.0), row["ms"])
    names = sorted(slowest, key=lambda name: -slowest[name])[:_MOST]
    rows = [row for row in rows if row["name"] in names]
    label = "Milliseconds of an execution, by statement"
    slim, wide = (draw(_chart(rows, names, wide=each), label) for each in (False, True))
    left = len(slowest) - len(names)
    more = f" {left} faster ones are not drawn." if left > 1 else " One faster one is not drawn." if left else ""
    note = f"Point: mean of the rounds; bar: its 95 % interval. Logarithmic axis.{more}"
    return Figure("Time of each statement", slim, note, wide=wide)


def _chart(rows: Sequence[dict[str, Any]], names: Sequence[str], *, wide: bool) -> Any:
    """Draw a row for each statement: its name above it, or beside it where there is room."""
    beside = alt.Axis(title=None, labelLimit=_NAME, ticks=False, domain=False, labelPadding=8)
    y = alt.Y("name:N", sort=names, axis=beside if wide else None, scale=alt.Scale(domain=names, paddingInner=0.2))
    axis = alt.Axis(title="milliseconds of an execution", tickCount=5, format="~g")
    x = alt.X("ms:Q", scale=alt.Scale(type="log", nice=True), axis=axis)
    series = colour(list(dict.fromkeys(row["series"] for row in rows)), wide=wide)
    base = alt.Chart(data(rows)).encode(y=y, color=series)
    down = 0 if wide else 7
    layers = [
        base.mark_rule(strokeWidth=2.5, yOffset=down).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(size=55, filled=True, opacity=1, yOffset=down).encode(x=x),
    ]
    if not wide:
        labels = alt.Chart(data([{"name": name} for name in names]))
        named = labels.mark_text(align="left", dy=-5, fontSize=11, limit=WIDTH)
        layers.append(named.encode(y=y, x=alt.value(0), text="name:N"))
    return alt.layer(*layers).properties(
        width=WIDE if wide else WIDTH,
        height=(_WIDE_ROW if wide else _ROW) * len(names),
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )


def _row(cell: Cell, series: str) -> dict[str, Any]:
    mean = time_of(cell) or 0.0
    low, high = interval_of(cell) or (mean, mean)
    name = str(cell["factors"].get(STATEMENT, cell["id"]))
    return {"name": name, "series": series, "ms": mean, "low": low, "high": high}
