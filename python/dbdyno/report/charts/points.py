"""A chart with one row per name: a point with its interval, and the name above it, or beside it on wide charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.report.charts.figure import WIDE, WIDTH, data

_ROW = 27
# Maximum width of names beside the rows, in pixels.
_NAME = 340


def points(
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    x: alt.X,
    series: alt.Color,
    *,
    wide_row: int | None,
    behind: Sequence[Any] = (),
) -> Any:
    """Draw rows (``name``, ``low``, ``high`` and the value of ``x``) in the order of ``names``.

    ``wide_row``: draw a chart with the width of a page and this row height in pixels; None: the width of a phone.
    ``behind``: layers to draw behind the points.
    """
    beside = alt.Axis(title=None, labelLimit=_NAME, ticks=False, domain=False, labelPadding=8)
    wide = wide_row is not None
    y = alt.Y("name:N", sort=names, axis=beside if wide else None, scale=alt.Scale(domain=names, paddingInner=0.2))
    base = alt.Chart(data(rows)).encode(y=y, color=series)
    down = 0 if wide else 7
    layers = [
        *behind,
        base.mark_rule(strokeWidth=2.5, yOffset=down).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(size=55, filled=True, opacity=1, yOffset=down).encode(x=x),
    ]
    if not wide:
        named = alt.Chart(data([{"name": name} for name in names]))
        named = named.mark_text(align="left", dy=-5, fontSize=11, limit=WIDTH)
        layers.append(named.encode(y=y, x=alt.value(0), text="name:N"))
    return alt.layer(*layers).properties(
        width=WIDE if wide else WIDTH,
        height=(_ROW if wide_row is None else wide_row) * len(names),
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
