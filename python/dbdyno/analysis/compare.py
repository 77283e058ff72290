"""Compare cells of stored runs: their differences, the ratios and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from dbdyno.analysis.bottleneck.common import MIN_WINDOW_S
from dbdyno.analysis.findings.noise import disturbed, stalled, unsettled
from dbdyno.analysis.findings.rounds import in_two_levels
from dbdyno.analysis.history.identity import differing
from dbdyno.analysis.measured.cell_pairs import BASELINE, SIDE, gate_pairs
from dbdyno.analysis.measured.comparisons import Pair, RunNoise, disturbed_by_queue, judge, other_factors, ratio_of_pair
from dbdyno.analysis.measured.metrics import METRICS, done, keeps_up, usual_metric, values_by_block
from dbdyno.analysis.noise import between_runs
from dbdyno.analysis.plan_changes import PlanChange, plan_changes
from dbdyno.analysis.worse_plans import WorsePlan, worse_plans
from dbdyno.base.errors import InputError
from dbdyno.model.experiment.validation import nearest, show
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, objects, text
from dbdyno.model.result.shape import Comparison, Document
from dbdyno.stats import APART_CONFIDENCE, CONFIDENCE, MARGIN
from dbdyno.store.same_machine import same_machine

# Names of parts of a definition whose own names are unclear.
_PARTS = {"interleaving": "milliseconds of a slice"}

# Longer common beginnings of two long strings are left out.
_ALIKE = 40

# Warnings with which a run may have been slower for other reasons than the system, and their descriptions.
_SLOWER = tuple(rule.name for rule in (disturbed, unsettled, stalled, in_two_levels))
_WARNED = {unsettled.name: "not settled", in_two_levels.name: "split into two levels"}

# Returns a metric of a cell (by id) in earlier runs of the same work, oldest first.
Earlier = Callable[[str, str], Sequence[float]]

# The parts that define the load and the amount of data. Runs that differ in them are not comparable. All other parts
# (statements, indexes, preparation, settings) may be the change whose effect is of interest.
_LOAD = frozenset(
    ("arrival", "clients", "measure.unit", "tables", "target.os_cache", "interleaving", "warmup", "window"),
)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run, and optionally one of its cells.

    ``definitions``: the parts of each cell's definition (:func:`dbdyno.analysis.history.identity.definition_of`).
    """

    document: Document
    cell: str | None = None
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A property with different values on the two sides."""

    what: str
    a: str
    b: str


@dataclass(frozen=True)
class Compared:
    """Two sides, their differences, and the comparisons of their cells.

    ``only_a``, ``only_b``: cells that the other run lacks; ``not_comparable``: reasons not to rank any cell;
    ``weaker``: reasons why the verdicts are weaker than they look; ``said``: findings of each run about the compared
    cells. The other lists have one item per comparison. ``lacking``: why it settles nothing, empty if it may settle
    something. ``failed``: how many rounds of b failed, empty if none did. ``warned``: why a run may have been slower
    for other reasons than the system, empty if there is no warning. ``by_runs``: whether the noise between runs
    determines the interval's width. ``worse_plans``: the statements of b with a worse kind of plan;
    ``plan_changes``: those with another kind of plan.
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
    not_comparable: list[str] = field(default_factory=list)
    weaker: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    by_runs: list[bool] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    worse_plans: list[list[WorsePlan]] = field(default_factory=list)
    plan_changes: list[list[PlanChange]] = field(default_factory=list)


def compare(
    a: Side,
    b: Side,
    *,
    margin: float = MARGIN,
    metric: str | None = None,
    across_machines: bool = False,
    noise: RunNoise | None = None,
    earlier: Earlier = lambda _cell, _metric: (),
) -> Compared:
    """Compare b with a: the named cells, or all cells that both runs have. Raises InputError if there are none.

    Cells of one run are compared within its blocks. Cells of two runs share no blocks, so drift between the runs is
    part of the ratio. ``metric``: one of ``METRICS``; by default throughput, but the response time for open loops that
    keep up. ``noise``: the noise between runs on this machine, which widens the intervals; by default it is estimated
    from the rounds and from ``earlier`` runs.
    """
    metric = _checked(metric)
    pairs = _pairs(a, b)
    same_run = a.document.id == b.document.id
    not_comparable, weaker = [], []
    if not same_run and not same_machine(a.document.host, b.document.host) and not across_machines:
        not_comparable.append("the runs are from different machines (use `--across-machines` to rank them anyway)")
    metrics = {metric or usual_metric(*pair) for pair in pairs}
    if a.document.measure != b.document.measure and "throughput" in metrics:
        not_comparable.append("the runs measure throughput in different units")
    confidence = _confidence(a.document, b.document)
    judged = [Pair(x, y, paired=same_run, metric=metric, confidence=confidence) for x, y in pairs]
    if not same_run:
        # The stored noise applies to throughput.
        judged = [
            replace(pair, between=noise if noise and pair.by == "throughput" else _noise_of(pair, earlier))
            for pair in judged
        ]
        widest = max((pair.between for pair in judged if pair.between is not None), key=lambda each: each.deviation)
        weaker.append(_of_two_runs(widest, a.document.experiment))
        if any(_is_short(cell) for pair in pairs for cell in pair):
            weaker.append(f"windows under {MIN_WINDOW_S:g} s do not show whether other programs disturbed a run")
    return _compared(a, b, judged, metric=metric, margin=margin, not_comparable=not_comparable, weaker=weaker)


def _noise_of(pair: Pair, earlier: Earlier) -> RunNoise:
    rounds = [list(values_by_block(cell, pair.by).values()) for cell in (pair.a, pair.b)]
    return between_runs(pair.by, earlier(pair.a.id, pair.by), rounds)


def _is_short(cell: Cell) -> bool:
    return any((round_.elapsed_s or 0.0) < MIN_WINDOW_S for round_ in done(cell))


def _of_two_runs(noise: RunNoise, experiment: str) -> str:
    size = f"{noise.deviation * 100:.2g} % (1 sd)"
    known = (
        f"the intervals include the noise between runs, {size}, measured from {noise.runs} runs (`dbdyno noise --runs`)"
        if noise.runs
        else f"the noise between runs is unknown here, and the intervals assume {size}: "
        f"measure it with `dbdyno noise --runs 10` and the experiment {experiment}"
    )
    return f"the runs were measured at different times: {known}; `dbdyno gate --against` measures both sides together"


def compare_sides(
    document: Document,
    definitions: Mapping[str, Mapping[str, Any]],
    *,
    margin: float = MARGIN,
    metric: str | None = None,
) -> Compared:
    """Compare the candidate of a gate's run with the baseline measured in the same blocks.

    ``definitions``: as in :class:`Side`, for the cells of both.
    """
    cells = document.cells
    side = Side(document, definitions=definitions)
    metric = _checked(metric)
    pairs = gate_pairs(cells, document.confidence, metric)
    compared = _compared(side, side, pairs, metric=metric, margin=margin, not_comparable=[], weaker=[])
    judged = {cell.id for pair in pairs for cell in (pair.a, pair.b)}
    left = [cell for cell in cells if cell.id not in judged]
    return replace(
        compared,
        only_a=[cell.id for cell in left if cell.factors.get(SIDE) == BASELINE],
        only_b=[cell.id for cell in left if cell.factors.get(SIDE) != BASELINE],
        said=_said(document, judged),
    )


def _checked(metric: str | None) -> str | None:
    metric = None if metric is None else metric.replace(".", "_")
    if metric is not None and metric not in METRICS:
        raise InputError("--metric", f"unknown metric `{metric}`", nearest(metric, METRICS))
    return metric


def _compared(
    a: Side,
    b: Side,
    judged: Sequence[Pair],
    *,
    metric: str | None,
    margin: float,
    not_comparable: list[str],
    weaker: list[str],
) -> Compared:
    """Judge pairs of cells together.

    ``not_comparable``: reasons not to rank any pair; ``weaker``: reasons why the verdicts are weaker.
    """
    same_run = a.document.id == b.document.id
    pairs = [(pair.a, pair.b) for pair in judged]
    if any(keeps_up(cell) for pair in pairs for cell in pair):
        weaker.append(_of_open_loops(metric))
    judged = [replace(pair, apart=[*not_comparable, *_redefined(pair.a, pair.b, a, b)]) for pair in judged]
    made = judge(judged, margin)
    # Disturbances of the machine don't change instruction counts.
    warned = [
        "" if same_run or pair.by == "instructions" else _warned((a.document, pair.a), (b.document, pair.b))
        for pair in judged
    ]
    for comparison, why in zip(made, warned, strict=True):
        # The disturbance may have caused the difference.
        if why and comparison.verdict in ("faster", "slower"):
            comparison.verdict = "inconclusive"
    of_a, of_b = {x.id for x, _ in pairs}, {y.id for _, y in pairs}
    whole = a.cell is None and b.cell is None
    return Compared(
        a.document,
        b.document,
        ", ".join(dict.fromkeys(each.metric for each in made)),
        _differences(a, b, pairs),
        made,
        [each.lacking or _lacking(x, y, each) for (x, y), each in zip(pairs, made, strict=True)],
        [failed_rounds(y, "b") for _, y in pairs],
        [cell.id for cell in a.document.cells if whole and cell.id not in of_a],
        [cell.id for cell in b.document.cells if whole and cell.id not in of_b],
        not_comparable,
        weaker,
        warned,
        [_decided_by_runs(pair) for pair in judged],
        [] if same_run else [*_said(a.document, of_a), *_said(b.document, of_b)],
        [worse_plans(x, y) for x, y in pairs],
        [plan_changes(x, y) for x, y in pairs],
    )


def _of_open_loops(metric: str | None) -> str:
    offered = "the open loop keeps up, so its throughput equals the arrival rate"
    if metric == "throughput":
        return f"{offered}, even on a slower system that keeps up; omit `--metric` to compare the response time"
    return f"{offered}: the response time (p99) is compared" if metric is None else offered


def _confidence(a: Document, b: Document) -> float:
    if a.id == b.id:
        return a.confidence
    stopped = max(a.confidence, b.confidence) > CONFIDENCE
    return APART_CONFIDENCE if stopped else CONFIDENCE


def _redefined(x: Cell, y: Cell, a: Side, b: Side) -> list[str]:
    """Return how the load differs between the runs, for cells that differ at most in their system."""
    if _levels(x) != _levels(y):
        return []
    parts = differing(a.definitions.get(x.id, {}), b.definitions.get(y.id, {}))
    changed = [_PARTS.get(part, part) for part in parts if part in _LOAD]
    return [f"the load is not the same ({', '.join(changed)})"] if changed else []


def _levels(cell: Cell) -> dict[str, object]:
    return {name: level for name, level in other_factors(cell).items() if name != SIDE}


def _lacking(x: Cell, y: Cell, made: Comparison) -> str:
    """Return why a comparison has no interval; empty if it has one."""
    if made.ci95 is not None:
        return ""
    metric = made.metric
    for cell, whose in ((x, "a"), (y, "b")):
        if len(values_by_block(cell, metric)) > 1:
            continue
        failed = failed_rounds(cell, whose)
        if failed:
            return failed
        if metric == "instructions" and not values_by_block(cell, metric):
            return f"no instructions were counted in {whose}; use `--instructions` to count them"
        if not cell.rounds:
            return f"nothing was measured in {whose}"
    return "an interval needs at least two rounds on both sides"


def failed_rounds(cell: Cell, whose: str) -> str:
    """Return the number of rounds without a result and the first error; empty if all have a result."""
    failed = [round_ for round_ in cell.rounds if round_.status != "done"]
    if not failed:
        return ""
    why = next((f": {round_.error}" for round_ in failed if round_.error), "")
    return f"{len(failed)} of {len(cell.rounds)} rounds of {whose} failed{why}"


def _decided_by_runs(pair: Pair) -> bool:
    if pair.between is None:
        return False
    wide, own = ratio_of_pair(pair), ratio_of_pair(replace(pair, between=None))
    if wide is None or own is None or own.high is None or own.low is None or wide.high is None or wide.low is None:
        return False
    return wide.high / wide.low > own.high / own.low


def _warned(*sides: tuple[Document, Cell]) -> str:
    """Return warnings with which a run may have been slower for other reasons than the system."""
    queued = disturbed_by_queue(*([cell] for _, cell in sides))
    found = []
    for (document, cell), why in zip(sides, queued, strict=True):
        kinds = [
            finding.evidence.get("warning")
            for finding in document.findings
            if not finding.cells or cell.id in finding.cells
        ]
        # The queue's sentence says the same, with the share of the time.
        known = [kind for kind in kinds if kind in _SLOWER and not (why and kind == disturbed.name)]
        found += [f"{document.id} was {_WARNED.get(kind, kind)}" for kind in known]
        found += [f"{document.id} was disturbed: {why}"] if why else []
    return " and ".join(dict.fromkeys(found))


def _said(document: Document, cells: Container[str]) -> list[str]:
    """Return a run's findings about the given cells or about the whole run."""
    findings = [
        finding for finding in document.findings if not finding.cells or any(cell in cells for cell in finding.cells)
    ]
    texts = [f"{document.id}: {finding.text}{_of(finding.cells, document)}" for finding in findings]
    return list(dict.fromkeys(texts))


def _of(cells: Sequence[str], document: Document) -> str:
    """Write the cells that a finding is about, unless it is about all of them."""
    return f" ({', '.join(cells)})" if 0 < len(cells) < len(document.cells) else ""


def _pairs(a: Side, b: Side) -> list[tuple[Cell, Cell]]:
    if a.cell is not None or b.cell is not None:
        x, y = _cell(a, b), _cell(b, a)
        if a.document.id == b.document.id and x.id == y.id:
            raise InputError(f"{a.document.id}/{x.id}", "a cell cannot be compared with itself", "name two")
        return [(x, y)]
    if a.document.id == b.document.id:
        raise InputError(
            a.document.id, "a run cannot be compared with itself", "name cells: `RUN/threads=1 RUN/threads=2`"
        )
    of_b = {cell.id: cell for cell in b.document.cells}
    pairs = [(cell, of_b[cell.id]) for cell in a.document.cells if cell.id in of_b]
    if not pairs and all(len({cell.system.name for cell in one.document.cells}) == 1 for one in (a, b)):
        # Each run has one system, so other levels identify a cell.
        of_b = {_apart_from_system(cell): cell for cell in b.document.cells}
        pairs = [(cell, of_b[key]) for cell in a.document.cells if (key := _apart_from_system(cell)) in of_b]
    if not pairs:
        problem = f"{a.document.id} and {b.document.id} have no cell in common"
        raise InputError("compare", problem, "name the cells: `RUN_A/CELL RUN_B/CELL`")
    return pairs


def _apart_from_system(cell: Cell) -> str:
    return ",".join(f"{name}={level}" for name, level in cell.factors.items() if name != "system")


def _cell(side: Side, other: Side) -> Cell:
    name = side.cell if side.cell is not None else other.cell
    cells = {cell.id: cell for cell in side.document.cells}
    if name in cells:
        return cells[name]
    matching = [cell for key, cell in cells.items() if set(str(name).split(",")) <= set(key.split(","))]
    if len(matching) == 1:
        return matching[0]
    location = f"{side.document.id}/{name}"
    if matching:
        names = ", ".join(f"`{cell.id}`" for cell in matching[:4])
        raise InputError(location, "several cells match", f"name one of {names}")
    raise InputError(location, "no such cell", nearest(str(name), cells))


def _differences(of_a: Side, of_b: Side, pairs: Sequence[tuple[Cell, Cell]]) -> list[Difference]:
    """Return the differences in programs, machines, systems, settings, work and factors."""
    found: dict[str, Difference] = {}
    a, b = of_a.document, of_b.document

    def note(what: str, x: Any, y: Any) -> None:
        if x != y and what not in found:
            found[what] = Difference(what, *_shortened(_shown(x), _shown(y)))

    note("experiment", a.experiment, b.experiment)
    note("dbdyno", a.dbdyno, b.dbdyno)
    for name in dict.fromkeys([*a.host, *b.host]):
        note(f"host {name}", a.host.get(name), b.host.get(name))
    for x, y in pairs:
        was, is_now = of_a.definitions.get(x.id, {}), of_b.definitions.get(y.id, {})
        for difference in _of_definitions(was, is_now):
            note(*difference)
        for name in dict.fromkeys(factor for cell in (x, y) for factor in cell.factors if factor != SIDE):
            note(name, x.factors.get(name), y.factors.get(name))
        for key in ("version", "source_id", "durability"):
            note(key.replace("_", " "), getattr(x.system, key), getattr(y.system, key))
        settings = (x.system.settings, y.system.settings)
        for name in dict.fromkeys([*settings[0], *settings[1]]):
            note(name, settings[0].get(name), settings[1].get(name))
        options = (set(x.system.compile_options), set(y.system.compile_options))
        note("compile options", sorted(options[0] - options[1]), sorted(options[1] - options[0]))
        for name in dict.fromkeys([*x.system.plans, *y.system.plans]):
            note(f"query plan of {name}", x.system.plans.get(name), y.system.plans.get(name))
    return list(found.values())


def _of_definitions(was: Mapping[str, Any], is_now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences between two definitions, except factors: name, value before, value after."""
    for name in differing(was, is_now):
        before, after = was[name], is_now[name]
        if name.startswith("factor "):
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            for key in dict.fromkeys([*before, *after]):
                yield f"{name}.{key}", before.get(key), after.get(key)
        elif name == "statements":
            pairs = zip_longest(objects(before), objects(after))
            for number, (one, other) in enumerate(pairs, start=1):
                yield f"statement {number}", text(one or {}, "sql"), text(other or {}, "sql")
            yield name, _without_sql(before), _without_sql(after)
        else:
            yield _PARTS.get(name, name), before, after


def _without_sql(statements: Any) -> list[JsonObject]:
    """Return the properties of statements except their text."""
    return [{key: value for key, value in statement.items() if key != "sql"} for statement in objects(statements)]


def _shortened(x: str, y: str) -> tuple[str, str]:
    """Leave out a long common beginning of two strings, so that their difference is visible."""
    alike = next((at for at, (one, other) in enumerate(zip(x, y, strict=False)) if one != other), min(len(x), len(y)))
    if alike <= _ALIKE or max(len(x), len(y)) <= 2 * _ALIKE:
        return x, y
    # Start at a word boundary.
    begin = x.rfind(" ", 0, alike - _ALIKE // 2) + 1
    return (f"…{x[begin:]}", f"…{y[begin:]}") if begin else (x, y)


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "; ".join(value)
    return show(value) if isinstance(value, dict | list) else str(value)
