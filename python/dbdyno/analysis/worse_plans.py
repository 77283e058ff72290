"""Find statements with a worse kind of plan than in the baseline, independent of measured times."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from dbdyno.analysis.findings.searches import shown
from dbdyno.analysis.measured.engines import engine_of_cell
from dbdyno.analysis.plan_changes import same_statements
from dbdyno.engines.plans import PlanRead, whole_reads
from dbdyno.model.result.cell import Cell, CellStatement, Latency, PlanNode
from dbdyno.model.result.reading import objects


@dataclass(frozen=True)
class WorsePlan:
    """A statement that now scans a whole table or sorts, unlike in the baseline."""

    statement: str
    change: str
    """Clause that describes the new plan and its cause."""
    before: str
    """Step of the baseline's plan."""
    after: str
    times: float | None
    """The statement's time as a multiple of the baseline's; None if not recorded."""
    average: str = "median"
    """Whether ``times`` compares medians or means: the one that grew more."""

    @property
    def reason(self) -> str:
        """The change with the steps that show it, and its cost."""
        cost = "" if self.times is None else f", {self.times:.3g} times as long ({self.average})"
        return f"`{self.statement}` {self.change} (`{self.before}` → `{self.after}`){cost}"


def worse_plans(a: Cell, b: Cell) -> list[WorsePlan]:
    """Return the statements of b whose plan is worse in kind than in the baseline a; at most one per statement.

    Servers plan with sampled statistics and may choose different plans for the same statement and schema. Their plans
    count only if an index was dropped or the statement's text changed.
    """
    found = []
    for was, now in same_statements(a, b):
        before, after = _plan(a, was), _plan(b, now)
        if before is None or after is None:
            continue
        changed = was.sql != now.sql
        for change, old, new, explained in _changes(before, after, _indexes(a) - _indexes(b)):
            if explained or changed or not engine_of_cell(b).is_server:
                found.append(WorsePlan(shown(now), change, old, new, *_times(a, was, b, now)))
                break
    return found


def _plan(cell: Cell, statement: CellStatement) -> PlanRead | None:
    read = engine_of_cell(cell).read_plan(statement.plan)
    return None if read is None else replace(read, nodes=statement.plan_nodes)


def _changes(before: PlanRead, after: PlanRead, gone: AbstractSet[str]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each worse change: a clause, the steps before and after, and whether a dropped index explains it.

    ``gone``: the indexes of the baseline that no longer exist.
    """
    whole_before = {_table(node) for node in whole_reads(before)}
    for read in whole_reads(after):
        searched = _search_of(before, _table(read))
        if searched is None or _table(read) in whole_before:
            continue
        if searched.index in gone:
            why = f": index {searched.index} no longer exists"
        else:
            why = "" if searched.index is None else f" without index {searched.index}"
        yield f"now scans the whole table {read.table}{why}", searched.line, read.line, searched.index in gone
    if after.sorts and not before.sorts and before.reads:
        used = next((node for node in before.reads if node.index in gone), before.reads[0])
        why = f": index {used.index} no longer exists" if used.index in gone else ""
        yield f"now sorts its rows{why}", used.line, after.sorts[0], used.index in gone


def _search_of(plan: PlanRead, table: str) -> PlanNode | None:
    """Return the step that searches a table. MongoDB's index scans don't name their collection."""
    return next((node for node in plan.reads if node.kind == "search" and _table(node) in ("", table)), None)


def _table(node: PlanNode) -> str:
    return (node.table or "").lower()


def _indexes(cell: Cell) -> set[str]:
    tables = objects(cell.system.catalog.get("tables"))
    return {str(index.get("name")) for table in tables for index in objects(table.get("indexes"))}


def _times(a: Cell, was: CellStatement, b: Cell, now: CellStatement) -> tuple[float | None, str]:
    before, after = _latency(a, was.name), _latency(b, now.name)
    if before is None or after is None:
        return None, "median"
    medians, means = _ratio(before.p50, after.p50), _ratio(before.mean, after.mean)
    if means is not None and (medians is None or means > medians):
        return means, "mean"
    return medians, "median"


def _latency(cell: Cell, statement: str) -> Latency | None:
    timed = (
        operation for operation in cell.operations if operation.kind == "statement" and operation.name == statement
    )
    return next((operation.latency_ms for operation in timed), None)


def _ratio(before: float | None, after: float | None) -> float | None:
    return after / before if before and after else None
