"""Throughput by number of clients: the fitted curve with its band, and the measured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from dbdyno.model.result.cell import Cell
from dbdyno.model.result.scalability import Scalability
from dbdyno.model.result.shape import Document
from dbdyno.report.charts.figure import Figure, colour, data, draw, fitted
from dbdyno.report.scalability_lines import model_name

_HEIGHT = 280
# Maximum number of curves per chart; with more, overlapping bands are hard to distinguish.
_MAX_CURVES = 4


def scalability_charts(document: Document) -> list[Figure]:
    """Draw the curves, a few per chart; empty if no model was fitted."""
    with_curves = [scalability for scalability in document.scalability if scalability.curve is not None]
    factors = dict.fromkeys(scalability.factor for scalability in with_curves)
    groups = [[scalability for scalability in with_curves if scalability.factor == factor] for factor in factors]
    parts = [group[start : start + _MAX_CURVES] for group in groups for start in range(0, len(group), _MAX_CURVES)]
    return [_chart(document, part) for part in parts]


@dataclass
class _Marks:
    """The rows of the chart's data: the curves, the means, the rounds and the peaks."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    means: list[dict[str, Any]] = field(default_factory=list)
    dots: list[dict[str, Any]] = field(default_factory=list)
    peaks: list[dict[str, Any]] = field(default_factory=list)


def _marks(by_id: Mapping[str, Cell], models: Sequence[Scalability], names: Sequence[str]) -> _Marks:
    marks = _Marks()
    for name, model in zip(names, models, strict=True):
        curve = model.curve
        if curve is None:
            continue
        measured = [number for number in model.clients if number is not None]
        for point in curve.points:
            low, high = point.ci95
            part = "within" if point.clients <= max(measured) * (1 + 1e-9) else "beyond"
            marks.lines.append({
                "clients": point.clients, "series": name, "value": point.throughput, "low": low, "high": high,
                "part": part,
            })  # fmt: skip
        for cell_id, number in zip(model.cells, model.clients, strict=True):
            mean, ci95 = by_id[cell_id].throughput.mean, by_id[cell_id].throughput.ci95
            row = {"clients": number, "series": name}
            if mean is not None:
                low, high = ci95 or (mean, mean)
                marks.means.append({**row, "value": mean, "low": max(low, 0.0), "high": high})
            rounds = by_id[cell_id].rounds
            marks.dots += [{**row, "value": round_.throughput} for round_ in rounds if round_.throughput is not None]
        peak = curve.peak
        if peak.clients is not None and peak.clients_ci95 is not None and peak.throughput is not None:
            low, high = peak.clients_ci95
            value = peak.throughput.value
            marks.peaks.append({"clients": peak.clients, "series": name, "value": value, "low": low, "high": high})
    return marks


def _chart(document: Document, models: Sequence[Scalability]) -> Figure:
    by_id = {cell.id: cell for cell in document.cells}
    names = [model_name(document, scalability) for scalability in models]
    marks = _marks(by_id, models, names)
    unit = by_id[models[0].cells[0]].throughput.unit
    factor = models[0].factor
    scale = alt.Scale(domain=[0, max(line["clients"] for line in marks.lines)], nice=False)
    x = alt.X(
        "clients:Q",
        scale=scale,
        axis=alt.Axis(title=factor if factor == "clients" else f"clients ({factor})", grid=False, tickCount=8),
    )
    y = alt.Y("value:Q", scale=alt.Scale(zero=True), axis=alt.Axis(title=unit, format="~s", tickCount=6))
    curves = alt.Chart(data(marks.lines)).encode(x=x, color=colour(names))
    dash = alt.StrokeDash("part:N", scale=alt.Scale(domain=["within", "beyond"], range=[[1, 0], [4, 4]]), legend=None)
    of_means = alt.Chart(data(marks.means)).encode(x=x)
    layers = [
        curves.mark_area(opacity=0.2, interpolate="monotone").encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        curves.mark_line(strokeWidth=1.8, interpolate="monotone").encode(y=y, strokeDash=dash),
        alt.Chart(data(marks.dots))
        .mark_circle(size=12, opacity=0.5)
        .encode(x=x, y=y, color=colour(names, legend=False)),
        of_means.mark_rule(strokeWidth=2).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour(names, legend=False)
        ),
        of_means.mark_point(size=40, filled=True, opacity=1).encode(y=y, color=colour(names, legend=False)),
    ]
    if marks.peaks:
        of_peaks = alt.Chart(data(marks.peaks)).encode(y=y, color=colour(names, legend=False))
        across = alt.X("low:Q", scale=scale)
        layers += [
            of_peaks.mark_rule(strokeWidth=6, opacity=0.35).encode(x=across, x2=alt.X2("high:Q")),
            of_peaks.mark_point(shape="diamond", size=90, filled=False, strokeWidth=2).encode(x=x),
        ]
    svg = draw(fitted(alt.layer(*layers), _HEIGHT), "Throughput by clients, with the curve of the scalability model")
    title = (
        "Throughput by clients, and the model"
        if len(names) > 1
        else f"Throughput by clients, and the model: {names[0]}"
    )
    note = "Line: the curve; area: its 95 % interval; points: means with their intervals, and every round."
    note += " Diamond: the peak; bar across: its 95 % interval." * bool(marks.peaks)
    note += " Dashed: extrapolated." * any(line["part"] == "beyond" for line in marks.lines)
    return Figure(title, svg, note)
