"""Growing tables: the size at which throughput falls, and the order of new keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.words import with_interval
from dbdyno.analysis.measured.cell_groups import cells_along, words_of
from dbdyno.analysis.measured.comparisons import Pair, judge
from dbdyno.analysis.measured.data import device_calls, memory_limit, tree
from dbdyno.analysis.measured.keys import ANYWHERE, AT_THE_EDGE, NewKeys
from dbdyno.engines import engine_of_product
from dbdyno.engines.server.facts import size
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import number, part, text
from dbdyno.model.result.shape import Comparison, Finding


@dataclass(frozen=True, slots=True)
class GrowthSeries:
    """The measured cells of a growing table that differ only in its size, smallest first.

    ``where``: the levels of other factors that have several levels in the run.
    """

    where: str
    factor: str
    cells: tuple[Cell, ...]

    def size(self, cell: Cell) -> int:
        """Return the nominal number of rows of a cell."""
        return int(cell.factors[self.factor])

    def rows(self, cell: Cell) -> str:
        """Format the average number of rows at the start of a cell's trials, including rows that trials inserted."""
        rows = float(self.size(cell)) if cell.growth is None else cell.growth.rows
        # Two digits, since the number differs between trials.
        return f"{float(f'{rows:.2g}'):,.0f}"


def series_of(material: Material) -> list[GrowthSeries]:
    """Return the series of a run that have at least two measured sizes."""
    factor = text(part(material.run.design, "growth"), "factor")
    if factor is None:
        return []
    return [
        GrowthSeries(words_of(levels), factor, tuple(sorted(cells, key=lambda cell: int(cell.factors[factor]))))
        for levels, cells in cells_along(material.cells, factor)
    ]


def cache_of(cell: Cell, material: Material) -> tuple[float, str] | None:
    """Return the bytes of memory that can cache a cell's data, and a name for that memory; None if unknown."""
    limit = memory_limit(cell)
    if limit is not None:
        return limit, "its memory limit"
    engine = engine_of_product(cell.system.engine)
    settings = cell.system.settings
    if engine.bypasses_os_cache(settings):
        own = engine.cache_bytes(settings)
        return None if own is None else (own, "its own cache")
    memory = number(material.run.host, "memory_bytes")
    return None if memory is None else (memory, "the machine's memory")


# Throughput has fallen if the upper end of its interval is below this share of the throughput at the smallest size, and
# stays there at all larger sizes. A judgment: smaller losses are normal effects of layouts and caches.
_FALLEN = 0.8
# Device calls per insert that are named as the cause: at least this many, and this many times those before the fall.
_MIN_CALLS = 0.01
_MORE_CALLS = 1.25


@finding(
    "falls as it grows",
    needs=("ratio", "ci95", "before_rows", "rows"),
    meaning="Throughput falls from a certain table size on, and stays lower.",
    remedy="Give the cache more memory, or use keys or partitions that touch fewer pages.",
)
def falls_as_it_grows(material: Material) -> Iterator[Finding]:
    """Report the size from which a series is slower, in rows and relative to its cache, and why."""
    series = series_of(material)
    pairs = [(each, cell) for each in series for cell in each.cells[1:]]
    asked = [Pair(each.cells[0], cell, confidence=material.confidence) for each, cell in pairs]
    made = judge(asked, material.margin, material.family, material.cells)
    compared = {cell.id: one for (_, cell), one in zip(pairs, made, strict=True)}
    for each in series:
        at = _first_fallen([compared[cell.id] for cell in each.cells[1:]])
        if at is not None:
            yield _cliff(each, at, compared[each.cells[at].id], compared[each.cells[-1].id], material)


def _first_fallen(compared: Sequence[Comparison]) -> int | None:
    """Return the index of the first cell from which all have fallen, or None if the last has not."""
    fallen = [
        one.verdict == "slower" and one.ci95 is not None and one.ci95[1] < _FALLEN and not one.lacking
        for one in compared
    ]
    if not fallen or not fallen[-1]:
        return None
    return next(position + 1 for position in range(len(fallen)) if all(fallen[position:]))


def _cliff(series: GrowthSeries, at: int, there: Comparison, last: Comparison, material: Material) -> Finding:
    before, cell, end = series.cells[at - 1], series.cells[at], series.cells[-1]
    label = material.measure.label
    where = f"With {series.where}, {label}" if series.where else label.capitalize()
    words = f"{where} fall between {series.rows(before)} and {series.rows(cell)} rows"
    evidence: dict[str, object] = {
        "ratio": there.ratio,
        "ci95": there.ci95,
        "before_rows": series.size(before),
        "rows": series.size(cell),
    }
    stored, cache = (tree(before), tree(cell)), cache_of(cell, material)
    if stored[0] is not None and stored[1] is not None:
        evidence |= {"before_bytes": stored[0].bytes, "bytes": stored[1].bytes}
        words += f", while the {stored[1].kind} grows from {size(stored[0].bytes)} to {size(stored[1].bytes)}"
        if cache is not None:
            shares = [stored_object.bytes / cache[0] for stored_object in stored if stored_object is not None]
            evidence |= {"cache_bytes": cache[0], "before_share": shares[0], "share": shares[1]}
            words += f", {shares[0]:.2g} to {shares[1]:.2g} times {cache[1]}"
    words += f": to {with_interval(there, 2)} of the rate at {series.rows(series.cells[0])} rows"
    words += f", and at {series.rows(end)} rows to {with_interval(last, 2)}." if cell is not end else "."
    limits = _what_limits(before, end)
    return falls_as_it_grows.found(words + limits, [each.id for each in series.cells[at:]], evidence)


def _what_limits(before: Cell, end: Cell) -> str:
    """Return a sentence about an insert's device requests at the largest size and before the fall."""
    clauses = []
    for word in ("reads", "writes", "flushes"):
        first, last = device_calls(before, word), device_calls(end, word)
        if first is not None and last is not None and last >= _MIN_CALLS and last > _MORE_CALLS * first:
            clauses.append(f"{last:.2g} {word} ({first:.2g} before)")
    words = f" At the largest size, an insert causes {', '.join(clauses)} on the device." if clauses else ""
    if end.bottleneck is not None:
        words += f" The bottleneck at that size is {end.bottleneck.resource}."
    return words


# The cost of each kind of key, by its name in plans.
_COSTS = {
    "v7": "reveals its creation time",
    "v7_monotonic": "reveals its creation time",
    "ulid": "reveals its creation time",
    "serial": "reveals the number of rows and needs a central counter",
    "time_blocked": "has a prefix that repeats, so that new keys fall between older keys with the same prefix",
    "sequence_blocked": "has a prefix that repeats, so that new keys fall between older keys with the same prefix",
}


@finding(
    "key order",
    needs=("ratio", "ci95", "rows", "keys"),
    meaning="At the largest table size, ordered keys are faster than random keys.",
    remedy="Use ordered keys if you can accept the costs that the finding lists.",
)
def key_order(material: Material) -> Iterator[Finding]:
    """Compare ordered with random keys if the run's comparisons show that ordered keys are faster."""
    ends = {series.cells[-1].id: series.size(series.cells[-1]) for series in series_of(material)}
    largest = max(ends.values(), default=0)
    cells = {cell.id: cell for cell in material.cells}
    for random in (cell for cell in material.cells if ends.get(cell.id) == largest):
        if NewKeys.of(material.tasks.get(random.id)).kind not in ANYWHERE:
            continue
        faster = [
            (one, cells[one.b], kind)
            for one in material.comparisons
            if one.a == random.id and one.verdict == "faster" and one.ratio and one.ci95
            if ends.get(one.b) == largest
            if (kind := NewKeys.of(material.tasks.get(one.b)).kind) in _COSTS
        ]
        if faster:
            yield _key_order(random, faster, largest, material)


def _key_order(random: Cell, faster: list[tuple[Comparison, Cell, str]], rows: int, material: Material) -> Finding:
    label = material.measure.label
    clauses = [f"{_differing_levels(cell, random)} {with_interval(one)}" for one, cell, _ in faster]
    own = _differing_levels(random, faster[0][1])
    words = f"At {rows:,} rows, ordered keys reach more {label} than {own}: {', '.join(clauses)} times as many."
    costs: dict[str, list[str]] = {}
    for _, cell, kind in faster:
        costs.setdefault(_COSTS[kind], []).append(_differing_levels(cell, random))
    words += " Costs: " + ". ".join(f"{' and '.join(names)} {cost}" for cost, names in costs.items()) + "."
    if any(kind in AT_THE_EDGE for _, _, kind in faster):
        words += " Concurrent inserts contend for the rightmost page of the index."
    best = max((one for one, _, _ in faster), key=lambda one: one.ratio or 0.0)
    keys = {cell.id: kind for _, cell, kind in faster}
    evidence = {"ratio": best.ratio, "ci95": best.ci95, "rows": rows, "keys": keys}
    return key_order.found(words, [random.id, *keys], evidence)


def _differing_levels(cell: Cell, other: Cell) -> str:
    """Return the levels in which a cell differs from another one."""
    return " ".join(str(level) for name, level in cell.factors.items() if other.factors.get(name) != level)
