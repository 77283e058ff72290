"""The metrics of histories: one value per cell and run, equal to the value in the run's report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from dbdyno.analysis.measured.metrics import done, unit_seconds, usual_metric_of
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.base.errors import InputError
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import mean, shown_times

_US_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. ``of`` returns the value of a cell with a completed round, or None if it was not recorded.

    ``resolution``: relative difference up to which values count as equal, such as the width of a histogram bucket.
    ``percentile``: key of a percentile of the response time, which in a closed loop is the service time.
    """

    name: str
    title: str
    better: Literal["higher", "lower"]
    unit: Callable[[Measure], str]
    of: Callable[[Cell], float | None]
    resolution: float
    percentile: str | None = None

    def title_of(self, open_loops: Sequence[bool]) -> str:
        """Return the title. ``open_loops``: whether each run of the cell was an open loop."""
        if self.percentile is None:
            return self.title
        kinds = dict.fromkeys("response" if open_loop else "service" for open_loop in open_loops)
        return f"{self.title} of {' and '.join(kinds) or 'response'} time"

    def is_bounded(self, cell: Cell) -> bool:
        """Whether the value is a lower bound because failed or skipped transactions lack a response time."""
        times = shown_times(cell.latency_ms)
        return self.percentile is not None and times is not None and self.percentile in times.at_least


def _throughput(cell: Cell) -> float | None:
    return cell.throughput.mean


def _instructions(cell: Cell) -> float | None:
    return cell.instructions


def _cpu(cell: Cell) -> float | None:
    """Return CPU microseconds per counted unit: the mean over the rounds of CPU use divided by throughput.

    It is the CPU use of the server's processes, or of the worker for embedded databases.
    """
    values: list[float | None] = []
    for round_ in done(cell):
        cpu = round_.cpu_percent
        percent = cpu.client if cpu.server is None else cpu.server
        rate = round_.throughput and round_.throughput / unit_seconds(cell)
        values.append(percent / 100 / rate * _US_PER_S if percent is not None and rate else None)
    return mean(values)


def _percentile(name: str, title: str, key: Literal["p50", "p99", "p99_9"]) -> Metric:
    def of(cell: Cell) -> float | None:
        times = shown_times(cell.latency_ms)
        return getattr(times, key) if times else None

    # The width of a histogram bucket is 0.1% of its value.
    return Metric(name, title, "lower", lambda _measure: "ms", of, 1e-3, key)


METRICS = {
    each.name: each
    for each in (
        Metric("throughput", "throughput", "higher", lambda measure: measure.rate, _throughput, 1e-3),
        _percentile("p50", "median", "p50"),
        _percentile("p99", "99th percentile", "p99"),
        _percentile("p99.9", "99.9th percentile", "p99_9"),
        # Instruction counts of the same code vary less.
        Metric("instructions", "instructions", "lower", lambda measure: f"per {measure.unit}", _instructions, 1e-5),
        Metric("cpu", "CPU time", "lower", lambda measure: f"µs/{measure.unit}", _cpu, 1e-3),
    )
}


def metric(name: str) -> Metric:
    """Return the metric with a name. Raises ``InputError`` for an unknown name."""
    # Result documents use `p99_9` for `p99.9`.
    found = METRICS.get(name.replace("_", "."))
    if found is None:
        known = ", ".join(METRICS)
        raise InputError(f"--metric {name}", "unknown metric", f"known: {known}")
    return found


def usual_metrics(kept_up: Sequence[bool]) -> list[Metric]:
    """Return the default metrics of a cell's runs, which also decide in the tables of the runs.

    ``kept_up``: whether each run was an open loop that kept up with its schedule. If only some runs kept up, the result
    contains two metrics: the response time, and the rate that the other runs reached.
    """
    names = dict.fromkeys(usual_metric_of(each) for each in kept_up)
    return [METRICS[name] for name in sorted(names)] or [METRICS["throughput"]]
