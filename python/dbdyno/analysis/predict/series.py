"""Read the series of a stored run with growing tables from which a prediction can be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from dbdyno.analysis.measured.cell_groups import cells_along
from dbdyno.analysis.measured.data import device_calls, memory_limit, tree
from dbdyno.analysis.measured.keys import ANYWHERE, NewKeys
from dbdyno.analysis.measured.metrics import unit_seconds
from dbdyno.analysis.predict.stored import Calibration
from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of_product
from dbdyno.engines.btree import BtreeRules
from dbdyno.model.result import Document
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import count, mean, number, objects, text

# Fill of leaves if the engine doesn't report it: the limit of splits in the middle (Yao, 1978), and the fill that
# nbtree leaves at the right edge.
_USUAL_FILL = {True: 0.69, False: 0.9}
_MIN_SIZES = 2
# Logged page images per insert by which sizes must differ to determine the size of an image in the log.
_IMAGE_DIFFERENCE = 0.1


@dataclass(frozen=True)
class Observed:
    """The measurements at one size. Figures are per insert, None if unknown.

    ``rows``: in the middle of the windows; ``level``: nominal size in rows; ``seconds``: client time per window;
    ``cpu_s``: CPU time of client and server together; ``client_cpu_s``: CPU time of the client of a server, which does
    the same work at each size.
    """

    level: int
    rows: float
    seconds: tuple[float, ...]
    throughput: float
    ci95: list[float] | None
    misses: float | None
    device_reads: float | None
    log_bytes: float | None
    page_images: float
    cpu_s: float | None
    client_cpu_s: float | None


@dataclass(frozen=True)
class KeySeries:
    """The measured sizes of one table that grew with one kind of key.

    ``entry_bytes``: size of an entry in a leaf; ``fill``: filled share of the leaves; ``other_pages``: pages per insert
    outside the index; ``memory_bytes``: memory available to the system, the kernel's cache of its files included;
    ``cached_by_system``: whether the kernel caches its files.
    """

    name: str
    factors: Mapping[str, Any]
    product: str
    keys: NewKeys
    rules: BtreeRules
    clients: int
    memory_bytes: float
    cached_by_system: bool
    entry_bytes: int
    fill: float
    other_pages: float
    index: bool
    observed: tuple[Observed, ...]

    @property
    def image_bytes(self) -> float:
        """Bytes of a page image in the log: measured if possible, otherwise the filled part; 0 without page images."""
        if not self.rules.page_images:
            return 0.0
        logged = [observed for observed in self.observed if observed.log_bytes]
        images = attrgetter("page_images")
        few, many = min(logged, key=images, default=None), max(logged, key=images, default=None)
        if few is None or many is None or many.page_images - few.page_images < _IMAGE_DIFFERENCE:
            return self.fill * self.rules.page_bytes
        grown = ((many.log_bytes or 0.0) - (few.log_bytes or 0.0)) / (many.page_images - few.page_images)
        return min(max(grown, 0.0), float(self.rules.page_bytes))

    @property
    def record_bytes(self) -> float:
        """Bytes logged per insert, without page images."""
        if self.rules.commits_log_pages:
            return (2.0 if self.index else 1.0) * self.rules.page_bytes
        logged = [
            observed.log_bytes - observed.page_images * self.image_bytes
            for observed in self.observed
            if observed.log_bytes
        ]
        return max(1.0, min(logged, default=1.0))


@dataclass(frozen=True)
class Read:
    """The series of a run, and the ones that can't be used, each a clause with the reason."""

    series: list[KeySeries]
    left_out: list[str]


def read_series(calibration: Calibration, up_to: int | None = None) -> Read:
    """Read a run of a growing table. ``up_to``: the largest size in rows to use. Raises InputError."""
    document = calibration.document
    factor = text(document.growth, "factor")
    location = f"run {document.id}"
    if factor is None:
        problem = f"`{document.experiment}` has no growing table to predict from"
        raise InputError(location, problem, "use `dbdyno predict key-order`, or an experiment with `growth`")
    by = document.report.get("by")
    series, left_out = [], []
    for levels, measured in cells_along(document.cells, factor):
        ordered = sorted(measured, key=lambda cell: int(cell.factors[factor]))
        cells = [cell for cell in ordered if up_to is None or int(cell.factors[factor]) <= up_to]
        if not cells:
            continue
        name = _name(levels or {each: level for each, level in cells[0].factors.items() if each == by})
        one = _series(calibration, name, factor, cells)
        if isinstance(one, KeySeries):
            series.append(one)
        else:
            left_out.append(f"{name}: {one}")
    if not series:
        problem = left_out[0] if left_out else "fewer than two sizes were measured"
        raise InputError(location, problem, "calibrate with an index on the key, and at least two sizes")
    return Read(series, left_out)


def _series(calibration: Calibration, name: str, factor: str, cells: Sequence[Cell]) -> KeySeries | str:
    """Return the series of some cells, or the reason why it can't be used, a clause."""
    # Space is measured after the last window of a size, so the last cells of an interrupted run may lack it.
    last = next((cell for cell in reversed(cells) if cell.space), cells[-1])
    product, stored = last.system.engine, tree(last)
    keys = NewKeys.of(calibration.tasks.get(last.id))
    engine = engine_of_product(product)
    lacking = {
        "at least two sizes are needed": len(cells) < _MIN_SIZES,
        "the kind of the inserted keys is unknown": not keys.kind,
        "each transaction must be one statement that inserts one row": not all(map(_is_an_insert, cells)),
        "the size of the index was not measured": stored is None,
        "there is no index on the key": stored is not None
        and stored.kind == "table"
        and keys.kind != "serial"
        and not _has_index(last, stored.table),
        "dbdyno did not start the server, so its memory, device and CPUs are unknown": engine.is_server
        and last.cpu_percent.server is None,
        "its indexes are not on the probed device": _indexes_elsewhere(calibration.document, last),
    }
    problem = next((words for words, applies in lacking.items() if applies), None)
    if problem is not None or stored is None:
        return problem or ""
    settings = {each: str(value) for each, value in last.system.settings.items()}
    rules = engine.btree(settings, stored.kind, numbered=keys.kind == "serial")
    if rules is None:
        return f"the layout of a {stored.kind} of {engine.title or product} with these settings is unknown"
    memory = memory_limit(last) or number(calibration.document.host, "memory_bytes")
    rows = 0.0 if last.growth is None else last.growth.end_rows
    if memory is None or not rows:
        return "the memory or the number of rows is unknown"
    leaves = stored.leaves or stored.bytes / rules.page_bytes
    fill = stored.leaf_fill or _USUAL_FILL[keys.kind in ANYWHERE]
    rest = sum(stored_object.bytes for stored_object in last.space if stored_object.name != stored.name)
    return KeySeries(
        name=name,
        factors={each: level for each, level in last.factors.items() if each != factor},
        product=product or "",
        keys=keys,
        rules=rules,
        clients=_clients(last),
        memory_bytes=memory,
        cached_by_system=not engine.bypasses_os_cache(settings),
        entry_bytes=max(1, round(fill * rules.leaf_bytes * leaves / rows)),
        fill=fill,
        other_pages=rest / rules.page_bytes / rows,
        index=stored.kind == "index",
        observed=tuple(_observed(cell, factor, one_writer=rules.one_writer) for cell in cells),
    )


def _name(levels: Mapping[str, Any]) -> str:
    """Return levels as a name: strings alone, other values with the name of their factor."""
    return ", ".join(level if isinstance(level, str) else f"{name}={level}" for name, level in levels.items()) or "all"


def _indexes_elsewhere(document: Document, cell: Cell) -> bool:
    findings = [finding for finding in document.findings if finding.kind == "indexes on another device"]
    return any(cell.id in finding.cells for finding in findings)


def _clients(cell: Cell) -> int:
    return max((count(round_.window or {}, "clients") or 1 for round_ in cell.rounds), default=1)


def _is_an_insert(cell: Cell) -> bool:
    """Whether each transaction of a cell's rounds was one statement that changed one row."""
    rounds = [round_ for round_ in cell.rounds if round_.completed]
    return bool(rounds) and all(round_.statements == round_.completed == round_.rows_changed for round_ in rounds)


def _has_index(cell: Cell, table: str) -> bool:
    """Whether the catalog contains an index of a table, or doesn't contain the table at all."""
    tables = [each for each in objects(cell.system.catalog.get("tables")) if each.get("name") == table]
    return not tables or any(objects(each.get("indexes")) for each in tables)


def _observed(cell: Cell, factor: str, *, one_writer: bool) -> Observed:
    # Predictions are per second.
    rates = [round_.throughput / unit_seconds(cell) for round_ in cell.rounds if round_.throughput]
    at_once = 1 if one_writer else _clients(cell)
    throughput = (cell.throughput.mean or 0.0) / unit_seconds(cell)
    counters = cell.observed.counters
    own = cell.io_per_transaction["cache_misses"]
    cpu, growth = cell.cpu_percent, cell.growth
    busy = sum(each for each in (cpu.client, cpu.server) if each is not None)
    inserted = mean(round_.completed for round_ in cell.rounds) or 0.0
    return Observed(
        level=int(cell.factors[factor]),
        rows=(float(cell.factors[factor]) if growth is None else growth.rows) + inserted / 2.0,
        seconds=tuple(at_once / rate for rate in rates),
        throughput=throughput,
        ci95=cell.throughput.ci95 and [each / unit_seconds(cell) for each in cell.throughput.ci95],
        misses=own if own is not None else counters.get("pages_read"),
        device_reads=device_calls(cell, "reads"),
        log_bytes=counters.get("log_bytes"),
        page_images=counters.get("page_images") or 0.0,
        cpu_s=busy / 100.0 / throughput if busy and throughput else None,
        client_cpu_s=cpu.client / 100.0 / throughput if cpu.client and cpu.server is not None and throughput else None,
    )
