"""Comparing cells of stored runs: what differs between them first, then the ratios and what they show."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from dbdyno.analysis.bottleneck.common import SHORTEST_S
from dbdyno.analysis.findings.noise import disturbed, stalled, unsettled
from dbdyno.analysis.findings.rounds import in_two_levels
from dbdyno.analysis.history.identity import differing
from dbdyno.analysis.measured.comparing import BASELINE, SIDE, gate_pairs
from dbdyno.analysis.measured.judging import Pair, RunNoise, disturbed_by_queue, judge, other_factors, ratio_of_pair
from dbdyno.analysis.measured.metrics import METRICS, done, keeps_up, usual_metric, values_by_block
from dbdyno.analysis.noise import between_runs
from dbdyno.analysis.worse_plans import WorsePlan, worse_plans
from dbdyno.base.errors import InputError
from dbdyno.model.experiment.validation import nearest, show
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import JsonObject, objects, text
from dbdyno.model.result.shape import Comparison, Document
from dbdyno.stats import APART_CONFIDENCE, CONFIDENCE, MARGIN
from dbdyno.store.same_machine import same_machine

# What a definition's parts are called where their own names say too little.
_PARTS = {"interleaving": "milliseconds of a slice"}

# Characters that two long texts may begin with alike.
_ALIKE = 40

# How a run is called that has a warning.
# With these a run may have been slower for reasons of its own.
_SLOWER = tuple(rule.name for rule in (disturbed, unsettled, stalled, in_two_levels))
_WARNED = {unsettled.name: "not settled", in_two_levels.name: "of two levels"}

# What gives the values of a cell, by its id, and a metric in earlier runs of the same work, oldest first.
Earlier = Callable[[str, str], Sequence[float]]

# The parts that are the load and the amount of data: with others the figures are answers to other questions. All else
# (statements, indexes, when they are prepared, settings) may be just the change whose effect somebody wants to see.
_LOAD = frozenset(
    ("arrival", "clients", "measure.unit", "tables", "target.os_cache", "interleaving", "warmup", "window"),
)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run, and where one was named a cell of it.

    ``definitions``: by cell, the parts of what it was (:func:`dbdyno.analysis.history.identity.definition_of`).
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

    ``lacking``: for each comparison, why it settles nothing, empty where it may; ``failed``: for each, how many
    rounds of b failed, empty where none did; ``only_a``, ``only_b``: the cells that the other run has not;
    ``not_comparable``: reasons for which nothing is ranked; ``weaker``: what makes the verdicts weaker than they look;
    ``warned``: for each comparison of two runs, why one of them may have been slower for reasons of its own, empty
    where there is none; ``by_runs``: for each, whether it is the noise from run to run that decides how wide its
    interval is, and not the number of rounds; ``said``: what each run's report says of the cells compared;
    ``worse_plans``: for each comparison, the statements of b with a worse kind of plan.
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
    """Compare b with a: the cells named, or all that both runs have. Raises InputError where there are none.

    Cells of one run are compared within its blocks; cells of two runs have no block in common, so whatever drifted
    between the runs is part of the ratio. ``metric``: of ``METRICS``; None: throughput, but
    of open loops that keep up the response time. ``noise``: how much runs of this machine differ in which nothing has
    changed, by which the intervals are widened; None: ``between_runs`` estimates it from the rounds
    and from ``earlier`` runs.
    """
    metric = _checked(metric)
    pairs = _pairs(a, b)
    same_run = a.document.id == b.document.id
    not_comparable, weaker = [], []
    if not same_run and not same_machine(a.document.host, b.document.host) and not across_machines:
        not_comparable.append("the runs are of different machines (`--across-machines` ranks them all the same)")
    metrics = {metric or usual_metric(*pair) for pair in pairs}
    if a.document.measure != b.document.measure and "throughput" in metrics:
        not_comparable.append("the runs count different things")
    confidence = _confidence(a.document, b.document)
    judged = [Pair(x, y, paired=same_run, metric=metric, confidence=confidence) for x, y in pairs]
    if not same_run:
        # Stored noise is of throughput.
        judged = [
            replace(pair, between=noise if noise and pair.by == "throughput" else _noise_of(pair, earlier))
            for pair in judged
        ]
        widest = max((pair.between for pair in judged if pair.between is not None), key=lambda each: each.deviation)
        weaker.append(_of_two_runs(widest, a.document.experiment))
        if any(_is_short(cell) for pair in pairs for cell in pair):
            weaker.append(f"windows under {SHORTEST_S:g} s do not show whether other programs disturbed a run")
    return _compared(a, b, judged, metric=metric, margin=margin, not_comparable=not_comparable, weaker=weaker)


def _noise_of(pair: Pair, earlier: Earlier) -> RunNoise:
    rounds = [list(values_by_block(cell, pair.by).values()) for cell in (pair.a, pair.b)]
    return between_runs(pair.by, earlier(pair.a.id, pair.by), rounds)


def _is_short(cell: Cell) -> bool:
    return any((each.elapsed_s or 0.0) < SHORTEST_S for each in done(cell))


def _of_two_runs(noise: RunNoise, experiment: str) -> str:
    size = f"{noise.deviation * 100:.2g} % (1 sd)"
    known = (
        f"the intervals allow for {size} from run to run, as measured by {noise.runs} runs (`dbdyno noise --runs`)"
        if noise.runs
        else f"how much runs differ here is not known, and the intervals allow for {size}: "
        f"`dbdyno noise --runs 10` on the experiment of {experiment} measures it"
    )
    return f"the runs were made one after the other: {known}; `dbdyno gate --against` measures both sides together"


def compare_sides(
    document: Document,
    definitions: Mapping[str, Mapping[str, Any]],
    *,
    margin: float = MARGIN,
    metric: str | None = None,
) -> Compared:
    """Compare the candidate of a gate's run with the baseline that was measured in the same blocks.

    ``definitions``: as of a :class:`Side`, of the cells of both.
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
        raise InputError("--metric", f"there is no metric `{metric}`", nearest(metric, METRICS))
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

    ``not_comparable``: why none is ranked; ``weaker``: what makes the verdicts weaker.
    """
    same_run = a.document.id == b.document.id
    pairs = [(each.a, each.b) for each in judged]
    if any(keeps_up(cell) for pair in pairs for cell in pair):
        weaker.append(_of_open_loops(metric))
    judged = [replace(each, apart=[*not_comparable, *_redefined(each.a, each.b, a, b)]) for each in judged]
    made = judge(judged, margin)
    # What disturbs a machine does not change counts of instructions.
    warned = [
        "" if same_run or each.by == "instructions" else _warned((a.document, each.a), (b.document, each.b))
        for each in judged
    ]
    for comparison, why in zip(made, warned, strict=True):
        # The disturbance may be the difference.
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
        [_decided_by_runs(each) for each in judged],
        [] if same_run else [*_said(a.document, of_a), *_said(b.document, of_b)],
        [worse_plans(x, y) for x, y in pairs],
    )


def _of_open_loops(metric: str | None) -> str:
    offered = "the loop is open and keeps up, so that its throughput is the rate of arrivals"
    if metric == "throughput":
        return f"{offered}, also on a slower system that keeps up; without `--metric` the response time is compared"
    return f"{offered}: the response time (p99) is compared" if metric is None else offered


def _confidence(a: Document, b: Document) -> float:
    if a.id == b.id:
        return a.confidence
    stopped = max(a.confidence, b.confidence) > CONFIDENCE
    return APART_CONFIDENCE if stopped else CONFIDENCE


def _redefined(x: Cell, y: Cell, a: Side, b: Side) -> list[str]:
    """Say what of the load was not the same in both runs, of cells that differ in the system at most."""
    if _levels(x) != _levels(y):
        return []
    parts = differing(a.definitions.get(x.id, {}), b.definitions.get(y.id, {}))
    changed = [_PARTS.get(each, each) for each in parts if each in _LOAD]
    return [f"the load is not the same ({', '.join(changed)})"] if changed else []


def _levels(cell: Cell) -> dict[str, object]:
    return {name: level for name, level in other_factors(cell).items() if name != SIDE}


def _lacking(x: Cell, y: Cell, made: Comparison) -> str:
    """Say why two cells have no interval between them; empty where they have one."""
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
            return f"no instructions were counted in {whose}; `--instructions` counts them"
        if not cell.rounds:
            return f"nothing was measured in {whose}"
    return "an interval needs two rounds on either side"


def failed_rounds(cell: Cell, whose: str) -> str:
    """Say how many rounds gave no result, and why the first of them did not; nothing where all gave one."""
    failed = [each for each in cell.rounds if each.status != "done"]
    if not failed:
        return ""
    why = next((f": {each.error}" for each in failed if each.error), "")
    return f"{len(failed)} of {len(cell.rounds)} rounds of {whose} failed{why}"


def _decided_by_runs(pair: Pair) -> bool:
    if pair.between is None:
        return False
    wide, own = ratio_of_pair(pair), ratio_of_pair(replace(pair, between=None))
    if wide is None or own is None or own.high is None or own.low is None or wide.high is None or wide.low is None:
        return False
    return wide.high / wide.low > own.high / own.low


def _warned(*sides: tuple[Document, Cell]) -> str:
    """Say which run was disturbed, or did not settle, so that it may have been slower for reasons of its own."""
    found = []
    for document, cell in sides:
        for each in document.findings:
            own = not each.cells or cell.id in each.cells
            kind = each.evidence.get("warning")
            if own and kind in _SLOWER:
                found.append(f"{document.id} was {_WARNED.get(kind, kind)}")
    queued = disturbed_by_queue(*([cell] for _, cell in sides))
    found += [f"{each.id} was disturbed: {why}" for (each, _), why in zip(sides, queued, strict=True) if why]
    return " and ".join(dict.fromkeys(found))


def _said(document: Document, cells: Container[str]) -> list[str]:
    """Give what the report of a run says of some of its cells, or of all."""
    found = [each for each in document.findings if not each.cells or any(cell in cells for cell in each.cells)]
    texts = [f"{document.id}: {each.text}{_of(each.cells, document)}" for each in found]
    return list(dict.fromkeys(texts))


def _of(cells: Sequence[str], document: Document) -> str:
    """Name the cells that something is said of, where it is not all of them."""
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
    if not pairs:
        problem = f"{a.document.id} and {b.document.id} have no cell in common"
        raise InputError("compare", problem, "name the cells: `RUN_A/CELL RUN_B/CELL`")
    return pairs


def _cell(side: Side, other: Side) -> Cell:
    name = side.cell if side.cell is not None else other.cell
    cells = {cell.id: cell for cell in side.document.cells}
    if name in cells:
        return cells[name]
    matching = [cell for key, cell in cells.items() if set(str(name).split(",")) <= set(key.split(","))]
    if len(matching) == 1:
        return matching[0]
    place = f"{side.document.id}/{name}"
    if matching:
        names = ", ".join(f"`{cell.id}`" for cell in matching[:4])
        raise InputError(place, "several cells fit", f"name one of {names}")
    raise InputError(place, "there is no such cell", nearest(str(name), cells))


def _differences(of_a: Side, of_b: Side, pairs: Sequence[tuple[Cell, Cell]]) -> list[Difference]:
    """Return what is not the same: the programs and machines, the systems and their settings, the work, the factors."""
    found: dict[str, Difference] = {}
    a, b = of_a.document, of_b.document

    def note(what: str, x: Any, y: Any) -> None:
        if x != y and what not in found:
            found[what] = Difference(what, *_apart(_shown(x), _shown(y)))

    note("experiment", a.experiment, b.experiment)
    note("dbdyno", a.dbdyno, b.dbdyno)
    for name in dict.fromkeys([*a.host, *b.host]):
        note(f"host {name}", a.host.get(name), b.host.get(name))
    for x, y in pairs:
        was, is_now = of_a.definitions.get(x.id, {}), of_b.definitions.get(y.id, {})
        for difference in _of_definitions(was, is_now):
            note(*difference)
        for name in dict.fromkeys(each for cell in (x, y) for each in cell.factors if each != SIDE):
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
    """Give what differs between two definitions, and how it was and is; factors are told by themselves."""
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
            yield name, _but_sql(before), _but_sql(after)
        else:
            yield _PARTS.get(name, name), before, after


def _but_sql(statements: Any) -> list[JsonObject]:
    """Return what is known of statements besides their text."""
    return [{key: value for key, value in each.items() if key != "sql"} for each in objects(statements)]


def _apart(x: str, y: str) -> tuple[str, str]:
    """Leave out what two long texts begin with alike, so that what differs is seen."""
    alike = next((at for at, (one, other) in enumerate(zip(x, y, strict=False)) if one != other), min(len(x), len(y)))
    if alike <= _ALIKE or max(len(x), len(y)) <= 2 * _ALIKE:
        return x, y
    # From the beginning of a word.
    begin = x.rfind(" ", 0, alike - _ALIKE // 2) + 1
    return (f"…{x[begin:]}", f"…{y[begin:]}") if begin else (x, y)


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return show(value) if isinstance(value, dict | list) else str(value)
