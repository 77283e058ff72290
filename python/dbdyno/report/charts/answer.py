"""The answer as a picture: how many times as fast as the first each configuration is, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.document.effects import Configuration
from dbdyno.document.shape import Document
from dbdyno.report.charts.drawing import WIDE, WIDTH, Figure, colour, data, draw

# So many are drawn, the fastest of them.
_MOST = 14
_ROW = 27
# Of a chart with the names beside the rows, and the pixels that they have.
_WIDE_ROW, _NAME = 19, 340
# Fewer series than that can be told apart along an axis.
_FEW = 5
_FREE, _PRICED = "costs no more", "has a price"
# An interval beyond so many times the ratio is cut there, so that the others can be seen.
_REACH = 30.0


def answer_chart(document: Document) -> Figure | None:
    """Draw the configurations by their ratio; none where they are few, and the chart of throughput shows them."""
    configurations = document["answer"]["configurations"]
    others = configurations[1:]
    ranked = [each for each in others if each["ratio"] is not None and not each["not_ranked"]]
    if len(others) < _FEW or not ranked:
        return None
    first = configurations[0]
    ranked.sort(key=lambda each: -(each["ratio"] or 0.0))
    rows = [_row(each) for each in ranked[:_MOST]]
    left = len(ranked) - len(rows)
    more = f" {left} slower ones are not drawn." if left > 1 else " One slower one is not drawn." if left else ""
    unranked = len(others) - len(ranked)
    more += f" {unranked} cannot be ranked." if unranked else ""
    cut = any(row["cut"] for row in rows)
    more += f" Bars are cut at {_REACH:g} times their point." if cut else ""
    note = f"Point: ratio to the first configuration over all loads; bar: its 95 % interval.{more}"
    label = f"Configurations against {first['name']}"
    charts = (_chart(rows, first["name"], wide=wide) for wide in (False, True))
    slim, wide = (draw(chart, label) for chart in charts)
    return Figure("Configurations", slim, note, wide=wide)


def _chart(rows: Sequence[dict[str, Any]], first: str, *, wide: bool) -> Any:
    """Draw a row for each configuration: its name above it, or beside it where there is room."""
    names = [row["name"] for row in rows]
    series = [each for each in (_FREE, _PRICED) if any(row["series"] == each for row in rows)]
    beside = alt.Axis(title=None, labelLimit=_NAME, ticks=False, domain=False, labelPadding=8)
    y = alt.Y("name:N", sort=names, axis=beside if wide else None, scale=alt.Scale(domain=names, paddingInner=0.2))
    width = WIDE if wide else WIDTH
    axis = alt.Axis(title=f"times {first}", titleLimit=width - 20, tickCount=5, format="~g")
    x = alt.X("ratio:Q", scale=alt.Scale(type="log", nice=True), axis=axis)
    base = alt.Chart(data(rows)).encode(y=y, color=colour(series))
    down = 0 if wide else 7
    layers = [
        alt.Chart(data([{"ratio": 1.0}])).mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x=x),
        base.mark_rule(strokeWidth=2.5, yOffset=down).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(size=55, filled=True, opacity=1, yOffset=down).encode(x=x),
    ]
    if not wide:
        named = alt.Chart(data(rows)).mark_text(align="left", dy=-5, fontSize=11, limit=WIDTH)
        layers.append(named.encode(y=y, x=alt.value(0), text="name:N"))
    return alt.layer(*layers).properties(
        width=width,
        height=(_WIDE_ROW if wide else _ROW) * len(rows),
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )


def _row(each: Configuration) -> dict[str, Any]:
    ratio = each["ratio"] or 1.0
    low, high = each["ci95"] or (ratio, ratio)
    ends = {"low": max(low, ratio / _REACH), "high": min(high, ratio * _REACH)}
    cut = ends["low"] > low or ends["high"] < high
    return {"name": each["name"], "ratio": ratio, "series": _PRICED if each["price"] else _FREE, "cut": cut, **ends}
