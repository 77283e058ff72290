"""The values of each cell, round and interval that exports show. Each is declared once.

Data frames, Parquet and CSV have a column per value, in this order. OpenMetrics exports the values that have a
``gauge``, and reports show the values that have a ``head`` in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.shape import Document
from dbdyno.report.frames.frame import Field, Frame, at, factor_fields, make_frame, pair

_TIMES = ("service", "response")


class CellRow(NamedTuple):
    """A row about a cell of a run."""

    run: str
    cell: Cell

    @property
    def measured(self) -> Cell:
        """Return the object that has the values of this row."""
        return self.cell


class RoundRow(NamedTuple):
    """A row about a round of a cell."""

    run: str
    cell: Cell
    round: Round

    @property
    def measured(self) -> Round:
        """Return the object that has the values of this row."""
        return self.round


class IntervalRow(NamedTuple):
    """A row about an interval of a round's timeline."""

    run: str
    cell: Cell
    round: Round
    interval: Mapping[str, Any]


Row = TypeVar("Row", CellRow, RoundRow, IntervalRow)
_Measured = TypeVar("_Measured", CellRow, RoundRow)


@dataclass(frozen=True, slots=True)
class Gauge:
    """An OpenMetrics gauge. Its name ends in its ``unit``, which is ``divisor`` units of the value."""

    name: str
    help: str
    unit: str = ""
    divisor: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure(Field[Row]):
    """A value: its column, its gauge, and its heading in reports. ``head`` is empty if reports don't show it."""

    gauge: Gauge | None = None
    head: str = ""


def cells_frame(document: Document) -> Frame:
    """Return one row per cell: factors, throughput with its interval, latencies, CPU, failures, bottleneck."""
    return _frame([CellRow(document.id, cell) for cell in document.cells], CELL)


def rounds_frame(document: Document) -> Frame:
    """Return one row per round of each cell, including failed rounds."""
    return _frame([RoundRow(document.id, *each) for each in _rounds(document)], ROUND)


def intervals_frame(document: Document) -> Frame:
    """Return one row per interval of each round's timeline."""
    rows = [
        IntervalRow(document.id, cell, round_, interval)
        for cell, round_ in _rounds(document)
        for interval in round_.intervals
    ]
    return _frame(rows, INTERVAL)


def _rounds(document: Document) -> Iterator[tuple[Cell, Round]]:
    for cell in document.cells:
        for round_ in cell.rounds:
            yield cell, round_


def _frame(rows: list[Row], own: Iterable[Field[Row]]) -> Frame:
    names: list[Field[Row]] = [
        Field("run", "text", lambda row: row.run),
        Field("cell", "text", lambda row: row.cell.id),
    ]
    system: list[Field[Row]] = [
        Field("system", "text", lambda row: row.cell.system.name),
        Field("engine", "text", lambda row: row.cell.system.engine),
        Field("version", "text", lambda row: row.cell.system.version),
        Field("durability", "text", lambda row: row.cell.system.durability),
    ]
    figures: list[Field[Row]] = list(own)
    taken = [each.name for each in (*names, *system, *figures)]
    factors: list[Field[Row]] = factor_fields(rows, lambda row: row.cell.factors, taken)
    return make_frame(rows, names + factors + system + figures)


def _failures(failed: Mapping[str, int]) -> int:
    return sum(each for each in failed.values() if isinstance(each, int))


def _done(cell: Cell) -> int:
    return sum(round_.status == "done" for round_ in cell.rounds)


def _times(row_type: type[_Measured]) -> Iterator[Figure[_Measured]]:
    """Yield the columns of service and response times in milliseconds."""
    for times in _TIMES:
        for name in ("p50", "p90", "p99", "p99_9", "max", "mean"):
            yield Figure(f"{times}_{name}_ms", "number", _latency(row_type, times, name))


def _latency(_of: type[_Measured], times: str, name: str) -> Callable[[_Measured], object]:
    return lambda row: getattr(row.measured.latency_ms.get(times), name, None)


def _at_least(times: str) -> Figure[CellRow]:
    """Return the column that names the percentiles that are lower bounds, such as ``p99 p99_9``."""

    def read(row: CellRow) -> str | None:
        latency = row.cell.latency_ms.get(times)
        return (" ".join(latency.at_least) or None) if latency else None

    return Figure(f"{times}_at_least", "text", read)


def _busy(process: str) -> Gauge:
    words = "Processors that were busy, mean of the rounds."
    return Gauge("dbdyno_cpu_processors", words, "processors", 100, {"process": process})


def _cpu(_of: type[_Measured]) -> Iterator[Figure[_Measured]]:
    """Yield the columns of CPU time, in percent of one CPU."""
    yield Figure("cpu_percent", "number", lambda row: row.measured.cpu_percent.client, _busy("client"))
    yield Figure("server_cpu_percent", "number", lambda row: row.measured.cpu_percent.server, _busy("server"))
    hottest = _busy("hottest_thread")
    yield Figure("hottest_thread_percent", "number", lambda row: row.measured.cpu_percent.hottest_thread, hottest)
    yield Figure("machine_percent", "number", lambda row: row.measured.cpu_percent.machine, _busy("machine"))
    yield Figure("steal_percent", "number", lambda row: row.measured.cpu_percent.steal)


def _disk(_of: type[_Measured]) -> Iterator[Figure[_Measured]]:
    yield Figure("disk_reads_per_s", "number", lambda row: row.measured.disk.reads_per_s)
    yield Figure("disk_writes_per_s", "number", lambda row: row.measured.disk.writes_per_s)
    yield Figure("disk_flushes_per_s", "number", lambda row: row.measured.disk.flushes_per_s)


_RETRIES = Gauge("dbdyno_retries_per_transaction", "Further attempts per transaction that succeeded, over all rounds.")

CELL: tuple[Figure[CellRow], ...] = (
    Figure("throughput", "number", lambda row: row.cell.throughput.mean),
    Figure("throughput_low", "number", lambda row: pair(row.cell.throughput.ci95, 0)),
    Figure("throughput_high", "number", lambda row: pair(row.cell.throughput.ci95, 1)),
    Figure("unit", "text", lambda row: row.cell.throughput.unit),
    Figure("rounds", "whole", lambda row: _done(row.cell)),
    Figure("failed_rounds", "whole", lambda row: len(row.cell.rounds) - _done(row.cell)),
    Figure("failed", "whole", lambda row: _failures(row.cell.failed)),
    *_times(CellRow),
    *map(_at_least, _TIMES),
    *_cpu(CellRow),
    *_disk(CellRow),
    Figure("rows_per_transaction", "number", lambda row: row.cell.rows_per_transaction),
    Figure("retries_per_transaction", "number", lambda row: row.cell.retries_per_transaction, _RETRIES, "retries"),
    Figure("instructions", "number", lambda row: row.cell.instructions),
    Figure("share_of_ceiling", "number", lambda row: row.cell.share_of_ceiling.harness),
    Figure("published", "number", lambda row: at(row.cell.published, "value")),
    Figure("bottleneck", "text", lambda row: row.cell.bottleneck and row.cell.bottleneck.resource),
)

ROUND: tuple[Figure[RoundRow], ...] = (
    Figure("block", "whole", lambda row: row.round.block),
    Figure("position", "whole", lambda row: row.round.position),
    Figure("status", "text", lambda row: row.round.status),
    Figure("started", "time", lambda row: row.round.started),
    Figure("throughput", "number", lambda row: row.round.throughput),
    Figure("unit", "text", lambda row: row.cell.throughput.unit),
    Figure("transactions_per_s", "number", lambda row: row.round.transactions_per_s),
    Figure("elapsed_s", "number", lambda row: row.round.elapsed_s),
    Figure("issued", "whole", lambda row: row.round.issued),
    Figure("ok", "whole", lambda row: row.round.ok),
    Figure("failed", "whole", lambda row: _failures(row.round.failed)),
    Figure("skipped", "whole", lambda row: row.round.skipped),
    Figure("in_flight", "whole", lambda row: row.round.in_flight),
    Figure("retries", "whole", lambda row: row.round.retries),
    Figure("completed", "whole", lambda row: row.round.completed),
    Figure("rows", "whole", lambda row: row.round.rows),
    Figure("rows_changed", "whole", lambda row: row.round.rows_changed),
    Figure("statements", "whole", lambda row: row.round.statements),
    *_times(RoundRow),
    *_cpu(RoundRow),
    *_disk(RoundRow),
    Figure("peak_rss_bytes", "whole", lambda row: row.round.peak_rss_bytes),
    Figure("instructions", "number", lambda row: row.round.instructions),
    Figure("outlier", "truth", lambda row: row.round.outlier),
    Figure("bottleneck", "text", lambda row: row.round.bottleneck and row.round.bottleneck.resource),
    Figure("error_kind", "text", lambda row: row.round.error_kind),
    Figure("error", "text", lambda row: row.round.error),
)


def _of_interval(name: str, *keys: str) -> Callable[[IntervalRow], object]:
    return lambda row: at(row.interval, *(keys or (name,)))


INTERVAL: tuple[Field[IntervalRow], ...] = (
    Field("block", "whole", lambda row: row.round.block),
    Field("index", "whole", _of_interval("index")),
    Field("start_s", "number", _of_interval("start_s")),
    Field("end_s", "number", _of_interval("end_s")),
    *(Field(name, "whole", _of_interval(name)) for name in ("ok", "failed", "statements", "rows")),
    *(Field(f"service_{name}_ms", "number", _of_interval("", "service_ms", name)) for name in ("p50", "p99", "max")),
    *(
        Field(name, "number", _of_interval(name))
        for name in ("cpu_percent", "hottest_thread_percent", "machine_percent")
    ),
    *(Field(f"disk_{name}", "whole", _of_interval("", "disk", name)) for name in ("reads", "writes", "flushes")),
)
