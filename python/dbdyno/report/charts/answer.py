"""The answer as a picture: how many times as fast as the first each configuration is, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.document.effects import Configuration
from dbdyno.document.shape import Document
from dbdyno.report.charts.drawing import WIDE, WIDTH, Figure, colour, data, draw
from dbdyno.report.charts.points import points

# So many are drawn, the fastest of them.
_MOST = 14
_WIDE_ROW = 19
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
    series = [each for each in (_FREE, _PRICED) if any(row["series"] == each for row in rows)]
    axis = alt.Axis(title=f"times {first}", titleLimit=(WIDE if wide else WIDTH) - 20, tickCount=5, format="~g")
    x = alt.X("ratio:Q", scale=alt.Scale(type="log", nice=True), axis=axis)
    as_fast = alt.Chart(data([{"ratio": 1.0}])).mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x=x)
    names = [row["name"] for row in rows]
    return points(rows, names, x, colour(series), wide_row=_WIDE_ROW if wide else None, behind=[as_fast])


def _row(each: Configuration) -> dict[str, Any]:
    ratio = each["ratio"] or 1.0
    low, high = each["ci95"] or (ratio, ratio)
    ends = {"low": max(low, ratio / _REACH), "high": min(high, ratio * _REACH)}
    cut = ends["low"] > low or ends["high"] < high
    return {"name": each["name"], "ratio": ratio, "series": _PRICED if each["price"] else _FREE, "cut": cut, **ends}
