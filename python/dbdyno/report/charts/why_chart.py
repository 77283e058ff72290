"""The chart of a `dbdyno why`: each resource's share of the time, with intervals."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbdyno.model.result.shape import Document
from dbdyno.model.result.why import WhyResource
from dbdyno.report.charts.figure import WIDTH, Figure, colour, data, draw
from dbdyno.report.why import VERDICTS

_ROW = 30
# Shares are cut to this range.
_MIN_SHARE, _MAX_SHARE = -0.5, 2.0
_ORDER = tuple(VERDICTS.values())


def why_chart(document: Document) -> Figure | None:
    """Draw one bar per tested resource; None if no resource was tested."""
    why = document.why
    tested = (
        [] if why is None else [resource for resource in why.resources if resource.tests and resource.share is not None]
    )
    if not tested:
        return None
    rows = [_row(resource) for resource in tested]
    names = [row["name"] for row in rows]
    series = [each for each in _ORDER if any(row["series"] == each for row in rows)]
    y = alt.Y("name:N", sort=names, title=None, scale=alt.Scale(domain=names, paddingInner=0.35))
    by_time = why is not None and why.metric == "p99"
    quantity = "p99 of the response time" if by_time else "a transaction's time"
    x = alt.X("share:Q", axis=alt.Axis(title=f"share of {quantity}", format="%", tickCount=5))
    base = alt.Chart(data(rows)).encode(y=y, color=colour(series))
    layers = [
        base.mark_bar(opacity=0.75).encode(x=x),
        alt.Chart(data(rows)).mark_rule(strokeWidth=2).encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        alt.Chart(data([{"share": 0.0}])).mark_rule(opacity=0.6).encode(x=x),
    ]
    chart = alt.layer(*layers).properties(
        width=WIDTH, height=_ROW * len(rows), autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    note = "Bar: the time saved by making it free, otherwise its elasticity; line: the 95 % interval."
    return Figure(
        "Resources that limit the speed", draw(chart, f"Resources by the share of {quantity} they decide"), note
    )


def _row(resource: WhyResource) -> dict[str, Any]:
    share = resource.share or 0.0
    low, high = resource.ci95 or (share, share)
    return {
        "name": resource.name,
        "share": min(max(share, _MIN_SHARE), _MAX_SHARE),
        "low": min(max(low, _MIN_SHARE), _MAX_SHARE),
        "high": min(max(high, _MIN_SHARE), _MAX_SHARE),
        "series": VERDICTS[resource.verdict],
    }
