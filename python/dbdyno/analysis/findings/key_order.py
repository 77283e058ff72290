"""Which order of new keys keeps its rate at the largest size of a growing table, and what that order costs."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.growing import series_of
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.words import with_interval
from dbdyno.analysis.measured.keys import ANYWHERE, AT_THE_EDGE, NewKeys
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Comparison, Finding

KEY_ORDER = Kind("key order", ("ratio", "ci95", "rows", "keys"))

# What a kind of key gives away or asks for, by how a plan calls it.
_COSTS = {
    "v7": "tells when it was made",
    "v7_monotonic": "tells when it was made",
    "ulid": "tells when it was made",
    "serial": "tells how many there are, and one place hands it out",
    "time_blocked": "has a prefix that begins again, and then goes among the old keys of its prefix",
    "sequence_blocked": "has a prefix that begins again, and then goes among the old keys of its prefix",
}


def key_order(material: Material) -> Iterator[Finding]:
    """Compare ordered keys with random ones, where the run's own comparisons have shown that they are faster."""
    ends = {each.cells[-1]["id"]: each.size(each.cells[-1]) for each in series_of(material)}
    largest = max(ends.values(), default=0)
    cells = {cell["id"]: cell for cell in material.cells}
    for random in (cell for cell in material.cells if ends.get(cell["id"]) == largest):
        if NewKeys.of(material.tasks.get(random["id"], {})).kind not in ANYWHERE:
            continue
        faster = [
            (one, cells[one["b"]], kind)
            for one in material.comparisons
            if one["a"] == random["id"] and one["verdict"] == "faster" and one["ratio"] and one["ci95"]
            if ends.get(one["b"]) == largest
            if (kind := NewKeys.of(material.tasks.get(one["b"], {})).kind) in _COSTS
        ]
        if faster:
            yield _found(random, faster, largest, material)


def _found(random: Cell, faster: list[tuple[Comparison, Cell, str]], rows: int, material: Material) -> Finding:
    label = material.measure.label
    told = [f"{_name(cell, random)} {with_interval(one)}" for one, cell, _ in faster]
    own = _name(random, faster[0][1])
    words = f"At {rows:,} rows, keys in order make more {label} than {own}: {', '.join(told)} times as many."
    costs: dict[str, list[str]] = {}
    for _, cell, kind in faster:
        costs.setdefault(_COSTS[kind], []).append(_name(cell, random))
    words += " What they cost: " + ". ".join(f"{' and '.join(names)} {cost}" for cost, names in costs.items()) + "."
    if any(kind in AT_THE_EDGE for _, _, kind in faster):
        words += " Clients that insert at the same time meet at the right end of the index."
    best = max((one for one, _, _ in faster), key=lambda one: one["ratio"] or 0.0)
    keys = {cell["id"]: kind for _, cell, kind in faster}
    evidence = {"ratio": best["ratio"], "ci95": best["ci95"], "rows": rows, "keys": keys}
    return KEY_ORDER.found(words, [random["id"], *keys], evidence)


def _name(cell: Cell, other: Cell) -> str:
    """Give the levels in which a cell differs from another."""
    return " ".join(str(level) for name, level in cell["factors"].items() if other["factors"].get(name) != level)


RULE = Rule(key_order, (KEY_ORDER,))
