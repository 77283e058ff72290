"""Throughput by factor: means with intervals and every round; published values in a separate chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.model.result.shape import Document
from dbdyno.report.charts.axes import Axes, axes
from dbdyno.report.charts.figure import SHAPES, Figure, colour, data, decades, draw, fitted
from dbdyno.report.lines import published_references, published_sources

_HEIGHT = 290
# The axis is logarithmic if the ratio of maximum and minimum is larger; a linear one would hide small values.
_LOG_RATIO = 30
# Intervals are cut at this multiple of the highest throughput.
_ROOM = 1.3


def throughput_chart(document: Document, *, lead: bool = False) -> Figure | None:
    """Draw mean, 95% interval and every round of each cell; None without measured values.

    ``lead``: the chart is shown beside the answer.
    """
    chosen = axes(document)
    means: list[dict[str, Any]] = []
    dots: list[dict[str, Any]] = []
    for cell in document.cells:
        place = {"x": chosen.x_of(cell), "series": chosen.series_of(cell)}
        mean, ci95 = cell.throughput.mean, cell.throughput.ci95
        if mean is None:
            continue
        means.append({**place, "value": mean, "low": ci95[0] if ci95 else mean, "high": ci95[1] if ci95 else mean})
        dots += [{**place, "value": round_.throughput} for round_ in cell.rounds if round_.throughput is not None]
    if not means:
        return None
    unit = document.cells[0].throughput.unit
    logarithmic = _is_logarithmic(means)
    if logarithmic:
        # A logarithmic axis cannot show values of 0 or less.
        for each in means:
            each["low"] = max(each["low"], each["value"] / 10)
    top = max(each["value"] for each in (*means, *dots)) * _ROOM
    for each in means:
        # Throughput is never negative, and a wide interval must not compress the scale of the points.
        each["low"], each["high"] = max(each["low"], 0.0), min(each["high"], top)
    y = _y(unit, means, logarithmic=logarithmic)
    label = f"Throughput by {chosen.x or 'cell'}"
    slim = draw(_measured(chosen, y, means, dots, wide=False), label)
    wide = draw(_measured(chosen, y, means, dots, wide=True), label) if lead else ""
    note = "Large: mean of the rounds; bar: its 95 % interval; small, beside it: every round."
    return Figure(
        f"{unit[:1].upper()}{unit[1:]} by {chosen.x or 'cell'}",
        slim,
        note + (" Logarithmic axis." if logarithmic else ""),
        wide=wide,
    )


def _measured(
    chosen: Axes, y: alt.Y, means: Sequence[dict[str, Any]], dots: Sequence[dict[str, Any]], *, wide: bool
) -> Any:
    x, series = _x(chosen, wide=wide), colour(chosen.series, title=chosen.by_title, wide=wide)
    base = alt.Chart(data(means)).encode(x=x, color=series)
    layers = [
        alt.Chart(data(dots)).mark_circle(size=16, opacity=0.6, xOffset=8).encode(x=x, y=y, color=series),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(size=36, filled=True, opacity=1).encode(y=y, shape=_shape(chosen)),
    ]
    if chosen.numeric:
        layers.insert(0, base.mark_line(strokeWidth=1.5, opacity=0.8).encode(y=y))
    return fitted(alt.layer(*layers), _HEIGHT, wide=wide)


def published_chart(document: Document) -> Figure | None:
    """Draw the published values of the same cells, with a separate axis; None without such values."""
    chosen = axes(document)
    rows = [
        {"x": chosen.x_of(cell), "series": chosen.series_of(cell), "value": cell.published["value"]}
        for cell in document.cells
        if cell.published and cell.published.get("value")
    ]
    if not rows:
        return None
    logarithmic = _is_logarithmic(rows)
    unit = next((cell.published.get("unit", "") for cell in document.cells if cell.published), "")
    base = alt.Chart(data(rows)).encode(
        x=_x(chosen),
        y=_y(f"published, {unit}", rows, logarithmic=logarithmic),
        color=colour(chosen.series, title=chosen.by_title),
    )
    layers = [base.mark_point(size=50, filled=False, strokeWidth=2).encode(shape=_shape(chosen))]
    if chosen.numeric:
        layers.insert(0, base.mark_line(strokeWidth=1.5, strokeDash=[5, 4]))
    svg = draw(fitted(alt.layer(*layers), _HEIGHT), f"Published figures by {chosen.x or 'cell'}")
    title = "Published elsewhere: " + "; ".join(published_sources(document))
    note = "Not measured by this run; another machine, an axis of its own. " + "; ".join(published_references(document))
    return Figure(title, svg, note + (" Logarithmic axis." if logarithmic else ""))


def _x(chosen: Axes, *, wide: bool = False) -> alt.X:
    turned = max((len(level) for level in chosen.levels), default=0) * len(chosen.levels) > (120 if wide else 34)
    return alt.X(
        "x:N",
        sort=chosen.levels,
        scale=alt.Scale(type="point", domain=chosen.levels, padding=0.5),
        axis=alt.Axis(title=chosen.x or "", labelAngle=-35 if turned else 0, grid=False),
    )


def _y(title: str, rows: list[dict[str, Any]], *, logarithmic: bool) -> alt.Y:
    if not logarithmic:
        return alt.Y("value:Q", scale=alt.Scale(zero=True), axis=alt.Axis(title=title, format="~s", tickCount=6))
    values = decades(min(row["value"] for row in rows), max(row["value"] for row in rows))
    return alt.Y("value:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title=title, format="~s", values=values))


def _shape(chosen: Axes) -> alt.Shape:
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(chosen.series))]
    scale = alt.Scale(domain=chosen.series, range=shapes)
    return alt.Shape("series:N", scale=scale, legend=None)


def _is_logarithmic(rows: list[dict[str, Any]]) -> bool:
    values: list[float] = [row["value"] for row in rows]
    return min(values) > 0 and max(values) / min(values) > _LOG_RATIO
