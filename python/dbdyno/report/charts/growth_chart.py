"""Log and device I/O of inserts while a table grew, one point per window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import altair as alt

from dbdyno.analysis.measured.cell_groups import cells_but_for, words_of
from dbdyno.base.numbers import short
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import number, part, ratio, text
from dbdyno.model.result.shape import Document
from dbdyno.report.charts.figure import COLOURS, WIDTH, Figure, data, draw

_AXIS_WIDTH, _HEIGHT = 62, 56
_MAX_SERIES = 12

# Stacked panels: the title, and the counter of the engine or device. Values are per insert, except checkpoints.
_PANELS = (
    ("log bytes", "log_bytes"),
    ("page images", "page_images"),
    ("pages written", "pages_written"),
    ("flushes", "flushes"),
    ("checkpoints", "checkpoints"),
)


def growth_charts(document: Document) -> list[Figure]:
    """Draw the first 12 series of a growing table; empty without counters."""
    factor = text(document.growth, "factor")
    if factor is None:
        return []
    made = []
    for levels, cells in islice(cells_but_for(document.cells, factor), _MAX_SERIES):
        chart = _chart([(cell, round_) for cell in cells for round_ in cell.rounds if round_.completed])
        if chart is not None:
            title = words_of(levels) or document.title
            made.append(Figure(title, draw(chart, f"Log and device as the table grew, {title}")))
    return made


def _chart(windows: Sequence[tuple[Cell, Round]]) -> Any:
    if not windows:
        return None
    ordered = sorted(windows, key=lambda pair: pair[1].started)
    rows: list[dict[str, Any]] = []
    # The x axis counts windows, because filling the table takes most of the time.
    for position, (cell, round_) in enumerate(ordered, 1):
        values = {key: _value(round_, key) for _, key in _PANELS}
        rows.append({"window": position, "size": short(cell.growth.rows if cell.growth else None), **values})
    drawn = [(title, key) for title, key in _PANELS if any(row[key] for row in rows)]
    if not drawn:
        return None
    starts = [row for position, row in enumerate(rows) if not position or row["size"] != rows[position - 1]["size"]]
    end = len(rows)
    panels = [
        _panel(rows, starts, end, title, key, first=position == 0, last=position == len(drawn) - 1)
        for position, (title, key) in enumerate(drawn)
    ]
    return alt.vconcat(*panels, spacing=8)


def _value(round_: Round, key: str) -> float | None:
    if key == "flushes":
        return ratio(round_.disk.flushes_per_s, round_.transactions_per_s)
    observed = round_.observed or {}
    counted = number(part(observed, "counters"), key)
    acknowledged = number(observed, "acknowledged")
    return counted if key == "checkpoints" else ratio(counted, acknowledged)


def _panel(
    rows: Sequence[dict[str, Any]],
    starts: Sequence[dict[str, Any]],
    end: int,
    title: str,
    key: str,
    *,
    first: bool,
    last: bool,
) -> Any:
    x = alt.X(
        "window:Q",
        scale=alt.Scale(domain=[0, end + 1], nice=False),
        axis=alt.Axis(title="window" if last else None, labels=last, tickCount=6, tickMinStep=1, grid=False),
    )
    y = alt.Y("value:Q", axis=alt.Axis(title=title, format="~s", tickCount=3, minExtent=40))
    points = [{"window": row["window"], "value": row[key]} for row in rows if row[key] is not None]
    layers = [
        alt.Chart(data(starts)).mark_rule(opacity=0.35, strokeDash=[3, 3]).encode(x=x),
        alt.Chart(data(points)).mark_point(size=18, filled=True, color=COLOURS[0]).encode(x=x, y=y),
    ]
    if first:
        words = alt.Chart(data(starts)).mark_text(align="left", dx=2, baseline="bottom", fontSize=9)
        layers.append(words.encode(x=x, y=alt.value(-2), text="size:N"))
    return alt.layer(*layers).properties(width=WIDTH - _AXIS_WIDTH, height=_HEIGHT)
