"""Metrics that cells are compared by (throughput, response times, instructions), with one value per block."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import TypeVar

from dbdyno.analysis.bottleneck.common import OVERLOADED
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.reading import shown_times
from dbdyno.stats import Rate, Rates
from dbdyno.stats.rates import merged_rate, own_values

_T = TypeVar("_T")

METRICS = ("throughput", "active", "instructions", "p50", "p90", "p99", "p99_9", "mean", "max")
"""Throughput, active time, instructions, and percentiles, mean and maximum of the response time (the service time in
a closed loop). For all except throughput, less is better.

Active time is a client's time per unit of throughput in milliseconds, without the time it waited for a CPU. Other
programs on the machine hardly change it."""

ANSWERS = "p99"
"""The metric that compares open loops that keep up."""


def is_open_loop(cell: Cell) -> bool:
    """Whether transactions were started on a schedule. Only then is there a response time besides the service time."""
    return any("response" in round_.latency_ms for round_ in done(cell))


def keeps_up(cell: Cell) -> bool:
    """Whether an open loop started all due transactions, so that its throughput equals the offered rate."""
    rounds = done(cell)
    due, skipped = sum(round_.issued for round_ in rounds), sum(round_.skipped for round_ in rounds)
    return is_open_loop(cell) and skipped < max(OVERLOADED * due, 1)


def usual_metric(a: Cell, b: Cell) -> str:
    """Return the default metric of a comparison: throughput, but p99 if both are open loops that keep up."""
    return usual_metric_of(keeps_up(a) and keeps_up(b))


def gate_metric(a: Cell, b: Cell) -> str:
    """Return the default metric of a gate for cells measured together: the one other programs disturb least."""
    usual = usual_metric(a, b)
    recorded = all(len(_active_ms(cell)) == len(rates_by_block(cell)) > 0 for cell in (a, b))
    return "active" if usual == "throughput" and recorded else usual


def usual_metric_of(kept_up: bool) -> str:
    """Return the default metric of a comparison. ``kept_up``: all cells are open loops that kept up."""
    return ANSWERS if kept_up else "throughput"


def done(cell: Cell) -> list[Round]:
    """Return the rounds with a result."""
    return [round_ for round_ in cell.rounds if round_.status == "done"]


def failing_by_round(cell: Cell) -> list[float]:
    """Return the share of failed transactions of each round that started any."""
    return [sum(round_.failed.values()) / round_.issued for round_ in done(cell) if round_.issued]


def failing(cell: Cell) -> float:
    """Return the mean share of failed transactions over rounds; 0 if none started."""
    shares = failing_by_round(cell)
    return fmean(shares) if shares else 0.0


def rate_of(round_: Round) -> Rate | None:
    """Return a round's throughput with the data it is estimated from; None if it has none or it is 0."""
    if not round_.throughput:
        return None
    basis = round_.rate
    return Rate(
        round_.throughput,
        basis.time_s,
        basis.count,
        basis.seconds,
        basis.squares,
        basis.resolution,
        basis.other,
    )


def unit_seconds(cell: Cell) -> int:
    """Return the seconds of the unit of time in which a cell's throughput is given."""
    unit: str | None = cell.throughput.unit
    return 60 if (unit or "").endswith("/min") else 1


def counted_unit(cell: Cell) -> str:
    """Return what a cell's throughput counts, such as "lookups"."""
    return cell.throughput.unit.removesuffix("/s").removesuffix("/min")


def rates_by_block(cell: Cell) -> Rates:
    """Return the throughput by block."""
    return merged(_rates(cell), windows_of(cell), merged_rate)


def _rates(cell: Cell) -> dict[int, Rate]:
    return {round_.block: rate for round_ in cell.rounds if (rate := rate_of(round_)) is not None}


def windows_of(cell: Cell) -> int:
    """Return the number of consecutive rounds that measure one growth of a table and count as one."""
    return 1 if cell.growth is None else cell.growth.windows


def merged(values: Mapping[int, _T], windows: int, merge: Callable[[Sequence[_T]], _T]) -> dict[int, _T]:
    """Return one value per growth by its first block, because windows of one growth are not independent rounds."""
    if windows == 1:
        return dict(values)
    growths: dict[int, list[_T]] = {}
    for block in sorted(values):
        growths.setdefault(block // windows * windows, []).append(values[block])
    return {block: merge(each) for block, each in growths.items()}


def values_by_block(cell: Cell, metric: str) -> dict[int, float]:
    """Return the positive values of a metric by block. ``metric``: one of :data:`METRICS`."""
    return merged(_values(cell, metric), windows_of(cell), geometric_mean)


def _values(cell: Cell, metric: str) -> dict[int, float]:
    if metric == "throughput":
        return {block: rate.value for block, rate in _rates(cell).items()}
    if metric == "active":
        return _active_ms(cell)
    if metric == "instructions":
        return {round_.block: round_.instructions for round_ in cell.rounds if round_.instructions}
    values: dict[int, float] = {}
    for round_ in done(cell):
        times = shown_times(round_.latency_ms)
        value = None if times is None else getattr(times, metric)
        if value:
            values[round_.block] = float(value)
    return values


def logs_by_block(cell: Cell, metric: str) -> dict[int, float]:
    """Return the logarithm of a metric by block."""
    if metric == "throughput":
        return own_values(rates_by_block(cell))
    return {block: math.log(value) for block, value in values_by_block(cell, metric).items()}


def _active_ms(cell: Cell) -> dict[int, float]:
    """Return the active time in milliseconds of blocks that recorded how long clients waited for a CPU."""
    found: dict[int, float] = {}
    for round_ in done(cell):
        waited, client_s = round_.segments.get("run_queue"), round_.client_s
        clients = round_.window.get("clients") or 1
        if round_.throughput and client_s and waited is not None and waited < client_s:
            found[round_.block] = 1e3 * clients * (1 - waited / client_s) / round_.throughput
    return found


def lower_bounds(cell: Cell, metric: str) -> int:
    """Return the number of rounds in which a metric is a lower bound, because transactions failed or were skipped."""
    shown = [shown_times(round_.latency_ms) for round_ in done(cell)]
    return sum(times is not None and metric in times.at_least for times in shown)
