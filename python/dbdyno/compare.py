"""Comparing cells of stored runs: what differs between them first, then the ratios and what they show."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from dbdyno.errors import InputError
from dbdyno.experiment.mistakes import nearest, show
from dbdyno.history.identity import differing, same_machine
from dbdyno.results.cell_document import Cell, Round
from dbdyno.results.comparing import by_block, decided, differences, is_no_chance, other_factors
from dbdyno.results.document import Comparison, Document
from dbdyno.results.reading import shown_times
from dbdyno.stats import APART_CONFIDENCE, CONFIDENCE, MARGIN, Ratio, paired_ratio, standard_error, unpaired_ratio

METRICS = ("throughput", "instructions", "p50", "p90", "p99", "p99_9", "mean", "max")
"""Throughput, instructions, and the percentiles, mean and maximum of the response time as tables show it: in a closed
loop that is the service time."""

# What a definition's parts are called where their own names say too little.
_PARTS = {"turns": "milliseconds of a turn"}

# A share of failed transactions that differs by less is nothing either way.
_FAILING = 0.01

# The parts that are the load and the amount of data: with others the figures are answers to other questions. All else
# (statements, indexes, when they are prepared, settings) may be just the change whose effect somebody wants to see.
_LOAD = frozenset(
    ("arrival", "clients", "measure.unit", "tables", "target.os_cache", "turns", "warmup", "window"),
)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run, and where one was named a cell of it.

    ``definitions``: by cell, the parts of what it was (:func:`dbdyno.history.identity.definition_of`).
    """

    document: Document
    cell: str | None = None
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """Something that is not the same on both sides."""

    what: str
    a: str
    b: str


@dataclass(frozen=True)
class Compared:
    """Two sides, what differs between them, and the comparisons of their cells.

    ``lacking``: for each comparison, why there is no interval, empty where there is one; ``failed``: for each, how many
    rounds of b failed, empty where none did; ``only_a``, ``only_b``: the cells that the other run has not; ``unlike``:
    reasons for which nothing is ranked; ``weaker``: what makes the verdicts weaker than they look; ``said``: what each
    run's report says of the cells compared.
    """

    a: Document
    b: Document
    metric: str
    differences: list[Difference]
    comparisons: list[Comparison]
    lacking: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    weaker: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def compare(
    a: Side, b: Side, *, margin: float = MARGIN, metric: str = "throughput", across_machines: bool = False
) -> Compared:
    """Compare b with a: the cells named, or all that both runs have. Raises InputError where there are none.

    Cells of one run are compared within its blocks; cells of two runs have no block in common, so whatever drifted
    between the runs is part of the ratio.
    """
    metric = metric.replace(".", "_")
    if metric not in METRICS:
        raise InputError("--metric", f"there is no metric `{metric}`", nearest(metric, METRICS))
    pairs = _pairs(a, b)
    same_run = a.document["id"] == b.document["id"]
    unlike, weaker = [], []
    if not same_run:
        if not same_machine(a.document["host"], b.document["host"]) and not across_machines:
            unlike.append("the runs are of different machines (`--across-machines` ranks them all the same)")
        weaker.append(
            "the runs were made at different times: what drifted between them is in the ratio; "
            "`dbdyno run --system A --system B` measures both in turn"
        )
    if metric == "throughput" and any(_is_open_loop(cell) for pair in pairs for cell in pair):
        weaker.append(
            "the loop is open: its throughput is the rate of arrivals, also on a slower system that keeps up; "
            "`--metric p99` compares how long it took"
        )
    if a.document["measure"] != b.document["measure"] and metric == "throughput":
        unlike.append("the runs count different things")
    ratios = [_ratio(x, y, metric, a.document, b.document) for x, y in pairs]
    apart = [[*unlike, *_redefined(x, y, a, b), *differences(x, y), *_failing(x, y)] for x, y in pairs]
    names = [(x["id"], y["id"]) for x, y in pairs]
    made = decided(names, ratios, apart, margin, metric)
    of_a, of_b = {x["id"] for x, _ in pairs}, {y["id"] for _, y in pairs}
    whole = a.cell is None and b.cell is None
    return Compared(
        a.document,
        b.document,
        metric,
        _differences(a, b, pairs),
        made,
        [_lacking(x, y, metric) if each["ci95"] is None else "" for (x, y), each in zip(pairs, made, strict=True)],
        [_failed(y, "b") for _, y in pairs],
        [cell["id"] for cell in a.document["cells"] if whole and cell["id"] not in of_a],
        [cell["id"] for cell in b.document["cells"] if whole and cell["id"] not in of_b],
        unlike,
        weaker,
        [] if same_run else [*_said(a.document, of_a), *_said(b.document, of_b)],
    )


def _ratio(x: Cell, y: Cell, metric: str, a: Document, b: Document) -> Ratio | None:
    values = _values(x, metric), _values(y, metric)
    if a["id"] == b["id"]:
        return paired_ratio(*values, a["confidence"])
    stopped = max(a["confidence"], b["confidence"]) > CONFIDENCE
    confidence = APART_CONFIDENCE if stopped else CONFIDENCE
    return unpaired_ratio(list(values[0].values()), list(values[1].values()), confidence)


def _redefined(x: Cell, y: Cell, a: Side, b: Side) -> list[str]:
    """Say what of the load was not the same in both runs, of cells that differ in the system at most."""
    if other_factors(x) != other_factors(y):
        return []
    parts = differing(a.definitions.get(x["id"], {}), b.definitions.get(y["id"], {}))
    changed = [_PARTS.get(each, each) for each in parts if each in _LOAD]
    return [f"the load is not the same ({', '.join(changed)})"] if changed else []


def _lacking(x: Cell, y: Cell, metric: str) -> str:
    """Say why two cells have no interval between them."""
    for cell, whose in ((x, "a"), (y, "b")):
        if len(_values(cell, metric)) > 1:
            continue
        failed = _failed(cell, whose)
        if failed:
            return failed
        if metric == "instructions" and not _values(cell, metric):
            return f"no instructions were counted in {whose}; `--instructions` counts them"
        if not cell["rounds"]:
            return f"nothing was measured in {whose}"
    return "an interval needs two rounds on either side"


def _failed(cell: Cell, whose: str) -> str:
    """Say how many rounds gave no result, and why the first of them did not; nothing where all gave one."""
    failed = [each for each in cell["rounds"] if each["status"] != "done"]
    if not failed:
        return ""
    why = next((f": {each['error']}" for each in failed if each["error"]), "")
    return f"{len(failed)} of {len(cell['rounds'])} rounds of {whose} failed{why}"


def _failing(x: Cell, y: Cell) -> list[str]:
    """Say how much of what was begun failed, where that differs by more than chance, and by more than a hundredth.

    What failed may have been the greater part of the work, and its time is that of what is left.
    """
    shares = [[sum(each["failed"].values()) / each["issued"] for each in _counted(cell)] for cell in (x, y)]
    if not all(shares):
        return []
    of_a, of_b = (fmean(each) for each in shares)
    if not is_no_chance(of_a - of_b, [standard_error(each) for each in shares], _FAILING):
        return []
    return [f"transactions that failed: {of_a * 100:.3g} % against {of_b * 100:.3g} %"]


def _counted(cell: Cell) -> list[Round]:
    return [each for each in cell["rounds"] if each["status"] == "done" and each["issued"]]


def _is_open_loop(cell: Cell) -> bool:
    """Whether transactions started by the clock: only there is a response time beside the service time."""
    return bool(cell["latency_ms"].get("response"))


def _said(document: Document, cells: Container[str]) -> list[str]:
    """Give what the report of a run says of some of its cells, or of all."""
    found = [each for each in document["findings"] if not each["cells"] or any(cell in cells for cell in each["cells"])]
    return [f"{document['id']}: {each['text']}" for each in found]


def _values(cell: Cell, metric: str) -> dict[int, float]:
    """Return the metric of each block that gave one."""
    if metric == "throughput":
        return by_block(cell)
    values: dict[int, float] = {}
    if metric == "instructions":
        return {each["block"]: each["instructions"] for each in cell["rounds"] if each["instructions"]}
    for each in cell["rounds"]:
        latency: Mapping[str, Any] = shown_times(each["latency_ms"]) or {}
        value = latency.get(metric)
        if each["status"] == "done" and value:
            values[each["block"]] = float(value)
    return values


def _pairs(a: Side, b: Side) -> list[tuple[Cell, Cell]]:
    if a.cell is not None or b.cell is not None:
        x, y = _cell(a, b), _cell(b, a)
        if a.document["id"] == b.document["id"] and x["id"] == y["id"]:
            raise InputError(f"{a.document['id']}/{x['id']}", "a cell cannot be compared with itself", "name two")
        return [(x, y)]
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


def _differences(of_a: Side, of_b: Side, pairs: Sequence[tuple[Cell, Cell]]) -> list[Difference]:
    """Return what is not the same: the programs and machines, the systems and their settings, the work, the factors."""
    found: dict[str, Difference] = {}
    a, b = of_a.document, of_b.document

    def note(what: str, x: Any, y: Any) -> None:
        if x != y and what not in found:
            found[what] = Difference(what, _shown(x), _shown(y))

    note("experiment", a["experiment"], b["experiment"])
    note("dbdyno", a["dbdyno"], b["dbdyno"])
    for name in dict.fromkeys([*a["host"], *b["host"]]):
        note(f"host {name}", a["host"].get(name), b["host"].get(name))
    for x, y in pairs:
        was, is_now = of_a.definitions.get(x["id"], {}), of_b.definitions.get(y["id"], {})
        for name in differing(was, is_now):
            if name.startswith("factor "):
                continue
            before, after = was[name], is_now[name]
            if isinstance(before, dict) and isinstance(after, dict):
                for key in dict.fromkeys([*before, *after]):
                    note(f"{name}.{key}", before.get(key), after.get(key))
            else:
                note(_PARTS.get(name, name), before, after)
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
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return show(value) if isinstance(value, dict | list) else str(value)
