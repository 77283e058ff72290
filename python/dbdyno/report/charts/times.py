"""The time of each statement of a file as a picture, with intervals."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbdyno.answer.words import STATEMENT, interval_of, time_of
from dbdyno.document.cell import Cell
from dbdyno.document.shape import Document
from dbdyno.report.charts.drawing import WIDTH, Figure, colour, data, draw

# So many are drawn, the slowest of them.
_MOST = 14
_ROW = 27


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
    y = alt.Y("name:N", sort=names, axis=None, scale=alt.Scale(domain=names, paddingInner=0.2))
    axis = alt.Axis(title="milliseconds of an execution", tickCount=5, format="~g")
    x = alt.X("ms:Q", scale=alt.Scale(type="log", nice=True), axis=axis)
    base = alt.Chart(data(rows)).encode(y=y, color=colour(list(dict.fromkeys(row["series"] for row in rows))))
    labels = alt.Chart(data([{"name": name} for name in names]))
    layers = [
        base.mark_rule(strokeWidth=2.5, yOffset=7).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(size=55, filled=True, opacity=1, yOffset=7).encode(x=x),
        labels.mark_text(align="left", dy=-5, fontSize=11, limit=WIDTH).encode(y=y, x=alt.value(0), text="name:N"),
    ]
    chart = alt.layer(*layers).properties(
        width=WIDTH, height=_ROW * len(names), autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    left = len(slowest) - len(names)
    more = f" {left} faster ones are not drawn." if left > 1 else " One faster one is not drawn." if left else ""
    note = f"Point: mean of the rounds; bar: its 95 % interval. Logarithmic axis.{more}"
    return Figure("Time of each statement", draw(chart, "Milliseconds of an execution, by statement"), note)


def _row(cell: Cell, series: str) -> dict[str, Any]:
    mean = time_of(cell) or 0.0
    low, high = interval_of(cell) or (mean, mean)
    name = str(cell["factors"].get(STATEMENT, cell["id"]))
    return {"name": name, "series": series, "ms": mean, "low": low, "high": high}
