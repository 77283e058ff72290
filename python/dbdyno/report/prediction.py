"""Show a prediction on the terminal and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from dbdyno.base.console import Console
from dbdyno.base.numbers import NONE, figure, percent, rough, short
from dbdyno.engines.server.facts import size
from dbdyno.model.result.prediction import Point, Prediction, Series
from dbdyno.report.charts.prediction import prediction_chart
from dbdyno.report.columns import TableColumn, tables
from dbdyno.report.page import render_page

NOTE = (
    "of memory: size of the index divided by the memory that caches it; limited by: the largest part of an insert's "
    "time, or a resource shared by all clients; * used for the calibration"
)


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row of the table; all values are strings."""

    series: str
    rows: str
    predicted: str
    band: str
    of_memory: str
    limited_by: str
    measured: str


def show_prediction(prediction: Prediction, console: Console) -> None:
    """Write the answer and the table to the console, laid out for its width."""
    console.print(Text.assemble(("prediction", "bold"), f"  from run {prediction.run} of {prediction.system}"))
    console.print(Text(asked_words(prediction), style="dim"))
    for sentence in prediction.sentences:
        console.print(Text(sentence))
    for warning in prediction.warnings:
        console.print(Text.assemble(("! ", "yellow"), warning))
    console.print()
    rows = list(table_rows(prediction))
    names = [
        TableColumn("key", [Text(row.series) for row in rows], right=False),
        TableColumn("rows", [Text(row.rows) for row in rows]),
    ]
    numbers = [
        TableColumn(f"{prediction.label}/s", [Text(row.predicted, style="bold") for row in rows]),
        TableColumn("band", [Text(row.band) for row in rows]),
        TableColumn("measured", [Text(row.measured) for row in rows]),
        TableColumn("of\nmemory", [Text(row.of_memory) for row in rows], spare=True),
        TableColumn("limited by", [Text(row.limited_by) for row in rows], right=False, spare=True),
    ]
    if not any(row.measured != NONE for row in rows):
        numbers.pop(2)
    for part in tables(names, numbers, console.width):
        console.print(part)
    console.print(Text(NOTE, style="dim"))


def table_rows(prediction: Prediction) -> Iterator[LabelledRow]:
    """Yield one row per size of each series."""
    for series in prediction.series:
        for point in series.points:
            yield _row(series, point)


def _row(series: Series, point: Point) -> LabelledRow:
    band, measured = point.band, point.measured
    shown = NONE
    if measured is not None:
        shown = short(measured.throughput) + ("*" if measured.calibrating else "")
    return LabelledRow(
        series=series.name,
        rows=short(point.rows),
        predicted=figure(point.throughput),
        band=NONE if band is None else f"{short(band[0])} to {short(band[1])}",
        of_memory=NONE if point.times_memory is None else rough(point.times_memory),
        limited_by=point.limited_by or point.lacking,
        measured=shown,
    )


def asked_words(prediction: Prediction) -> str:
    """Return the configuration that the prediction is for, in one line."""
    asked = prediction.asked
    device = asked.device
    clients = f"{asked.clients} client" + ("" if asked.clients == 1 else "s")
    return (
        f"for {clients}, {asked.cores} CPUs, {size(round(asked.memory_bytes))} of memory including "
        f"{size(round(asked.cache_bytes))} of engine cache, and a device with {figure(device['reads_per_s'])} reads/s "
        f"({figure(device['read_us'])} µs for a single read) and {figure(device['writes_per_s'])} writes/s"
    )


def prediction_html(prediction: Prediction) -> str:
    """Return the prediction as one HTML page."""
    costs = prediction.costs
    parts = [
        *((f"an insert with {name}, all cached", _microseconds(value)) for name, value in costs.insert.items()),
        ("a miss of the engine's cache", _microseconds(costs.miss)),
        ("a page that enters the page cache", _microseconds(costs.page)),
        ("a device read", _microseconds(costs.device_read)),
        ("a page written at a checkpoint", _microseconds(costs.checkpoint_page)),
        ("error at the calibrated sizes", percent(costs.error)),
    ]
    context = {
        "prediction": prediction,
        "asked": asked_words(prediction),
        "chart": prediction_chart(prediction),
        "rows": list(table_rows(prediction)),
        "note": NOTE[0].upper() + NOTE[1:] + ".",
        "costs": parts,
    }
    return render_page("prediction.html.j2", context) + "\n"


def _microseconds(seconds: float) -> str:
    return f"{figure(seconds * 1e6)} µs"
