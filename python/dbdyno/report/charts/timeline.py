"""Throughput, CPU and disk I/O over the time of a round."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

import altair as alt

from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.shape import Document
from dbdyno.report.charts.figure import COLOURS, WIDTH, Figure, data, draw
from dbdyno.report.lines import cell_name, factor_names

_AXIS_WIDTH = 62
_MAX_CELLS = 24
_MEGABYTE = 1e6
# Lines with fewer values also show points.
_MANY_POINTS = 40
_MIN_INTERVALS = 3


# The counter of an interval, by the unit of the experiment.
_COUNTED = {"transaction": "ok", "statement": "statements", "row": "rows"}


@dataclass(frozen=True, slots=True)
class _Panel:
    """One of the stacked panels: the key of each line's values, with name and color."""

    title: str
    height: int
    lines: dict[str, tuple[str, str]]


def timeline_charts(document: Document) -> list[Figure]:
    """Draw the round with median throughput of each of the first 24 cells; empty without timelines."""
    factors = factor_names(document)
    counted = _COUNTED[document.measure.unit]
    made = []
    for cell in document.cells[:_MAX_CELLS]:
        chosen = _typical(cell)
        if chosen is None:
            continue
        name = cell_name(cell, factors)
        made.append(
            Figure(
                name,
                draw(_chart(chosen, counted, cell.throughput.unit), f"Timeline of {name}"),
                f"round {chosen.block + 1}",
                cells=[cell.id],
            )
        )
    return made


def _typical(cell: Cell) -> Round | None:
    """Return the round nearest to the median throughput, which is typical of the cell."""
    rounds = [round_ for round_ in cell.rounds if len(round_.intervals) > 1 and round_.throughput is not None]
    if not rounds:
        return None
    middle = median(round_.throughput or 0.0 for round_ in rounds)
    return min(rounds, key=lambda round_: abs((round_.throughput or 0.0) - middle))


def _chart(chosen: Round, counted: str, title: str) -> Any:
    rows = [_row(each, counted) for each in _whole(chosen.intervals)]
    wanted = [_Panel(title, 90, {"value": (title, COLOURS[0])})]
    if any(row["cpu"] is not None for row in rows):
        wanted.append(_Panel("CPU %", 60, {"cpu": ("process", COLOURS[1]), "hottest": ("hottest thread", COLOURS[3])}))
    if any(row["written"] or row["read"] for row in rows):
        wanted.append(_Panel("MB/s", 60, {"written": ("written", COLOURS[2]), "read": ("read", COLOURS[5])}))
    end = max(interval["end_s"] for interval in chosen.intervals)
    drawn = [_draw_panel(rows, panel, end, last=panel is wanted[-1]) for panel in wanted]
    return alt.vconcat(*drawn, spacing=6).resolve_scale(color="independent")


def _whole(intervals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop the last interval if the end of the window made it too short for a reliable rate."""

    def seconds(interval: dict[str, Any]) -> float:
        return float(interval["end_s"] - interval["start_s"])

    return (
        intervals[:-1]
        if len(intervals) >= _MIN_INTERVALS and seconds(intervals[-1]) < seconds(intervals[0]) / 5
        else intervals
    )


def _row(interval: dict[str, Any], counted: str) -> dict[str, Any]:
    """Return the rates per second of an interval, at its midpoint."""
    start, end = interval["start_s"], interval["end_s"]
    seconds = end - start
    # Data in memory has no device.
    disk = interval["disk"] or {}

    def rate(value: float | None, scale: float = 1.0) -> float | None:
        return None if value is None or seconds <= 0 else value / seconds / scale

    return {
        "second": (start + end) / 2,
        "value": rate(interval[counted]),
        "cpu": interval["cpu_percent"],
        "hottest": interval["hottest_thread_percent"],
        "written": rate(disk.get("write_bytes"), _MEGABYTE),
        "read": rate(disk.get("read_bytes"), _MEGABYTE),
    }


def _draw_panel(rows: list[dict[str, Any]], panel: _Panel, end: float, *, last: bool) -> Any:
    names = [name for name, _ in panel.lines.values()]
    points = [
        {"second": row["second"], "series": name, "value": row[key]}
        for key, (name, _) in panel.lines.items()
        for row in rows
        if row[key] is not None
    ]
    legend = alt.Legend(title=None, orient="top", padding=0, offset=2, symbolStrokeWidth=2) if len(names) > 1 else None
    seconds = alt.Axis(title="seconds" if last else None, labels=last, tickMinStep=1, tickCount=6)
    scale = alt.Scale(domain=names, range=[line for _, line in panel.lines.values()])
    return (
        alt.Chart(data(points))
        .mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=12) if len(rows) < _MANY_POINTS else False)
        .encode(
            x=alt.X("second:Q", scale=alt.Scale(domain=[0, end]), axis=seconds),
            y=alt.Y("value:Q", axis=alt.Axis(title=panel.title, format="~s", tickCount=3, minExtent=40)),
            color=alt.Color("series:N", scale=scale, legend=legend),
        )
        .properties(width=WIDTH - _AXIS_WIDTH, height=panel.height)
    )
