"""A result's cells, its rounds and their timelines as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dbdyno.model.result.reading import JsonObject, objects, part, texts
from dbdyno.report.frames.frame import Field, Frame, Kind, at, factor_fields, make_frame, pair

_PERCENTILES = ("p50", "p90", "p99", "p99_9", "max", "mean")
_TIMES = ("service", "response")


class _Place(NamedTuple):
    """What a row is about: a cell, and where it is of one a round of it, and an interval of that."""

    run: object
    cell: JsonObject
    round: JsonObject
    interval: JsonObject


def cells_frame(document: Mapping[str, Any]) -> Frame:
    """Give a row for each cell: factors, throughput with its interval, latencies, CPU, failures, bottleneck."""
    rows = [_Place(document.get("id"), cell, {}, {}) for cell in objects(document.get("cells"))]
    return _frame(rows, _CELL)


def rounds_frame(document: Mapping[str, Any]) -> Frame:
    """Give a row for each round of each cell, failed ones included."""
    rows = [_Place(document.get("id"), *each, {}) for each in _rounds(document)]
    return _frame(rows, _ROUND)


def intervals_frame(document: Mapping[str, Any]) -> Frame:
    """Give a row for each interval of each round's timeline."""
    rows = [
        _Place(document.get("id"), cell, each, interval)
        for cell, each in _rounds(document)
        for interval in objects(each.get("intervals"))
    ]
    return _frame(rows, _INTERVAL)


def _rounds(document: Mapping[str, Any]) -> list[tuple[JsonObject, JsonObject]]:
    return [(cell, each) for cell in objects(document.get("cells")) for each in objects(cell.get("rounds"))]


def _frame(rows: list[_Place], own: tuple[Field[_Place], ...]) -> Frame:
    taken = [field.name for field in (*_NAMES, *_SYSTEM, *own)]
    factors = factor_fields(rows, lambda row: part(row.cell, "factors"), taken)
    return make_frame(rows, [*_NAMES, *factors, *_SYSTEM, *own])


def _of_cell(name: str, kind: Kind, *keys: str) -> Field[_Place]:
    return Field(name, kind, lambda row: at(row.cell, *(keys or (name,))))


def _of_round(name: str, kind: Kind, *keys: str) -> Field[_Place]:
    return Field(name, kind, lambda row: at(row.round, *(keys or (name,))))


def _of_interval(name: str, kind: Kind, *keys: str) -> Field[_Place]:
    return Field(name, kind, lambda row: at(row.interval, *(keys or (name,))))


def _sum(value: object) -> int | None:
    """Add failures of all kinds up."""
    return sum(each for each in value.values() if isinstance(each, int)) if isinstance(value, Mapping) else None


def _at_least(times: str) -> Field[_Place]:
    """Give the column that names the figures of a time that are lower bounds, as ``p99 p99_9``; None: none is."""
    return Field(
        f"{times}_at_least",
        "text",
        lambda row: " ".join(texts(at(row.cell, "latency_ms", times, "at_least"))) or None,
    )


def _end(keys: tuple[str, ...], place: int) -> Callable[[_Place], object]:
    return lambda row: pair(at(row.cell, *keys), place)


def _times(field: Callable[..., Field[_Place]]) -> list[Field[_Place]]:
    """Give the columns of service and response times, in milliseconds."""
    return [
        field(f"{times}_{name}_ms", "number", "latency_ms", times, name) for times in _TIMES for name in _PERCENTILES
    ]


def _cpu(field: Callable[..., Field[_Place]]) -> list[Field[_Place]]:
    """Give the columns of processors, in percent of one."""
    return [
        field("cpu_percent", "number", "cpu_percent", "client"),
        field("server_cpu_percent", "number", "cpu_percent", "server"),
        field("hottest_thread_percent", "number", "cpu_percent", "hottest_thread"),
        field("machine_percent", "number", "cpu_percent", "machine"),
        field("steal_percent", "number", "cpu_percent", "steal"),
    ]


def _disk(field: Callable[..., Field[_Place]]) -> list[Field[_Place]]:
    return [field(f"disk_{name}", "number", "disk", name) for name in ("reads_per_s", "writes_per_s", "flushes_per_s")]


_NAMES: tuple[Field[_Place], ...] = (Field("run", "text", lambda row: row.run), _of_cell("cell", "text", "id"))

_SYSTEM: tuple[Field[_Place], ...] = (
    _of_cell("system", "text", "system", "name"),
    _of_cell("engine", "text", "system", "engine"),
    _of_cell("version", "text", "system", "version"),
    _of_cell("durability", "text", "system", "durability"),
)

_CELL: tuple[Field[_Place], ...] = (
    _of_cell("throughput", "number", "throughput", "mean"),
    Field("throughput_low", "number", _end(("throughput", "ci95"), 0)),
    Field("throughput_high", "number", _end(("throughput", "ci95"), 1)),
    _of_cell("unit", "text", "throughput", "unit"),
    Field("rounds", "whole", lambda row: sum(each.get("status") == "done" for each in _all_rounds(row))),
    Field("failed_rounds", "whole", lambda row: sum(each.get("status") != "done" for each in _all_rounds(row))),
    Field("failed", "whole", lambda row: _sum(row.cell.get("failed"))),
    *_times(_of_cell),
    *map(_at_least, _TIMES),
    *_cpu(_of_cell),
    *_disk(_of_cell),
    _of_cell("rows_per_transaction", "number"),
    _of_cell("instructions", "number"),
    _of_cell("share_of_ceiling", "number", "share_of_ceiling", "harness"),
    _of_cell("published", "number", "published", "value"),
    _of_cell("bottleneck", "text", "bottleneck", "resource"),
)

_ROUND: tuple[Field[_Place], ...] = (
    _of_round("block", "whole"),
    _of_round("position", "whole"),
    _of_round("status", "text"),
    _of_round("started", "time"),
    _of_round("throughput", "number"),
    _of_cell("unit", "text", "throughput", "unit"),
    _of_round("transactions_per_s", "number"),
    _of_round("elapsed_s", "number"),
    *(_of_round(name, "whole") for name in ("issued", "ok")),
    Field("failed", "whole", lambda row: _sum(row.round.get("failed"))),
    *(_of_round(name, "whole") for name in ("skipped", "in_flight", "retries", "completed")),
    *(_of_round(name, "whole") for name in ("rows", "rows_changed", "statements")),
    *_times(_of_round),
    *_cpu(_of_round),
    *_disk(_of_round),
    _of_round("peak_rss_bytes", "whole"),
    _of_round("instructions", "number"),
    _of_round("outlier", "truth"),
    _of_round("bottleneck", "text", "bottleneck", "resource"),
    _of_round("error_kind", "text"),
    _of_round("error", "text"),
)

_INTERVAL: tuple[Field[_Place], ...] = (
    _of_round("block", "whole"),
    _of_interval("index", "whole"),
    _of_interval("start_s", "number"),
    _of_interval("end_s", "number"),
    *(_of_interval(name, "whole") for name in ("ok", "failed", "statements", "rows")),
    *(_of_interval(f"service_{name}_ms", "number", "service_ms", name) for name in ("p50", "p99", "max")),
    *(_of_interval(name, "number") for name in ("cpu_percent", "hottest_thread_percent", "machine_percent")),
    *(_of_interval(f"disk_{name}", "whole", "disk", name) for name in ("reads", "writes", "flushes")),
)


def _all_rounds(row: _Place) -> list[JsonObject]:
    return objects(row.cell.get("rounds"))
