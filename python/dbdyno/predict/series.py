"""What a stored run shows of growing tables, as far as a prediction can rest on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.document import Document
from dbdyno.document.cell import Cell, StoredObject
from dbdyno.document.reading import JsonObject, mean, number, text
from dbdyno.engines import engine_of_product
from dbdyno.engines.btree import BtreeRules
from dbdyno.errors import InputError
from dbdyno.findings.alike import cells_along
from dbdyno.results.data import asked_of_device, tree
from dbdyno.results.keys import NewKeys

# How full leaves are, where the engine does not tell: the limit of splits in the middle (Yao, 1978), and what nbtree
# leaves at the right edge.
_USUAL_FILL = {True: 0.69, False: 0.9}


@dataclass(frozen=True)
class Observed:
    """A size as it was measured; all figures are of one insert, null where nobody counted.

    ``rows``: in the middle of the windows; ``level``: by which the size is called; ``seconds``: of a client's time, one
    for each window; ``cpu_s``: of client and server together.
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


@dataclass(frozen=True)
class KeySeries:
    """The sizes of one table as it grew with one kind of key.

    ``entry_bytes``: an entry's in a leaf; ``other_pages``: pages that an insert fills beside the index;
    ``memory_bytes``: what the system could use, with the kernel's cache of its files; ``cached_by_system``: whether the
    kernel caches them.
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
    other_pages: float
    index: bool
    observed: tuple[Observed, ...]

    def up_to(self, level: int | None) -> KeySeries:
        """Give it with the sizes up to one only."""
        kept = tuple(each for each in self.observed if level is None or each.level <= level)
        return replace(self, observed=kept)

    @property
    def record_bytes(self) -> float:
        """Bytes that an insert logs, without images of pages."""
        if self.rules.commits_log_pages:
            return (2.0 if self.index else 1.0) * self.rules.page_bytes
        logged = [each.log_bytes - each.page_images * self.rules.page_bytes for each in self.observed if each.log_bytes]
        return max(1.0, min(logged, default=1.0))


def read_series(document: Document, tasks: Mapping[str, JsonObject], growth: JsonObject) -> list[KeySeries]:
    """Read a run of a growing table; ``tasks``: of the cells, by their ids. Raises InputError."""
    factor = text(growth, "factor")
    place = f"run {document['id']}"
    if factor is None:
        problem = f"`{document['experiment']}` has no table that grows, so there is nothing to predict from"
        raise InputError(place, problem, "`dbdyno predict key-order`, or an experiment with `growth`")
    found: list[KeySeries] = []
    reasons: list[str] = []
    along = list(cells_along(document["cells"], factor))
    firsts = [cells[0]["factors"] for _, cells in along]
    several = [name for name in (firsts or [{}])[0] if name != factor and len({each.get(name) for each in firsts}) > 1]
    for _, cells in along:
        ordered = sorted(cells, key=lambda cell: int(cell["factors"][factor]))
        one = _series(document, several, factor, ordered, tasks)
        if isinstance(one, KeySeries):
            found.append(one)
        else:
            reasons.append(one)
    if not found:
        problem = reasons[0] if reasons else "fewer than two sizes of it were measured"
        raise InputError(place, problem, "calibrate with an index on the key, and at least two sizes")
    return found


def _series(
    document: Document, several: Sequence[str], factor: str, cells: Sequence[Cell], tasks: Mapping[str, JsonObject]
) -> KeySeries | str:
    """Read the cells of one series; else say what is lacking, a clause. ``several``: factors that tell series apart."""
    last = cells[-1]
    product, stored = last["system"]["engine"], tree(last)
    by = document["report"].get("by")
    name = _name({each: level for each, level in last["factors"].items() if each in (several or [str(by)])})
    keys = NewKeys.of(tasks.get(last["id"], {}))
    if not keys.kind:
        return f"{name}: what is inserted has no key of a kind that is known"
    if stored is None:
        return f"{name}: the size of the index was not looked at"
    engine = engine_of_product(product)
    settings = {each: str(value) for each, value in last["system"]["settings"].items()}
    rules = engine.btree(settings, stored["kind"])
    if rules is None:
        return f"{name}: how {engine.title or product} keeps a {stored['kind']} is not known"
    limit = last["memory_limit"]
    host = number(document["host"], "memory_bytes")
    memory = float(limit["bytes"]) if limit is not None and limit["refused"] is None else host
    if memory is None:
        return f"{name}: it is not known how much memory there is"
    entry = _entry_bytes(last, stored, rules, random=keys.kind == "v4")
    if entry is None:
        return f"{name}: it is not known how many rows the index had"
    rest = sum(each["bytes"] for each in last["space"] if each["name"] != stored["name"])
    return KeySeries(
        name=name,
        factors={each: level for each, level in last["factors"].items() if each != factor},
        product=product or "",
        keys=keys,
        rules=rules,
        clients=int(last["factors"].get("clients") or 1),
        memory_bytes=memory,
        cached_by_system=not engine.passes_os_cache_by(settings),
        entry_bytes=entry,
        other_pages=rest / rules.page_bytes / _rows_at_end(last),
        index=stored["kind"] == "index",
        observed=tuple(_observed(cell, factor) for cell in cells),
    )


def _name(levels: Mapping[str, Any]) -> str:
    """Give levels as a name: words by themselves, numbers with what they are."""
    return ", ".join(level if isinstance(level, str) else f"{name}={level}" for name, level in levels.items()) or "all"


def _rows_at_end(cell: Cell) -> float:
    """Give the rows that there were when the data were looked at; 0: not known."""
    growth = cell["growth"]
    return 0.0 if growth is None else growth["last_rows"] + (cell["rounds"][-1]["completed"] or 0)


def _entry_bytes(cell: Cell, stored: StoredObject, rules: BtreeRules, *, random: bool) -> int | None:
    rows = _rows_at_end(cell)
    if not rows:
        return None
    leaves = stored["leaves"] or stored["bytes"] / rules.page_bytes
    fill = stored["leaf_fill"] or _USUAL_FILL[random]
    return max(1, round(fill * rules.leaf_bytes * leaves / rows))


def _observed(cell: Cell, factor: str) -> Observed:
    rates = [each["throughput"] for each in cell["rounds"] if each["throughput"]]
    clients = float(cell["factors"].get("clients") or 1)
    throughput = cell["throughput"]["mean"] or 0.0
    counters = cell["observed"]["counters"]
    own = cell["io_per_transaction"]["cache_misses"]
    cpu, growth = cell["cpu_percent"], cell["growth"]
    busy = sum(each for each in (cpu["client"], cpu["server"]) if each is not None)
    inserted = mean(each["completed"] for each in cell["rounds"]) or 0.0
    return Observed(
        level=int(cell["factors"][factor]),
        rows=(float(cell["factors"][factor]) if growth is None else growth["rows"]) + inserted / 2.0,
        seconds=tuple(clients / rate for rate in rates),
        throughput=throughput,
        ci95=cell["throughput"]["ci95"],
        misses=own if own is not None else counters.get("pages_read"),
        device_reads=asked_of_device(cell, "reads"),
        log_bytes=counters.get("log_bytes"),
        page_images=counters.get("page_images") or 0.0,
        cpu_s=busy / 100.0 / throughput if busy and throughput else None,
    )
