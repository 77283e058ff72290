"""The history as one HTML file that works without network and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdyno.analysis.history.document import CellHistory, Change, History, Series
from dbdyno.base.numbers import figure, flat, percent
from dbdyno.report.export import write_text
from dbdyno.report.history import lines
from dbdyno.report.history.chart import series_chart
from dbdyno.report.page import render_page

_STYLES = {"better": "faster", "worse": "slower", "inconclusive": "inconclusive"}


def write_html(history: History, path: Path | str) -> None:
    """Write the page atomically. Raises InputError if the file cannot be written."""
    write_text(path, html_history(history))


def html_history(history: History) -> str:
    """Return the history as one HTML page."""
    names = lines.names(history)
    context = {
        "history": history,
        "scope": lines.scope(history),
        "left_out": lines.left_out(history["left_out"]),
        "machines": [(machine, lines.runs(machine["runs"]), flat(machine["facts"])) for machine in history["machines"]],
        "metric": lines.metrics(history),
        "cells": [_cell(history, cell, names[cell["id"]]) for cell in history["cells"]],
        "false_alarms": percent(history["false_alarms"]),
    }
    return render_page("history.html.j2", context, "dbdyno.report.history") + "\n"


def _cell(history: History, cell: CellHistory, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "metric": lines.metric_of(cell),
        "better": cell["metric"]["better"],
        "unit": cell["metric"]["unit"],
        "unmeasured": lines.unmeasured(cell),
        "series": [_series(history, cell, series, name) for series in cell["series"]],
    }


def _series(history: History, cell: CellHistory, series: Series, name: str) -> dict[str, Any]:
    alone = len(history["machines"]) == 1
    verdict = ""
    if not series["enough"]:
        verdict = lines.too_few(series, history["fewest"])
    elif not series["changes"]:
        verdict = f"no change found in {lines.runs(len(series['points']))}"
    chart = series_chart(series, cell["metric"], name if alone else f"{name}, machine {series['machine']}")
    return {
        "began": lines.began(series),
        "changed": lines.changed(series["changed"]),
        "chart": chart if len(series["points"]) > 1 else None,
        "verdict": verdict,
        "changes": [_change(change) for change in series["changes"]],
        "points": [
            (point["run"], point["started"][:19].replace("T", " "), figure(point["value"]), point["rounds"])
            for point in series["points"]
        ],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "run": change["run"],
        "previous": change["previous"],
        "date": lines.day(change["started"]),
        "before": figure(change["before"]),
        "after": figure(change["after"]),
        "change": lines.change_share(change),
        "style": _STYLES[change["verdict"]],
        "odds": lines.odds(change["odds"]),
        "causes": lines.causes(change),
    }
