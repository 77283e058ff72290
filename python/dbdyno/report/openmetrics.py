"""Write a result in the text format of OpenMetrics 1.0 (https://openmetrics.io), for Prometheus and similar tools.

All metrics are gauges, because the run is over and its values no longer increase. Unknown values have no sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.analysis.measured.metrics import counted_unit, unit_seconds
from dbdyno.base.numbers import level
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Document
from dbdyno.report.export import write_text
from dbdyno.report.frames.cells import CELL, CellRow
from dbdyno.report.frames.frame import as_kind

_QUANTILES = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p99_9": "0.999", "max": "1"}
# Characters that label names must not contain.
_OTHER_CHARACTERS = re.compile(r"[^a-zA-Z0-9_]")

Labels = Mapping[str, str]


@dataclass(slots=True)
class Family:
    """A metric with its samples. Its name ends with its ``unit``, if it has one."""

    name: str
    help: str
    unit: str = ""
    kind: str = "gauge"
    samples: list[tuple[Labels, float]] = field(default_factory=list)

    def add(self, labels: Labels, value: float | None) -> None:
        """Add a sample, unless its value is unknown."""
        if value is not None:
            self.samples.append((labels, value))


def write_openmetrics(document: Document, path: Path | str) -> None:
    """Write a result as OpenMetrics, atomically. Raises InputError if the file cannot be written."""
    write_text(path, openmetrics_text(document))


def openmetrics_text(document: Document) -> str:
    """Return throughput with its interval, latencies, failures and CPU of each cell as OpenMetrics text.

    Labels: ``run``, ``experiment``, ``cell``, ``system``, and ``factor_NAME`` for each factor. Times are in seconds.
    CPU is the number of busy CPUs.
    """
    return exposition(_families(document))


def exposition(families: Iterable[Family]) -> str:
    """Return families as OpenMetrics text, without families that have no samples."""
    return "".join(line + "\n" for family in families if family.samples for line in _lines(family)) + "# EOF\n"


def label_names(factors: Iterable[str]) -> dict[str, str]:
    """Return a distinct label per factor: ``factor_`` and the name, with ``_`` for characters that are not allowed."""
    names: dict[str, str] = {}
    for factor in factors:
        name = stem = "factor_" + _OTHER_CHARACTERS.sub("_", factor)
        number = 2
        while name in names.values():
            name, number = f"{stem}_{number}", number + 1
        names[factor] = name
    return names


def _families(document: Document) -> Iterator[Family]:
    labels = _labels(document)
    cells = [(cell, labels[index]) for index, cell in enumerate(document.cells)]
    yield _about(document)
    yield from _throughput(cells)
    yield from _latencies(cells)
    yield from _transactions(cells)
    yield from _gauges(cells)


def _labels(document: Document) -> list[dict[str, str]]:
    names = label_names(dict.fromkeys(name for cell in document.cells for name in cell.factors))
    run = {"run": document.id, "experiment": document.experiment}
    return [
        run
        | {"cell": cell.id, "system": cell.system.name}
        # The system already has a label.
        | {names[name]: level(value) for name, value in cell.factors.items() if name != "system"}
        for cell in document.cells
    ]


def _about(document: Document) -> Family:
    family = Family("dbdyno_run", "A run of an experiment.", kind="info")
    keys = {"run": "id", "experiment": "experiment", "status": "status", "started": "started", "dbdyno": "dbdyno"}
    family.add({label: str(getattr(document, key)) for label, key in keys.items()}, 1)
    return family


def _throughput(cells: list[tuple[Cell, dict[str, str]]]) -> Iterator[Family]:
    mean = Family("dbdyno_throughput_per_second", "Successes per second, mean of the rounds.", "per_second")
    interval = Family("dbdyno_throughput_ci95_per_second", "The 95 % interval of the throughput.", "per_second")
    for cell, labels in cells:
        # "lookups/s" without "/s", which is part of the metric's name.
        counted = labels | {"counted": counted_unit(cell)}
        seconds = unit_seconds(cell)
        mean.add(counted, cell.throughput.mean and cell.throughput.mean / seconds)
        for bound, value in zip(("low", "high"), cell.throughput.ci95 or (), strict=False):
            interval.add(counted | {"bound": bound}, value / seconds)
    yield mean
    yield interval


def _latencies(cells: list[tuple[Cell, dict[str, str]]]) -> Iterator[Family]:
    quantiles = Family("dbdyno_latency_seconds", "Quantiles of times over all rounds; 1 is the longest.", "seconds")
    mean = Family("dbdyno_latency_mean_seconds", "Means of times over all rounds.", "seconds")
    bounds = Family(
        "dbdyno_latency_at_least", "1: this quantile is a lower bound, since transactions failed or were skipped."
    )
    for cell, labels in cells:
        for times, latency in cell.latency_ms.items():
            of_times = labels | {"times": times}
            for name, quantile in _QUANTILES.items():
                value = getattr(latency, name)
                quantiles.add(of_times | {"quantile": quantile}, None if value is None else value / 1e3)
                if name in latency.at_least:
                    bounds.add(of_times | {"quantile": quantile}, 1)
            mean.add(of_times, None if latency.mean is None else latency.mean / 1e3)
    yield quantiles
    yield mean
    yield bounds


def _transactions(cells: list[tuple[Cell, dict[str, str]]]) -> Iterator[Family]:
    transactions = Family("dbdyno_transactions", "Transactions of all rounds by outcome.")
    failed = Family("dbdyno_failed_transactions", "Transactions of all rounds that failed, by the kind of failure.")
    trials = Family("dbdyno_trials", "Trials by how they ended; done gave a result.")
    for cell, labels in cells:
        for outcome in ("ok", "skipped", "in_flight"):
            of_rounds = [getattr(round_, outcome) for round_ in cell.rounds]
            transactions.add(labels | {"outcome": outcome}, sum(of_rounds))
        transactions.add(labels | {"outcome": "failed"}, sum(cell.failed.values()))
        for kind, count in cell.failed.items():
            failed.add(labels | {"kind": kind}, count)
        statuses = [round_.status for round_ in cell.rounds]
        for status in dict.fromkeys(("done", "failed", *statuses)):
            trials.add(labels | {"status": status}, statuses.count(status))
    yield transactions
    yield failed
    yield trials


def _gauges(cells: list[tuple[Cell, dict[str, str]]]) -> Iterator[Family]:
    """Yield the values of cells that declare a gauge."""
    families: dict[str, Family] = {}
    gauges = [(figure, figure.gauge) for figure in CELL if figure.gauge is not None]
    for cell, labels in cells:
        for figure, gauge in gauges:
            family = families.setdefault(gauge.name, Family(gauge.name, gauge.help, gauge.unit))
            value = as_kind(figure.read(CellRow(labels["run"], cell)), "number")
            family.add({**labels, **gauge.labels}, None if value is None else value / gauge.divisor)
    yield from families.values()


def _lines(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {_escaped(family.help)}"
    name = f"{family.name}_info" if family.kind == "info" else family.name
    for labels, value in family.samples:
        written = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{written}}} {value!r}"


def _escaped(text: str) -> str:
    """Escape backslashes, line ends and quotes, as the format requires. Lone surrogates become question marks."""
    text = text.encode("utf-8", "replace").decode()
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
