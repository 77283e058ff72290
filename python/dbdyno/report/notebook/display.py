"""HTML of runs for notebooks: the answer and a short table. Templates escape all text from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dbdyno.base.numbers import NONE, figure, level, milliseconds
from dbdyno.model.result.shape import Document
from dbdyno.report.frames.cells import cells_frame
from dbdyno.report.page import render_page
from dbdyno.store import RunSummary

_ROWS = 12


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of a table: its heading, its values and their alignment."""

    head: str
    values: list[str]
    side: str = "left"


def run_html(document: Document, answer: str) -> str:
    """Return the answer and one row per cell, up to a maximum, as an HTML fragment."""
    frame = cells_frame(document)
    values = {column.name: column.values for column in frame.columns}
    count = len(values["cell"])
    factors = [(name, levels) for name, levels in _factors(document) if len(set(levels)) > 1]
    columns = [Shown(name, levels) for name, levels in factors or [("cell", list(map(_text, values["cell"])))]]
    unit = next(filter(None, values["unit"]), "throughput")
    columns.append(Shown(unit, [figure(value) for value in values["throughput"]], "right"))
    bounds = zip(values["throughput_low"], values["throughput_high"], strict=True)
    intervals = [NONE if low is None else f"[{figure(low)}, {figure(high)}]" for low, high in bounds]
    columns.append(Shown("95 %", intervals, "right"))
    columns.append(Shown("p99 ms", [_p99(values, row) for row in range(count)], "right"))
    columns.append(Shown("bottleneck", [_text(value) for value in values["bottleneck"]]))
    return _page(
        head=f"{document.experiment}  {document.id}",
        sentences=answer.splitlines(),
        columns=columns,
        more=f"{count - _ROWS} more: run.cells()" if count > _ROWS else "",
    )


def runs_html(runs: Sequence[RunSummary]) -> str:
    """Return the list of runs as an HTML fragment."""
    columns = [
        Shown("run", [run.id for run in runs]),
        Shown("experiment", [run.experiment for run in runs]),
        Shown("started (UTC)", [run.started[:19].replace("T", " ") for run in runs]),
        Shown("status", [run.status for run in runs]),
        Shown("trials", [str(run.done) for run in runs], "right"),
        Shown("failed", [str(run.failed or "") for run in runs], "right"),
    ]
    return _page(head="", sentences=[], columns=columns, more="", most=len(runs))


def _page(*, head: str, sentences: list[str], columns: list[Shown], more: str, most: int = _ROWS) -> str:
    rows = list(islice(zip(*(shown.values for shown in columns), strict=True), most))
    context = {"head": head, "sentences": sentences, "columns": columns, "rows": rows, "more": more}
    return render_page("notebook.html.j2", context)


def _factors(document: Document) -> list[tuple[str, list[str]]]:
    """Return each factor with its level in each cell."""
    levels = [cell.factors for cell in document.cells]
    names = dict.fromkeys(name for each in levels for name in each)
    return [(name, [_text(each.get(name)) for each in levels]) for name in names]


def _p99(values: Mapping[str, list[Any]], row: int) -> str:
    """Return the p99 of the response time, or of the service time if unknown; lower bounds are marked with ≥."""
    times = "service" if values["response_p99_ms"][row] is None else "response"
    bound = "p99" in (values[f"{times}_at_least"][row] or "").split()
    return "≥" * bound + milliseconds(values[f"{times}_p99_ms"][row])


def _text(value: object) -> str:
    return "" if value is None else level(value)
