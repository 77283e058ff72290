"""The stages of open loops, and the work beside the clients, as table rows."""

from __future__ import annotations

from dbdyno.base.numbers import figure, milliseconds, whole
from dbdyno.model.result.cell import Beside, Stage
from dbdyno.model.result.shape import Document
from dbdyno.report.lines import cell_name, factor_names, latency_of
from dbdyno.report.rows import NamedRow

STAGE_HEADS = ("planned/s", "offered/s", "completed/s", "p50 ms", "p99 ms", "failed", "skipped")
STAGE_NOTE = (
    "times: of the transactions scheduled in a stage, from their scheduled start. completed: in the stage, whenever "
    "they were scheduled"
)
BESIDE_HEADS = ("executions", "mean s", "max s", "errors")


def stage_rows(document: Document) -> list[NamedRow]:
    """Return the stages of each cell in their order; empty if no rate changes."""
    factors = factor_names(document)
    return [_stage(cell_name(cell, factors), stage) for cell in document.cells for stage in cell.stages]


def beside_rows(document: Document) -> list[NamedRow]:
    """Return the work beside the clients of each cell."""
    factors = factor_names(document)
    return [_beside(cell_name(cell, factors), beside) for cell in document.cells for beside in cell.beside]


def _stage(cell: str, stage: Stage) -> NamedRow:
    low, high = stage.rate
    times = (latency_of(stage.latency_ms, name) for name in ("p50", "p99"))
    return NamedRow(
        cell,
        f"{stage.start_s:g} to {stage.start_s + stage.seconds:g} s",
        (
            figure(low) if low == high else f"{figure(low)} to {figure(high)}",
            figure(stage.offered),
            figure(stage.throughput),
            *times,
            whole(stage.failed),
            whole(stage.skipped),
        ),
    )


def _beside(cell: str, beside: Beside) -> NamedRow:
    seconds = (milliseconds(beside.mean_s), milliseconds(beside.max_s))
    return NamedRow(cell, beside.name, (whole(beside.executions), *seconds, whole(beside.failed)))
