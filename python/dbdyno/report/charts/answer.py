"""The answer as a picture: how many times as fast as the first each configuration is, with intervals."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbdyno.document.effects import Configuration
from dbdyno.document.shape import Document
from dbdyno.report.charts.drawing import WIDTH, Figure, colour, data, draw

# So many are drawn, the fastest of them.
_MOST = 14
_ROW = 27
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
    names = [row["name"] for row in rows]
    series = [each for each in (_FREE, _PRICED) if any(row["series"] == each for row in rows)]
    y = alt.Y("name:N", sort=names, axis=None, scale=alt.Scale(domain=names, paddingInner=0.2))
    axis = alt.Axis(title=f"times {first['name']}", titleLimit=WIDTH - 20, tickCount=5, format="~g")
    x = alt.X("ratio:Q", scale=alt.Scale(type="log", nice=True), axis=axis)
    base = alt.Chart(data(rows)).encode(y=y, color=colour(series))
    layers = [
        alt.Chart(data([{"ratio": 1.0}])).mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x=x),
        base.mark_rule(strokeWidth=2.5, yOffset=7).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(size=55, filled=True, opacity=1, yOffset=7).encode(x=x),
        alt.Chart(data(rows)).mark_text(align="left", dy=-5, fontSize=11, limit=WIDTH).encode(
            y=y, x=alt.value(0), text="name:N"
        ),
    ]  # fmt: skip
    chart = alt.layer(*layers).properties(
        width=WIDTH, height=_ROW * len(rows), autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )
    left = len(ranked) - len(rows)
    more = f" {left} slower ones are not drawn." if left > 1 else " One slower one is not drawn." if left else ""
    unranked = len(others) - len(ranked)
    more += f" {unranked} cannot be ranked." if unranked else ""
    note = f"Point: ratio to the first configuration over all loads; bar: its 95 % interval.{more}"
    return Figure("Configurations", draw(chart, f"Configurations against {first['name']}"), note)


def _row(each: Configuration) -> dict[str, Any]:
    ratio = each["ratio"] or 1.0
    low, high = each["ci95"] or (ratio, ratio)
    ends = {"low": max(low, ratio / _REACH), "high": min(high, ratio * _REACH)}
    return {"name": each["name"], "ratio": ratio, "series": _PRICED if each["price"] else _FREE, **ends}
