"""The chart of a series: every run, the means between changes, and the changes."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import Any

import altair as alt

from dbdyno.analysis.history.document import MetricFacts, Series
from dbdyno.report.charts import Figure
from dbdyno.report.charts.figure import COLOURS, data, draw, fitted
from dbdyno.report.history import lines

_HEIGHT = 200
_MAX_POINTS = 60
_MARKS = {"better": COLOURS[2], "worse": COLOURS[5], "inconclusive": COLOURS[7]}


def series_chart(series: Series, metric: MetricFacts, title: str) -> Figure:
    """Draw the runs of a series. The x axis counts runs, not days."""
    values = [point["value"] for point in series["points"]]
    bounds = [0, *(change["index"] for change in series["changes"]), len(values)]
    dots = [{"run": position + 1, "value": value} for position, value in enumerate(values)]
    means = [
        {"from": start + 0.5, "to": end + 0.5, "mean": fmean(values[start:end])} for start, end in pairwise(bounds)
    ]
    # Integer ticks, because the axis of two runs would show 1, 1, 2, 2.
    ticks = list(range(1, len(values) + 1, -(-len(values) // 8) or 1))
    x = alt.X(
        "run:Q",
        scale=alt.Scale(domain=[0.5, len(values) + 0.5], nice=False),
        axis=alt.Axis(title="run, oldest to newest", format="d", values=ticks, grid=False),
    )
    # The axis does not start at 0, so that changes of a few percent are visible; the table shows their size.
    y = alt.Y("value:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title=metric["unit"], format="~s", tickCount=5))
    base: Any = alt.Chart(data(dots)).encode(x=x, y=y)
    layers: list[Any] = [
        base.mark_line(strokeWidth=1, opacity=0.5, color=COLOURS[0]),
        base.mark_circle(size=22 if len(values) <= _MAX_POINTS else 8, opacity=1, color=COLOURS[0]),
        alt.Chart(data(means)).mark_rule(strokeWidth=2, color=COLOURS[1]).encode(
            x=alt.X("from:Q"), x2=alt.X2("to:Q"), y=alt.Y("mean:Q")
        ),
    ]  # fmt: skip
    for verdict, colour in _MARKS.items():
        marks = [{"at": change["index"] + 0.5} for change in series["changes"] if change["verdict"] == verdict]
        if marks:
            rule = alt.Chart(data(marks)).mark_rule(strokeWidth=1.5, strokeDash=[4, 3], color=colour)
            layers.append(rule.encode(x=alt.X("at:Q")))
    svg = draw(fitted(alt.layer(*layers), _HEIGHT), f"History of {title}")
    first, last = series["points"][0], series["points"][-1]
    note = f"{lines.runs(len(values))}, {lines.day(first['started'])} to {lines.day(last['started'])}"
    return Figure(title, svg, note)
