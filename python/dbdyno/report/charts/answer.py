"""The chart of the answer: one row per configuration with its interval, or one line per configuration over the load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from dbdyno.analysis.measured.metrics import failing, values_by_block
from dbdyno.base.numbers import figure, level, milliseconds, percent
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Configuration
from dbdyno.model.result.reading import shown_times
from dbdyno.model.result.shape import Document
from dbdyno.report.answer_table import load_names, metric_of, ordered
from dbdyno.report.charts.figure import COLOURS, WIDE, WIDTH, Figure, data, decades, draw

# Maximum numbers of rows on wide and on slim screens, and of labeled lines.
_MAX_ROWS, _MAX_SLIM, _MAX_LINES = 8, 5, 6
_ROW = 30
_HEIGHT = 250
# Labels at line ends, in pixels: width per letter, maximum width by chart width, and distance between labels.
_LETTER = 6.2
_LABEL = {WIDTH: 118, WIDE: 190}
_LABEL_ROW = 13
# Width of the axis in pixels.
_AXIS = 62
# The axis is logarithmic if the ratio of maximum and minimum is larger.
_LOG_RATIO = 30
_GOOD, _PRICED, _PLAIN, _REST = "#2a9d6f", "#c99a1f", "#2b7fd4", "#8a8f98"


def answer_chart(document: Document) -> Figure | None:
    """Draw the configurations by throughput, or by p99 if open loops keep up; None for a single configuration."""
    configurations = ordered(document)
    if len(configurations) <= 1:
        return None
    metric = metric_of(document)
    unit = document.cells[0].throughput.unit if metric == "throughput" else f"{metric} in ms"
    loads = load_names(document)
    if not loads:
        return _dots(document, configurations, metric, unit)
    return _lines(document, configurations, metric, unit, loads[-1])


def _dots(document: Document, configurations: Sequence[Configuration], metric: str, unit: str) -> Figure | None:
    """Draw one row per configuration, the best first: name, value, price, and a point with its interval."""
    cells = {cell.id: cell for cell in document.cells}
    recommended = document.answer.recommended
    taken = None if recommended is None else recommended.configuration
    rows = [
        {**_row(configuration, cells[configuration.cells[0]], metric, taken == configuration.name), "place": position}
        for position, configuration in enumerate(configurations[:_MAX_ROWS])
    ]
    rows = [row for row in rows if row["value"]]
    if not rows:
        return None
    rows.sort(key=lambda row: row["value"], reverse=metric == "throughput")
    values = [row["value"] for row in rows]
    logarithmic = min(values) > 0 and max(values) / min(values) > _LOG_RATIO
    ends = (min(values) / 2, max(values) * 2) if logarithmic else (0.0, max(values) * 1.25)
    for row in rows:
        row["low"], row["high"] = max(row["low"], ends[0]), min(row["high"], ends[1])
    left = len(configurations) - len(rows)
    note = "Point: mean of the rounds; bar: its 95 % interval." if metric == "throughput" else "Bar: all rounds."
    note += f" {left} more configurations in the table below." if left else ""
    note += " Logarithmic axis." if logarithmic else ""
    label = f"Configurations by {unit}"
    # Phones show fewer rows.
    slim = draw(_rows_chart(_fewer(rows), unit, ends, logarithmic, WIDTH), label)
    wide = draw(_rows_chart(rows, unit, ends, logarithmic, WIDE), label)
    return Figure(_title(unit), slim, note, wide=wide)


def _fewer(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the most important configurations, in the order of ``rows``."""
    return [row for row in rows if row["place"] < _MAX_SLIM]


def _row(configuration: Configuration, cell: Cell, metric: str, taken: bool) -> dict[str, Any]:
    if metric == "throughput":
        value = cell.throughput.mean or 0.0
        low, high = cell.throughput.ci95 or (value, value)
        text = figure(value)
    else:
        value = _percentile(cell, metric) or 0.0
        rounds = list(values_by_block(cell, metric).values()) or [value]
        low, high, text = min(rounds), max(rounds), f"{milliseconds(value)} ms"
    price = ", ".join(configuration.price) or configuration.not_ranked or ("no price" if taken else "")
    if failing(cell) and "fail" not in price:
        price = ", ".join(filter(None, [f"{percent(failing(cell))} fail", price.removeprefix("no price")]))
    words = f"{configuration.name} · {text}" + (f" · {price}" if price else "")
    colour = _GOOD if taken else _PRICED if configuration.price or configuration.not_ranked else _PLAIN
    return {"name": words, "value": value, "low": low, "high": high, "colour": colour}


def _rows_chart(
    rows: Sequence[dict[str, Any]], unit: str, ends: tuple[float, float], logarithmic: bool, width: int
) -> Any:
    names = [row["name"] for row in rows]
    scale = alt.Scale(domain=list(ends), nice=False, type="log" if logarithmic else "linear")
    values = decades(*ends)[1:] if logarithmic else alt.Undefined
    axis = alt.Axis(title=unit, tickCount=5, format="~s" if ends[1] >= 1 else "~g", values=values)
    y = alt.Y("name:N", sort=names, axis=None, scale=alt.Scale(domain=names, paddingInner=0.2))
    base = alt.Chart(data(rows)).encode(y=y, color=alt.Color("colour:N", scale=None))
    layers = [
        base.mark_rule(strokeWidth=2.5, yOffset=8).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q"),
        base.mark_point(size=60, filled=True, opacity=1, yOffset=8).encode(x=alt.X("value:Q", scale=scale, axis=axis)),
        alt.Chart(data(rows))
        .mark_text(align="left", dy=-5, fontSize=11, limit=width - 4)
        .encode(y=y, x=alt.value(0), text="name:N"),
    ]
    size = alt.AutoSizeParams(type="fit-x", contains="padding")
    return alt.layer(*layers).properties(width=width, height=_ROW * len(rows), autosize=size)


def _lines(
    document: Document, configurations: Sequence[Configuration], metric: str, unit: str, load: str
) -> Figure | None:
    """Draw one line per configuration over the load. The first six have labels, the others are gray."""
    cells = {cell.id: cell for cell in document.cells}
    others = [name for name in load_names(document) if name != load]
    last = {name: document.cells[-1].factors.get(name) for name in others}
    levels = list(dict.fromkeys(level(cell.factors.get(load)) for cell in document.cells))
    points: list[dict[str, Any]] = []
    for position, configuration in enumerate(configurations):
        for cell in (cells[name] for name in configuration.cells):
            value = cell.throughput.mean if metric == "throughput" else _percentile(cell, metric)
            if value and all(cell.factors.get(name) == own for name, own in last.items()):
                colour = COLOURS[position % len(COLOURS)] if position < _MAX_LINES else _REST
                x = level(cell.factors.get(load))
                points.append({"x": x, "name": configuration.name, "place": position, "value": value, "colour": colour})
    if not points:
        return None
    values = [point["value"] for point in points]
    logarithmic = max(values) / min(values) > _LOG_RATIO
    ends = (min(values) / 1.3, max(values) * 1.3) if logarithmic else (0.0, max(values) * 1.1)
    label = f"{unit} by {load}"
    slim, wide = (
        draw(_lines_chart(points, levels, load, unit=unit, ends=ends, logarithmic=logarithmic, width=width), label)
        for width in (WIDTH, WIDE)
    )
    rest = len({point["name"] for point in points if point["place"] >= _MAX_LINES})
    note = "Means of the rounds." if metric == "throughput" else f"{metric} of the response time over all rounds."
    note += f" Gray: {rest} more configurations." if rest else ""
    note += " Logarithmic axis." if logarithmic else ""
    return Figure(f"{_title(unit)} by {load}", slim, note, wide=wide)


def _title(unit: str) -> str:
    return unit if unit.endswith(" ms") else unit[0].upper() + unit[1:]


def _lines_chart(
    points: Sequence[dict[str, Any]],
    levels: Sequence[str],
    load: str,
    *,
    unit: str,
    ends: tuple[float, float],
    logarithmic: bool,
    width: int,
) -> Any:
    label = min(_LABEL[width], max(len(point["name"]) for point in points) * _LETTER + 12)
    scale = alt.Scale(type="point", domain=list(levels), range=[16, width - label - _AXIS])
    x = alt.X("x:N", sort=list(levels), scale=scale, axis=alt.Axis(title=load, labelAngle=0, grid=False))
    y_scale = alt.Scale(domain=list(ends), nice=False, type="log" if logarithmic else "linear")
    ticks = alt.Undefined if not logarithmic else _ticks(*ends)
    axis = alt.Axis(title=unit, format="~s", tickCount=5, values=ticks)
    y = alt.Y("value:Q", scale=y_scale, axis=axis)
    base = alt.Chart(data(points)).encode(x=x, y=y, color=alt.Color("colour:N", scale=None))
    labels = _labels(points, levels, ends, logarithmic)
    named = alt.Chart(data(labels)).mark_text(align="left", dx=9, fontSize=11, limit=_LABEL[width])
    layers = [
        base.mark_line(strokeWidth=1.8).encode(detail="name:N"),
        base.mark_point(size=34, filled=True, opacity=1),
        named.encode(x=x, y=y, text="name:N", color=alt.Color("colour:N", scale=None)),
    ]
    size = alt.AutoSizeParams(type="fit", contains="padding")
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, autosize=size)


_MANY_POWERS = 5


def _ticks(low: float, high: float) -> list[float]:
    """Return the values 1, 2 and 5 of each power of ten, or the powers alone if the range is wide."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) < _MANY_POWERS else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def _labels(
    points: Sequence[dict[str, Any]], levels: Sequence[str], ends: tuple[float, float], logarithmic: bool
) -> list[dict[str, Any]]:
    """Place the names of lines at their ends, so that no two overlap."""
    at = {each: place for place, each in enumerate(levels)}
    final = {}
    for point in sorted(points, key=lambda point: at[point["x"]]):
        if point["place"] < _MAX_LINES:
            final[point["name"]] = dict(point)

    def scaled(value: float) -> float:
        return math.log(value) if logarithmic else value

    low, high = scaled(ends[0]) if ends[0] > 0 or not logarithmic else 0.0, scaled(ends[1])
    step = (high - low) * _LABEL_ROW / (_HEIGHT - 45)
    placed: list[dict[str, Any]] = []
    for each in sorted(final.values(), key=lambda point: point["value"]):
        position = scaled(each["value"])
        if placed:
            position = max(position, scaled(placed[-1]["value"]) + step)
        placed.append({**each, "value": math.exp(position) if logarithmic else position})
    # Move labels above the frame back into it, and the labels below them down.
    limit = high
    for each in reversed(placed):
        position = min(scaled(each["value"]), limit)
        each["value"] = math.exp(position) if logarithmic else position
        limit = position - step
    return placed


def _percentile(cell: Cell, metric: str) -> float | None:
    times: Any = shown_times(cell.latency_ms)
    return None if not times else times[metric]
