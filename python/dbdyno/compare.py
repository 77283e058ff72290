"""Comparing cells of stored runs: what differs between them first, then the ratios and what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbdyno.errors import InputError
from dbdyno.experiment.mistakes import nearest
from dbdyno.results.cell_document import Cell
from dbdyno.results.comparing import by_block, decided, differences
from dbdyno.results.document import Comparison, Document
from dbdyno.stats import MARGIN, paired_ratio, unpaired_ratio

METRICS = ("throughput", "instructions", "p50", "p90", "p99", "p99_9", "mean", "max")
"""Throughput, instructions, and the percentiles, mean and maximum of the service time."""

# Facts about a host that make it another machine.
_MACHINE = ("cpu", "cores", "machine")
_GIB = 1 << 30


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run, and where one was named a cell of it."""

    document: Document
    cell: str | None = None


@dataclass(frozen=True)
class Difference:
    """Something that is not the same on both sides."""

    what: str
    a: str
    b: str


@dataclass(frozen=True)
class Compared:
    """Two sides, what differs between them, and the comparisons of their cells.

    ``unlike``: reasons for which nothing is ranked; ``weaker``: what makes the verdicts weaker than they look.
    """

    a: Document
    b: Document
    metric: str
    differences: list[Difference]
    comparisons: list[Comparison]
    unlike: list[str] = field(default_factory=list)
    weaker: list[str] = field(default_factory=list)


def compare(
    a: Side, b: Side, *, margin: float = MARGIN, metric: str = "throughput", across_machines: bool = False
) -> Compared:
    """Compare b with a: the cells named, or all that both runs have. Raises InputError where there are none.

    Cells of one run are compared within its blocks; cells of two runs have no block in common, so whatever drifted
    between the runs is part of the ratio.
    """
    if metric not in METRICS:
        raise InputError("--metric", f"there is no metric `{metric}`", nearest(metric, METRICS))
    pairs = _pairs(a, b)
    same_run = a.document["id"] == b.document["id"]
    unlike, weaker = [], []
    if not same_run:
        if _machine(a.document) != _machine(b.document) and not across_machines:
            unlike.append("the runs are of different machines (`--across-machines` ranks them all the same)")
        weaker.append(
            "the runs were made at different times: what drifted between them is in the ratio; "
            "`dbdyno run --system A --system B` measures both in turn"
        )
    if a.document["measure"] != b.document["measure"] and metric == "throughput":
        unlike.append("the runs count different things")
    ratios = [
        paired_ratio(_values(x, metric), _values(y, metric))
        if same_run
        else unpaired_ratio(list(_values(x, metric).values()), list(_values(y, metric).values()))
        for x, y in pairs
    ]
    apart = [[*unlike, *differences(x, y)] for x, y in pairs]
    names = [(x["id"], y["id"]) for x, y in pairs]
    made = decided(names, ratios, apart, margin, metric)
    return Compared(a.document, b.document, metric, _differences(a.document, b.document, pairs), made, unlike, weaker)


def _values(cell: Cell, metric: str) -> dict[int, float]:
    """Return the metric of each block that gave one."""
    if metric == "throughput":
        return by_block(cell)
    values: dict[int, float] = {}
    if metric == "instructions":
        return {each["block"]: each["instructions"] for each in cell["rounds"] if each["instructions"]}
    for each in cell["rounds"]:
        latency: Mapping[str, Any] = each["latency_ms"].get("service") or {}
        value = latency.get(metric)
        if each["status"] == "done" and value:
            values[each["block"]] = float(value)
    return values


def _pairs(a: Side, b: Side) -> list[tuple[Cell, Cell]]:
    if a.cell is not None or b.cell is not None:
        return [(_cell(a, b), _cell(b, a))]
    if a.document["id"] == b.document["id"]:
        raise InputError(
            a.document["id"], "a run cannot be compared with itself", "name cells: `RUN/threads=1 RUN/threads=2`"
        )
    of_b = {cell["id"]: cell for cell in b.document["cells"]}
    pairs = [(cell, of_b[cell["id"]]) for cell in a.document["cells"] if cell["id"] in of_b]
    if not pairs:
        problem = f"{a.document['id']} and {b.document['id']} have no cell in common"
        raise InputError("compare", problem, "name the cells: `RUN_A/CELL RUN_B/CELL`")
    return pairs


def _cell(side: Side, other: Side) -> Cell:
    name = side.cell if side.cell is not None else other.cell
    cells = {cell["id"]: cell for cell in side.document["cells"]}
    if name in cells:
        return cells[name]
    matching = [cell for key, cell in cells.items() if set(str(name).split(",")) <= set(key.split(","))]
    if len(matching) == 1:
        return matching[0]
    place = f"{side.document['id']}/{name}"
    if matching:
        names = ", ".join(f"`{cell['id']}`" for cell in matching[:4])
        raise InputError(place, "several cells fit", f"name one of {names}")
    raise InputError(place, "there is no such cell", nearest(str(name), cells))


def _machine(document: Document) -> dict[str, Any]:
    # The memory of one machine differs by some pages from kernel to kernel.
    memory = document["host"].get("memory_bytes")
    gib = round(memory / _GIB) if isinstance(memory, int | float) else None
    return {"memory_gib": gib, **{name: document["host"].get(name) for name in _MACHINE}}


def _differences(a: Document, b: Document, pairs: Sequence[tuple[Cell, Cell]]) -> list[Difference]:
    """Return what is not the same: the programs and machines, the systems and their settings, the factors."""
    found: dict[str, Difference] = {}

    def note(what: str, x: Any, y: Any) -> None:
        if x != y and what not in found:
            found[what] = Difference(what, _shown(x), _shown(y))

    note("experiment", a["experiment"], b["experiment"])
    note("dbdyno", a["dbdyno"], b["dbdyno"])
    note("seconds of a turn", a["options"].get("turn_s"), b["options"].get("turn_s"))
    for name in dict.fromkeys([*a["host"], *b["host"]]):
        note(f"host {name}", a["host"].get(name), b["host"].get(name))
    for x, y in pairs:
        for name in dict.fromkeys([*x["factors"], *y["factors"]]):
            note(name, x["factors"].get(name), y["factors"].get(name))
        for key in ("version", "source_id", "durability"):
            note(key.replace("_", " "), x["system"].get(key), y["system"].get(key))
        settings = (x["system"]["settings"], y["system"]["settings"])
        for name in dict.fromkeys([*settings[0], *settings[1]]):
            note(name, settings[0].get(name), settings[1].get(name))
        options = (set(x["system"]["compile_options"]), set(y["system"]["compile_options"]))
        note("compile options", sorted(options[0] - options[1]), sorted(options[1] - options[0]))
        for name in dict.fromkeys([*x["system"]["plans"], *y["system"]["plans"]]):
            note(f"query plan of {name}", x["system"]["plans"].get(name), y["system"]["plans"].get(name))
    return list(found.values())


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, list):
        return "; ".join(str(each) for each in value)
    return str(value)
