"""Statements whose plan is worse in kind than the baseline's, which no amount of measuring has to show."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from dbdyno.analysis.findings.searching import known, shown
from dbdyno.engines.plans import PlanRead, Read, whole_reads
from dbdyno.model.result.cell import Cell, CellStatement, Latency
from dbdyno.model.result.reading import objects


@dataclass(frozen=True)
class WorsePlan:
    """A statement that now reads a whole table that it searched in the baseline, or that now sorts."""

    statement: str
    change: str
    """What the plan does now and why, a clause."""
    before: str
    """The step of the baseline's plan."""
    after: str
    times: float | None
    """How many times as long as in the baseline the statement takes; None: not recorded."""
    average: str = "median"
    """Whether `times` is of the median or the mean: of the one that grew more, since delays can hide a growth."""

    @property
    def reason(self) -> str:
        """The change with the steps that show it, and its cost."""
        cost = "" if self.times is None else f", {self.times:.3g} times as long ({self.average})"
        return f"`{self.statement}` {self.change} (`{self.before}` → `{self.after}`){cost}"


def worse_plans(a: Cell, b: Cell) -> list[WorsePlan]:
    """Return the statements of b whose plan is worse in kind than in the baseline a; at most one per statement.

    A planner that estimates from samples may choose differently for the same statement on the same schema. On such an
    engine a plan counts only if an index is gone or the statement's text changed.
    """
    found = []
    for was, now in _same_statements(a, b):
        before, after = known(a).read_plan(was.plan), known(b).read_plan(now.plan)
        if before is None or after is None:
            continue
        changed = was.sql != now.sql
        for change, old, new, explained in _changes(before, after, _indexes(a) - _indexes(b)):
            if explained or changed or not known(b).is_server:
                found.append(WorsePlan(shown(now), change, old, new, *_times(a, was, b, now)))
                break
    return found


def _same_statements(a: Cell, b: Cell) -> Iterator[tuple[CellStatement, CellStatement]]:
    """Pair statements by text. Changed texts are paired in their order if there are equally many."""
    of_a = {each.sql: each for each in a.statements}
    of_b = {each.sql: each for each in b.statements}
    yield from ((of_a[sql], now) for sql, now in of_b.items() if sql in of_a)
    gone = [each for sql, each in of_a.items() if sql not in of_b]
    new = [each for sql, each in of_b.items() if sql not in of_a]
    if len(gone) == len(new):
        yield from zip(gone, new, strict=True)


def _changes(before: PlanRead, after: PlanRead, gone: AbstractSet[str]) -> Iterator[tuple[str, str, str, bool]]:
    """Give each change for the worse: a clause, the steps before and after, and whether a lost index explains it.

    ``gone``: the indexes of the baseline that no longer exist.
    """
    whole_before = {each.table.lower() for each in whole_reads(before)}
    for read in whole_reads(after):
        searched = _search_of(before, read.table)
        if searched is None or read.table.lower() in whole_before:
            continue
        if searched.index in gone:
            why = f": index {searched.index} is gone"
        else:
            why = "" if searched.index is None else f" without index {searched.index}"
        yield f"now reads all of {read.table}{why}", searched.line, read.line, searched.index in gone
    if after.sorts and not before.sorts and before.reads:
        used = next((each for each in before.reads if each.index in gone), before.reads[0])
        why = f": index {used.index} is gone" if used.index in gone else ""
        yield f"now sorts its rows{why}", used.line, after.sorts[0], used.index in gone


def _search_of(plan: PlanRead, table: str) -> Read | None:
    """Return how a plan searches a table; MongoDB's index scans do not name their collection."""
    return next((each for each in plan.reads if not each.whole and each.table.lower() in ("", table.lower())), None)


def _indexes(cell: Cell) -> set[str]:
    tables = objects(cell.system.catalog.get("tables"))
    return {str(each.get("name")) for table in tables for each in objects(table.get("indexes"))}


def _times(a: Cell, was: CellStatement, b: Cell, now: CellStatement) -> tuple[float | None, str]:
    before, after = _latency(a, was.name), _latency(b, now.name)
    if before is None or after is None:
        return None, "median"
    medians, means = _ratio(before.p50, after.p50), _ratio(before.mean, after.mean)
    if means is not None and (medians is None or means > medians):
        return means, "mean"
    return medians, "median"


def _latency(cell: Cell, statement: str) -> Latency | None:
    timed = (each for each in cell.operations if each.kind == "statement" and each.name == statement)
    return next((each.latency_ms for each in timed), None)


def _ratio(before: float | None, after: float | None) -> float | None:
    return after / before if before and after else None
