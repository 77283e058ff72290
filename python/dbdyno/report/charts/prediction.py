"""The chart of predicted inserts by size, with bands, and the measured values."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbdyno.model.result.prediction import Prediction
from dbdyno.report.charts.figure import Figure, colour, data, decades, draw, fitted

_HEIGHT = 320


def prediction_chart(prediction: Prediction) -> Figure | None:
    """Draw the curves; None without predictions."""
    lines: list[dict[str, Any]] = []
    dots: list[dict[str, Any]] = []
    for series in prediction.series:
        for point in series.points:
            place = {"rows": point.rows, "series": series.name}
            measured = point.measured
            if point.throughput is not None and point.band is not None:
                low, high = point.band
                lines.append({**place, "value": point.throughput, "low": low, "high": high})
            if measured is not None:
                what = "calibrated with" if measured.calibrating else "measured"
                dots.append({**place, "value": measured.throughput, "what": what})
    if not lines:
        return None
    names = [series.name for series in prediction.series]
    values = [line["low"] for line in lines] + [dot["value"] for dot in dots]
    tops = [line["high"] for line in lines] + [dot["value"] for dot in dots]
    sizes = [line["rows"] for line in lines + dots]
    x = alt.X(
        "rows:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(title="rows", format="~s", values=decades(min(sizes), max(sizes), 8), grid=False),
    )
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(title=f"{prediction.label}/s", format="~s", values=decades(min(values), max(tops), 6)),
    )
    base = alt.Chart(data(lines)).encode(x=x, color=colour(names))
    layers = [
        base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=1.8).encode(y=y),
    ]
    if dots:
        layers.append(
            alt.Chart(data(dots))
            .mark_point(size=44, opacity=1, strokeWidth=2)
            .encode(
                x=x,
                y=y,
                color=colour(names, legend=False),
                shape=alt.Shape(
                    "what:N",
                    scale=alt.Scale(domain=["calibrated with", "measured"], range=["circle", "cross"]),
                    legend=alt.Legend(title=None, orient="top"),
                ),
            )
        )
    svg = draw(fitted(alt.layer(*layers), _HEIGHT), "Predicted throughput by rows")
    note = "Line: prediction; area: its band. Both axes are logarithmic."
    return Figure(f"{prediction.label.capitalize()} a second, predicted", svg, note)
