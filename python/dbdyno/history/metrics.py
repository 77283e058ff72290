"""What a history can draw: one value of a cell in a run, over all its rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from dbdyno.errors import InputError
from dbdyno.results.cell_document import Round
from dbdyno.results.histograms import HistogramError, merge
from dbdyno.results.reading import mean
from dbdyno.results.rounds import Measure

_US_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. ``of`` takes the rounds that are done (at least one) and gives nothing where it was not recorded."""

    name: str
    title: str
    better: Literal["higher", "lower"]
    unit: Callable[[Measure], str]
    of: Callable[[Sequence[Round]], float | None]


def _throughput(done: Sequence[Round]) -> float | None:
    return mean(each["throughput"] for each in done)


def _instructions(done: Sequence[Round]) -> float | None:
    return mean(each["instructions"] for each in done)


def _cpu(done: Sequence[Round]) -> float | None:
    """Return microseconds of CPU for each thing that throughput counts: CPU by throughput, the mean of the rounds.

    Of the server's processes where there are any; else of the worker's, which holds an embedded database.
    """
    values: list[float | None] = []
    for each in done:
        cpu = each["cpu_percent"]
        percent = cpu["client"] if cpu["server"] is None else cpu["server"]
        rate = each["throughput"]
        values.append(percent / 100 / rate * _US_PER_S if percent is not None and rate else None)
    return mean(values)


def _latency(name: Literal["p50", "p99", "p99_9"]) -> Callable[[Sequence[Round]], float | None]:
    """Return the percentile of service latency from the merged histograms of the rounds, as the result document has it.

    Percentiles of several rounds cannot be averaged; that of a single round without a histogram serves.
    """

    def of(done: Sequence[Round]) -> float | None:
        try:
            merged = merge(each["histograms"]["service"] for each in done if "service" in each["histograms"])
        except HistogramError:
            return None
        if merged is not None:
            return merged.latency_ms()[name]
        service = done[0]["latency_ms"].get("service") if len(done) == 1 else None
        return service[name] if service else None

    return of


def _ms(_measure: Measure) -> str:
    return "ms"


METRICS = {
    each.name: each
    for each in (
        Metric("throughput", "throughput", "higher", lambda measure: f"{measure.label}/s", _throughput),
        Metric("p50", "median service latency", "lower", _ms, _latency("p50")),
        Metric("p99", "99th percentile of service latency", "lower", _ms, _latency("p99")),
        Metric("p99.9", "99.9th percentile of service latency", "lower", _ms, _latency("p99_9")),
        Metric("instructions", "instructions", "lower", lambda measure: f"per {measure.unit}", _instructions),
        Metric("cpu", "CPU time", "lower", lambda measure: f"µs/{measure.unit}", _cpu),
    )
}


def metric(name: str) -> Metric:
    """Return the metric of a name; ``InputError`` where there is none."""
    # A result document has `p99_9` for what people write `p99.9`.
    found = METRICS.get(name.replace("_", "."))
    if found is None:
        known = ", ".join(METRICS)
        raise InputError(f"--metric {name}", "there is no such metric", f"known: {known}")
    return found
