"""The objective's metric over the offered rate, with its limit as a line."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbdyno.model.result.shape import Document
from dbdyno.model.result.slo import SloSearch
from dbdyno.report.charts.figure import SHAPES, Figure, colour, data, draw, fitted

_HEIGHT = 260
_MAX_SEARCHES = 6
# Unbounded values, and values far above the limit, are drawn at this multiple of the limit.
_TOP = 10.0
# The lowest value on the logarithmic scale, which excludes 0.
_MIN_MS = 0.001


def slo_chart(document: Document) -> Figure | None:
    """Draw the objective's first time metric over the rate; None if there are no values."""
    slo = document.slo
    clause = (
        next((slo_clause for slo_clause in slo.clauses if slo_clause.metric != "failed"), None)
        if slo is not None
        else None
    )
    if slo is None or clause is None:
        return None
    metric, limit = clause.metric, clause.limit
    rows = [row for search in slo.searches[:_MAX_SEARCHES] for row in _rows(search, metric, limit)]
    if not rows:
        return None
    title = f"{metric} over the offered rate, and its limit of {limit:g} ms"
    note = "Filled: windows that decide; hollow: windows of the approach. Shaded: the interval of the highest rate. "
    note += f"Points at the top are {_TOP:g} times the limit or above."
    drawn = [draw(_chart(slo.searches[:_MAX_SEARCHES], rows, metric, limit, wide), title) for wide in (False, True)]
    return Figure(title, drawn[0], note, wide=drawn[1])


def _rows(search: SloSearch, metric: str, limit: float) -> list[dict[str, Any]]:
    return [
        {
            "series": search.configuration,
            "rate": probe.rate,
            "ms": _height(probe.values[metric], limit),
            "by": "decides" if probe.windows else "approach",
        }
        for probe in search.probes
        if probe.due
    ]


def _height(value: float | None, limit: float) -> float:
    return limit * _TOP if value is None else min(max(value, _MIN_MS), limit * _TOP)


def _chart(searches: list[SloSearch], rows: list[dict[str, Any]], metric: str, limit: float, wide: bool) -> Any:
    names = list(dict.fromkeys(row["series"] for row in rows))
    x = alt.X("rate:Q", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(title="requests offered per second"))
    y = alt.Y("ms:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title=f"{metric} ms", tickCount=5))
    colours = colour(names, wide=wide)
    spans = [
        {"series": search.configuration, "low": search.low, "high": search.high}
        for search in searches
        if search.low is not None and search.high is not None
    ]
    base = alt.Chart(data(rows)).encode(x=x, y=y, color=colours)
    layers = [
        alt.Chart(data(spans)).mark_rect(opacity=0.15).encode(x=alt.X("low:Q"), x2="high:Q", color=colours),
        base.mark_line(opacity=0.5),
        base.transform_filter(alt.datum.by == "decides").mark_point(size=45, filled=True, shape=SHAPES[0]),
        base.transform_filter(alt.datum.by == "approach").mark_point(size=30, filled=False, shape=SHAPES[0]),
        alt.Chart(data([{"ms": limit}])).mark_rule(strokeDash=[6, 4], strokeWidth=1.5, color="#d64545").encode(y=y),
    ]
    return fitted(alt.layer(*layers), _HEIGHT, wide=wide)
