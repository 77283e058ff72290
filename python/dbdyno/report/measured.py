"""A one-line description of the measurement: systems, clients, writing transactions, durability and time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import PurePath

from dbdyno.analysis.answer.short import AS_IT_IS, SYSTEM
from dbdyno.analysis.answer.words import offered_rate
from dbdyno.analysis.findings.settings import writes_allowed
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.metrics import done
from dbdyno.base.errors import InputError
from dbdyno.base.numbers import duration, figure, level, percent
from dbdyno.engines import engine_of_product
from dbdyno.engines.durability_classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.engines.url import parse_url
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import number
from dbdyno.model.result.shape import Document

_MAX_SYSTEMS = 4
_DURABLE = {POWER_SAFE: "commits survive power loss", PROCESS_SAFE: "commits survive a crash of the process"}


def measured_line(document: Document) -> str:
    """Return the description of the measurement, its parts separated by dots. Unknown parts are left out."""
    # The cells of a `why` are one cell and its changes.
    own = [cell for cell in document.cells if document.why is None or cell.id == document.why.unchanged]
    cells = [cell for cell in own if done(cell)] or own
    parts = [_systems(cells), _clients(cells), _mix(document, cells), _durability(cells), time_measured(document)]
    return " · ".join(part for part in parts if part)


def _systems(cells: list[Cell]) -> str:
    names = list(dict.fromkeys(_system(cell) for cell in cells))
    return ", ".join(names) if len(names) <= _MAX_SYSTEMS else f"{len(names)} systems"


def _system(cell: Cell) -> str:
    system = cell.system
    name = system.engine or ""
    title = engine_of_product(system.engine).title
    version = (system.version or "").partition(" ")[0]
    product = " ".join(each for each in (title if title.lower() == name.lower() else name, version) if each)
    try:
        spec = parse_url(system.name)
    except InputError:
        return product
    if spec.host or not spec.database:
        return product
    size = number(system.catalog, "data_bytes")
    return f"{product} {PurePath(spec.database).name}" + (f" ({figure(size / 1e6)} MB)" if size else "")


def _clients(cells: list[Cell]) -> str:
    """Return the numbers of clients, or the rates of open loops."""
    offered = sorted({float(f"{rate:.2g}") for cell in cells if (rate := offered_rate(cell)) is not None})
    if offered:
        return f"{_from_to(offered)} arrivals/s"
    known = {count for cell in cells for round_ in done(cell) if (count := number(round_.window, "clients"))}
    if not known:
        return ""
    processes = "processes" in {str(cell.factors.get("clients_as")) for cell in cells}
    name = "process" if processes else "client"
    plural = "es" if processes else "s"
    return f"{_from_to(sorted(map(int, known)))} {name}{plural if known != {1} else ''}"


def _from_to(values: Sequence[float]) -> str:
    return " to ".join(f"{each:,.15g}" for each in dict.fromkeys((values[0], values[-1])))


def _mix(document: Document, cells: list[Cell]) -> str:
    """Return the share of transactions that change rows. Such a transaction may also read.

    Empty if only a query may write, because it calls a function.
    """
    seen = [cell for cell in cells if engine_of_product(cell.system.engine).shows_changes]
    rounds = [round_ for cell in seen for round_ in done(cell) if round_.transactions_changing is not None]
    completed = sum(round_.completed for round_ in rounds)
    if not completed:
        return ""
    writing = sum(round_.transactions_changing or 0 for round_ in rounds)
    if not writing:
        may_write = any(finding.kind == writes_allowed.name for finding in document.findings)
        return "" if may_write else "only reads"
    if writing == completed:
        return "every transaction writes"
    return f"{percent(writing / completed)} of transactions write"


def _durability(cells: list[Cell]) -> str:
    if not any(round_.rows_changed for cell in cells for round_ in done(cell)):
        return ""
    classes = {class_of(cell) for cell in cells}
    return _DURABLE.get(classes.pop() or "", "") if len(classes) == 1 else ""


def time_measured(document: Document) -> str:
    """Return the time of all windows and of the run, such as ``measured 14 of 20 s``; empty if the run hasn't ended."""
    if not document.ended:
        return ""
    try:
        span = datetime.fromisoformat(document.ended) - datetime.fromisoformat(document.started)
    except ValueError:
        return ""
    windows_s = sum(round_.elapsed_s or 0.0 for cell in document.cells for round_ in cell.rounds)
    run_s = span.total_seconds()
    measured, whole = duration(min(windows_s, run_s)), duration(run_s)
    # Write a common unit only once.
    number, _, unit = measured.partition(" ")
    short = number if whole.endswith(f" {unit}") and whole.count(" ") == measured.count(" ") == 1 else measured
    return f"measured {short} of {whole}"


def legend(document: Document, shown: Collection[str]) -> list[str]:
    """Return one line per shown configuration whose name does not contain all its levels."""
    configurations = document.answer.configurations
    if not configurations or len(configurations[0].levels) <= 1:
        return []
    systems = document.answer.systems

    def levels(each: dict[str, object]) -> str:
        return " ".join(
            systems.get(str(value), str(value)) if name == SYSTEM else f"{name}={level(value)}"
            for name, value in each.items()
        )

    unclear = [
        configuration
        for configuration in configurations
        if configuration.name == AS_IT_IS or "…" in configuration.name or configuration.name[:3] == "all"
    ]
    unclear = [configuration for configuration in unclear if configuration.name in shown]
    return [f"{configuration.name}: {levels(configuration.levels)}" for configuration in unclear]
