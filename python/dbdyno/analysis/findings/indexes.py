"""Statements without a suitable index, and measured recommendations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.searches import prefix_searches, scans, shown
from dbdyno.analysis.findings.words import all_of
from dbdyno.analysis.measured.comparisons import Pair, judge
from dbdyno.analysis.measured.engines import engine_name, engine_of_cell
from dbdyno.analysis.measured.metrics import done
from dbdyno.base.numbers import milliseconds, percent
from dbdyno.engines.avoidable_scans import avoidable_scans
from dbdyno.engines.index import Index
from dbdyno.engines.plans import called, whole_reads
from dbdyno.engines.prefixes import Why, why_no_prefix
from dbdyno.experiment.recommendations import PREFIX_SCAN
from dbdyno.model.result.cell import Cell, CellStatement, PlanNode
from dbdyno.model.result.reading import JsonObject, number
from dbdyno.model.result.shape import Comparison, Finding, Recommendation


@dataclass
class _UnindexedSearches:
    """Searches of one system that used no index, for one reason."""

    engine: str
    why: Why | None
    searches: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)


@finding(
    "prefix scan",
    needs=("plans", "searches"),
    meaning="A search for strings that begin with fixed characters used no index.",
    remedy="Use `--try-recommendations` to measure the changes that the experiment offers.",
)
def prefix_scan(material: Material) -> list[Finding]:
    """Report prefix searches that used no index, and how to help them.

    Uses the plans that the engines reported (``looks_up``), and the catalog for the reason (:func:`why_no_prefix`).
    """
    groups: dict[tuple[str, str], _UnindexedSearches] = {}
    for cell, statement, search in scans(material.cells):
        system = cell.system
        engine, over = system.engine or "", system.passed_over.get(statement.name, [])
        why = why_no_prefix(engine, system.version or "", system.settings, system.catalog, search, passed_over=over)
        group = groups.setdefault((system.name, why.words if why else ""), _UnindexedSearches(engine.lower(), why))
        plan = "; ".join(statement.plan)
        for values, value in ((group.searches, search.text), (group.plans, plan), (group.cells, cell.id)):
            if value not in values:
                values.append(value)
    tried = {cell for recommendation in material.recommendations for cell in recommendation.cells}
    findings: list[Finding] = []
    for (name, words), group in groups.items():
        patterns = ", ".join(f"`{search}`" for search in group.searches)
        plans = all_of([f"`{plan}`" for plan in group.plans], "or")
        text = f"On {name}, no index was used for {patterns}, although it has a fixed prefix: the plan is {plans}"
        text += f"; {words}." if words else "."
        can_be_helped = group.why is None or group.why.can_be_helped
        fits = any(
            recommendation.engine == group.engine for recommendation in material.recommendations
        ) and not tried & set(group.cells)
        if can_be_helped and fits:
            text += " `--try-recommendations` measures the changes that the experiment offers."
        observed: JsonObject = {"finding": PREFIX_SCAN, "searches": group.searches, "plans": group.plans}
        if group.why:
            observed["catalog"] = group.why.rows
        findings.append(prefix_scan.found(text, group.cells, observed))
    return findings


# Ignore statements that take a smaller share of their transactions' time or less time, and very small databases.
_COSTLY = 0.05
_MIN_MEAN_MS = 0.2
_MIN_BYTES = 65_536
# Ratios are rounded to integers from here on.
_INTEGERS_FROM = 100


@finding(
    "whole table",
    needs=("plan", "statement", "mean_ms"),
    meaning="A costly statement reads a whole table or sorts its rows, although an index could avoid it.",
    remedy="Create the index that the finding names, and measure again.",
)
def whole_table(material: Material) -> Iterator[Finding]:
    """Report costly statements with the index that would help: one finding per statement, plan and system."""
    yield from whole_tables(material.cells)


def whole_tables(cells: Sequence[Cell]) -> Iterator[Finding]:
    """Yield the findings of :data:`whole_table` about some cells.

    No index is advised if another one of these cells has a better plan for the same statement.
    """
    found: dict[tuple[str, str, str], tuple[CellStatement, PlanNode | str, Index | str, list[Cell]]] = {}
    elsewhere = {
        (engine_name(cell), cell_statement.sql)
        for cell in cells
        for cell_statement in cell.statements
        if _spared(cell, cell_statement)
    }
    for cell in cells:
        for statement in cell.statements:
            # Don't advise an index if another cell or round already measured a better plan.
            if (engine_name(cell), statement.sql) in elsewhere or not is_costly(cell, statement):
                continue
            for what, index in _served(cell, statement):
                line = what if isinstance(what, str) else what.line
                key = (cell.system.name, statement.sql, line)
                found.setdefault(key, (statement, what, index, []))[3].append(cell)
    for (_, sql, line), (statement, what, index, slow_cells) in found.items():
        times = [time for cell in slow_cells if (time := mean_time(cell, statement)) is not None]
        slowest = max(times, key=lambda pair: pair[0])
        evidence: JsonObject = {
            "plan": line,
            "statement": sql,
            "mean_ms": slowest[0],
            "share": slowest[1],
        }
        if isinstance(index, Index):
            evidence |= {
                "table": index.table,
                "columns": list(index.columns),
                "sql": index.sql,
                "there": index.existing,
            }
        text = f"`{shown(statement)}` {_does(what, index)} (`{line}`) and takes {milliseconds(slowest[0])} ms"
        text += f", {percent(slowest[1])} of the time" if slowest[1] is not None and slowest[1] < 1 else ""
        yield whole_table.found(f"{text}{_help(index)}.", [cell.id for cell in slow_cells], evidence)


def _served(cell: Cell, statement: CellStatement) -> Iterator[tuple[PlanNode | str, Index | str]]:
    return avoidable_scans(engine_of_cell(cell), statement.sql, statement.plan, statement.rows, cell.system.catalog)


def _spared(cell: Cell, statement: CellStatement) -> bool:
    """Whether the plan scans no whole table and sorts nothing in at least one round."""
    plans = [statement.plan, *(round_.plans.get(statement.name, []) for round_ in done(cell))]
    read = [found for plan in plans if (found := engine_of_cell(cell).read_plan(plan)) is not None]
    return any(bool(plan_read.reads) and not plan_read.sorts and not list(whole_reads(plan_read)) for plan_read in read)


def _does(what: PlanNode | str, index: Index | str) -> str:
    if isinstance(what, str):
        return f"sorts the rows of {index.table if isinstance(index, Index) else 'its table'}"
    return f"scans the whole table {index.table if isinstance(index, Index) else called(what)}"


def _help(index: Index | str) -> str:
    if isinstance(index, str):
        return f": {index}"
    columns = ", ".join(index.columns)
    if index.existing is not None:
        return f". The index {index.existing} on ({columns}) exists, but the plan does not use it"
    return f". There is no index on ({columns}). To create one (not measured): `{index.sql}`"


def is_costly(cell: Cell, statement: CellStatement) -> bool:
    """Whether a statement takes so long, and so much of its transactions' time, that an index could matter."""
    time = mean_time(cell, statement)
    size = number(cell.system.catalog, "data_bytes")
    if time is None or (size is not None and size < _MIN_BYTES):
        return False
    mean, share = time
    return mean >= _MIN_MEAN_MS and (share is None or share >= _COSTLY)


def mean_time(cell: Cell, statement: CellStatement) -> tuple[float, float | None] | None:
    """Return the mean time of a statement in milliseconds, and its share of its transactions' time."""
    for operation in cell.operations:
        if operation.kind == "statement" and operation.name == statement.name:
            mean = operation.latency_ms.mean
            return None if mean is None else (mean, operation.share)
    return None


@finding(
    "recommendation",
    needs=("recommendation", "plans", "comparisons"),
    meaning="A change that the experiment recommends was measured.",
    remedy="Apply the change if the gain is worth its cost.",
)
def measured_recommendation(material: Material) -> list[Finding]:
    """Report the measured effect of each recommendation on the cells that needed it.

    Each is a comparison as in the table; all comparisons of a run are decided together (:func:`judge`).
    """
    by_id = {cell.id: cell for cell in material.cells}
    measured: list[tuple[Recommendation, list[tuple[Cell, Cell]]]] = []
    for recommendation in material.recommendations:
        both = ((by_id.get(base), by_id.get(changed)) for base, changed in recommendation.cells.items())
        needed = [(base, changed) for base, changed in both if base and changed and any(scans([base]))]
        if needed:
            measured.append((recommendation, needed))
    pairs = [Pair(base, changed, confidence=material.confidence) for _, needed in measured for base, changed in needed]
    decided = iter(judge(pairs, material.margin, material.family, material.cells))
    findings: list[Finding] = []
    for recommendation, needed in measured:
        comparisons = [
            comparison for comparison in itertools.islice(decided, len(needed)) if comparison.ratio is not None
        ]
        if not comparisons:
            continue
        unserved = [f"`{search.text}`" for _, changed in needed for _, _, search in scans([changed])]
        rows = [words for base, changed in needed for words in _rows_changed(base, changed)]
        clauses = [f"{_gain(comparison)}: {comparison.b} versus {comparison.a}" for comparison in comparisons]
        text = f"Recommendation {recommendation.name} ({recommendation.does}) was measured: {'; '.join(clauses)}"
        text += f"; still without an index: {all_of(list(dict.fromkeys(unserved)))}" if unserved else ""
        text += f"; it returns different rows: {', '.join(dict.fromkeys(rows))}" if rows else ""
        observed = {
            "recommendation": recommendation.name,
            "finding": recommendation.answers,
            "comparisons": comparisons,
            "plans": {cell.id: [one.plan for one in cell.statements] for pair in needed for cell in pair},
        }
        findings.append(measured_recommendation.found(f"{text}.", [changed.id for _, changed in needed], observed))
    return findings


def _gain(decided: Comparison) -> str:
    """Return the ratio, the interval and the verdict of a recommendation's comparison."""
    ratio, ci95 = decided.ratio or 0.0, decided.ci95
    what = "the throughput" if decided.metric == "throughput" else f"the response time ({decided.metric})"
    size = f"{_ratio(ratio)} times {what}"
    size += f" ({_ratio(ci95[0])} to {_ratio(ci95[1])})" if ci95 else " (no interval: one round)"
    if decided.not_comparable:
        return f"{size}, but not for the same work: {'; '.join(decided.not_comparable)}"
    if decided.lacking:
        return f"{size}, which is not conclusive: {decided.lacking}"
    return f"{size}, {decided.verdict}"


def _rows_changed(base: Cell, changed: Cell) -> Iterator[str]:
    """Yield the searches that return different numbers of rows with a recommendation."""
    before = {statement.name: statement.rows for statement in base.statements}
    for _, statement, search in prefix_searches([changed]):
        was, now = before.get(statement.name), statement.rows
        if was is not None and now is not None and was != now:
            yield f"{now:,.6g} for `{search.text}` instead of {was:,.6g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= _INTEGERS_FROM else f"{ratio:.3g}"
