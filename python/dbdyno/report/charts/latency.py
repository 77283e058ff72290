"""Latency distributions: the share of transactions that took longer than a given time."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from dbdyno.analysis.measured.histograms import NS_PER_MS, Histogram, HistogramError
from dbdyno.model.result.reading import shown_times
from dbdyno.model.result.shape import Document
from dbdyno.report.charts.axes import axes
from dbdyno.report.charts.figure import Figure, colour, data, decades, draw, fitted
from dbdyno.report.lines import factor_level

_HEIGHT = 230
_POINTS = 120
_MAX_CHARTS = 12
# Smaller shares depend on single events rather than on the system.
_MIN_SHARE = 1e-6


def latency_charts(document: Document) -> list[Figure]:
    """Draw one chart per line of the throughput chart, with one curve per level of its x axis.

    Each curve is the complementary cumulative distribution of the response times over all rounds (service times if
    response times were not recorded). Both axes are logarithmic, so that the tail takes half of the chart.
    """
    chosen = axes(document)
    curves: dict[str, list[dict[str, Any]]] = {}
    for cell in document.cells:
        encoded = shown_times(cell.histograms)
        if encoded is None:
            continue
        try:
            points = _exceeding(Histogram(encoded))
        except HistogramError:
            continue
        series = curves.setdefault(chosen.series_of(cell), [])
        series += [{"series": chosen.x_of(cell), "ms": ms, "share": share} for ms, share in points]
    made = []
    for series_name, rows in list(curves.items())[:_MAX_CHARTS]:
        shown = {row["series"] for row in rows}
        least = max(_MIN_SHARE, min(row["share"] for row in rows))
        times = [row["ms"] for row in rows]
        levels = [level for level in chosen.levels if level in shown]
        chart = (
            alt.Chart(data(rows))
            .mark_line(strokeWidth=1.5, interpolate="step-after", clip=True)
            .encode(
                x=alt.X(
                    "ms:Q",
                    scale=alt.Scale(type="log"),
                    axis=alt.Axis(
                        title="milliseconds",
                        format=",~r",
                        values=decades(min(times), max(times)),
                        labelOverlap="greedy",
                        labelSeparation=8,
                    ),
                ),
                y=alt.Y(
                    "share:Q",
                    scale=alt.Scale(type="log", domain=[least, 1]),
                    axis=alt.Axis(
                        title="share slower", format="~%", values=[1, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]
                    ),
                ),
                color=colour(levels, title=chosen.x),
            )
        )
        title = factor_level(chosen.by_title, series_name) if chosen.by_title else series_name
        title = title or "Latency distribution"
        made.append(Figure(title, draw(fitted(chart, _HEIGHT), f"Latency distribution: {title}")))
    return made


def _exceeding(histogram: Histogram) -> list[tuple[float, float]]:
    """Return (milliseconds, share of events above) at up to 120 points, evenly spread over the chart."""
    values, counts = histogram.points()
    total = counts.sum()
    if not total:
        return []
    above = (total - np.cumsum(counts)) / total
    ms = values / NS_PER_MS
    # The share above the last value is 0, which has no logarithm, so the curve ends at the share of one event.
    above[-1] = 1 / total
    if len(ms) > _POINTS:
        # Space half of the points evenly over times, for the body, and half over shares, for the tail.
        by_time = np.searchsorted(ms, np.geomspace(ms[0], ms[-1], _POINTS // 2)).clip(0, len(ms) - 1)
        by_share = np.searchsorted(-above, -np.geomspace(1, above[-1], _POINTS // 2)).clip(0, len(ms) - 1)
        kept = np.unique(np.concatenate([by_time, by_share, [0, len(ms) - 1]]))
        ms, above = ms[kept], above[kept]
    start = [(float(ms[0]) * 0.999, 1.0)]
    return start + [(float(time), float(share)) for time, share in zip(ms, above, strict=True)]
