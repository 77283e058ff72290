"""What a transaction costs a database, in a run or in a replay: CPU time, file operations, log, cache hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.analysis.measured.metrics import done
from dbdyno.base.numbers import figure, percent, time_words
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import count, part, ratio

# Counts to show. Embedded databases have `write_bytes`, servers `log_bytes`.
_SHOWN = {
    "syncs": "syncs",
    "read_bytes": "bytes read",
    "pages_read": "pages read",
    "write_bytes": "bytes written",
    "log_bytes": "log bytes",
    "page_images": "page images",
}
# Names of cache hits and misses.
_CACHES = (("cache_hits", "cache_misses"), ("pages_found", "pages_read"))


@dataclass(frozen=True)
class SystemCost:
    """Costs per transaction. ``cpu_ms``: of the server, or of the threads that use an embedded database.

    ``counters``: counts by name. ``cache_hits``: their share of all page accesses. None: unknown.
    """

    cpu_ms: float | None
    counters: Mapping[str, float]
    cache_hits: float | None

    @property
    def words(self) -> list[str]:
        """The costs in words."""
        shown = [] if self.cpu_ms is None else [f"CPU {time_words(self.cpu_ms)}"]
        shown += [f"{figure(self.counters[name])} {words}" for name, words in _SHOWN.items() if name in self.counters]
        return shown if self.cache_hits is None else [*shown, f"cache hits {percent(self.cache_hits)}"]


def cost_per_transaction(cpu_s: float | None, counters: Mapping[str, float], transactions: float) -> SystemCost:
    """Return the cost of each transaction. ``cpu_s``, ``counters``: of all transactions."""
    each = {name: value / transactions for name, value in counters.items()} if transactions else {}
    cpu_ms = cpu_s / transactions * 1e3 if cpu_s is not None and transactions else None
    return SystemCost(cpu_ms, each, _cache_hits(each))


def cost_of_cell(cell: Cell) -> SystemCost:
    """Return the cost of each successful transaction of a cell; failed ones add to it."""
    counters = {name: value for name, value in cell.io_per_transaction.items() if value is not None}
    observed = [each.observed for each in done(cell)]
    sums: Counter[str] = Counter()
    for each in observed:
        sums.update({name: value for name, value in part(each, "counters").items() if isinstance(value, int | float)})
    acknowledged = sum(count(each, "acknowledged") or 0 for each in observed)
    if acknowledged:
        counters |= {name: value / acknowledged for name, value in sums.items()}
    return SystemCost(_cpu_ms(cell), counters, _cache_hits(counters))


def compared_costs(a: SystemCost, b: SystemCost) -> list[str]:
    """Return the costs that both sides have, as ``syncs 1 → 1.02``."""
    shown = []
    if a.cpu_ms is not None and b.cpu_ms is not None:
        shown.append(f"CPU {time_words(a.cpu_ms)} → {time_words(b.cpu_ms)}")
    for name, words in _SHOWN.items():
        if name in a.counters and name in b.counters:
            shown.append(f"{words} {figure(a.counters[name])} → {figure(b.counters[name])}")
    if a.cache_hits is not None and b.cache_hits is not None:
        shown.append(f"cache hits {percent(a.cache_hits)} → {percent(b.cache_hits)}")
    return shown


def _cpu_ms(cell: Cell) -> float | None:
    rounds = done(cell)
    transactions = sum(each.completed for each in rounds)
    if not transactions:
        return None
    if cell.cpu_percent.server is None:
        # Its threads do the database's work if it is embedded. The CPU of a server elsewhere is unknown.
        is_embedded = cell.io_per_transaction.get("syncs") is not None
        seconds = cell.time.cpu_s if cell.time is not None and is_embedded else None
    else:
        seconds = sum((each.cpu_percent.server or 0.0) / 100 * (each.elapsed_s or 0.0) for each in rounds)
    return None if seconds is None else seconds / transactions * 1e3


def _cache_hits(counters: Mapping[str, float]) -> float | None:
    for hits, misses in _CACHES:
        if hits in counters and misses in counters:
            return ratio(counters[hits], counters[hits] + counters[misses])
    return None
