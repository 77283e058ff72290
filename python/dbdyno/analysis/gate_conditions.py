"""The conditions of `dbdyno gate --fail-on`: scans, changed plans, missing indexes and wrong row estimates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dbdyno.analysis.findings.indexes import whole_tables
from dbdyno.analysis.findings.plans import estimate_clause, far_off
from dbdyno.analysis.gate import Judgement, Violation
from dbdyno.analysis.measured.engines import engine_of_cell
from dbdyno.analysis.plan_changes import plan_changes, plan_words, plans_of, same_statements, title_of
from dbdyno.base.errors import InputError
from dbdyno.model.experiment.validation import nearest
from dbdyno.model.result.cell import Cell, CellStatement, PlanNode
from dbdyno.model.result.reading import objects

_VALID = "use `scan`, `scan:TABLE`, `plan-change`, `missing-index` or `estimates:FACTOR`, such as `estimates:100x`"
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)x?")
_MIN_FACTOR = 2.0

Pairs = Sequence[tuple[Cell | None, Cell]]


@dataclass(frozen=True)
class Condition:
    """A condition of `--fail-on`. ``text``: as typed; ``table``: of `scan:TABLE`; ``factor``: of `estimates:FACTOR`."""

    text: str
    kind: Literal["scan", "plan-change", "missing-index", "estimates"]
    table: str | None = None
    factor: float = 0.0


def read_condition(text: str) -> Condition:
    """Read a condition. Raises InputError."""
    name, colon, value = text.partition(":")
    value = value.strip()
    if name == "scan" and bool(colon) == bool(value):
        return Condition(text, "scan", table=value or None)
    if name == "plan-change" and not colon:
        return Condition(text, "plan-change")
    if name == "missing-index" and not colon:
        return Condition(text, "missing-index")
    factor = _FACTOR.fullmatch(value)
    if name == "estimates" and factor:
        if float(factor[1]) < _MIN_FACTOR:
            raise InputError(f"--fail-on {text}", "the factor is less than 2", "give a factor such as `estimates:100x`")
        return Condition(text, "estimates", factor=float(factor[1]))
    raise InputError(f"--fail-on {text}", "unknown condition", _VALID)


def judge_conditions(conditions: Sequence[Condition], pairs: Pairs) -> list[tuple[str, Judgement]]:
    """Judge the conditions of a gate: a verdict per violation, otherwise one per condition, each with a name.

    ``pairs``: each cell of the new side with the cell of the baseline, if there is one. A verdict isn't settled if
    dbdyno doesn't know what the condition is about. Raises InputError for a table that no statement names.
    """
    return [each for condition in conditions for each in _judge(condition, pairs)]


def _judge(condition: Condition, pairs: Pairs) -> Iterator[tuple[str, Judgement]]:
    if condition.table is not None:
        _check_table(condition, pairs)
    violations = list(dict.fromkeys(_VIOLATIONS[condition.kind](condition, pairs)))
    for violation in violations:
        yield violation.statement, Judgement("failed", violation.reason, violation=violation)
    unknown = [cell for _, cell in pairs if not _is_known(condition, cell)]
    if unknown:
        what = "reports no row estimates" if condition.kind == "estimates" else "reports no plans that dbdyno can read"
        systems = ", ".join(dict.fromkeys(cell.system.name for cell in unknown))
        yield "--fail-on", Judgement("not settled", f"{condition.text} was not checked: {systems} {what}")
    elif not violations:
        count = len({title_of(cell, statement) for _, cell in pairs for statement in cell.statements})
        statements = "1 statement" if count == 1 else f"{count} statements"
        yield "--fail-on", Judgement("pass", f"{condition.text}: {statements} checked")


def _check_table(condition: Condition, pairs: Pairs) -> None:
    names: dict[str, str] = {}
    for cell in (each for pair in pairs for each in pair if each is not None):
        tables = [str(table.get("name")) for table in objects(cell.system.catalog.get("tables"))]
        tables += [
            node.table for statement in cell.statements for node in statement.plan_nodes if node.table is not None
        ]
        names |= {table.lower(): table for table in tables}
    if names and str(condition.table).lower() not in names:
        problem = f"no statement names a table `{condition.table}`"
        raise InputError(f"--fail-on {condition.text}", problem, nearest(str(condition.table), list(names.values())))


def _is_known(condition: Condition, cell: Cell) -> bool:
    if condition.kind == "estimates":
        return any(statement.estimates for statement in cell.statements)
    return bool(cell.statements) and engine_of_cell(cell).read_plan(("",)) is not None


def _scans(condition: Condition, pairs: Pairs) -> Iterator[Violation]:
    for before, cell in pairs:
        for statement in cell.statements:
            for nodes in plans_of(cell, statement):
                scanned = [node for node in nodes if _reads_all(node, nodes, statement)]
                wanted = [node for node in scanned if condition.table is None or _is_table(node, condition.table)]
                if wanted:
                    tables = " and ".join(dict.fromkeys(str(node.table) for node in wanted))
                    yield _violation(condition, before, cell, statement, f"scans the whole table {tables}", nodes)
                    break


def _is_table(node: PlanNode, name: str) -> bool:
    return str(node.table).lower() == name.lower()


# A statement that a LIMIT ends early; MySQL, PostgreSQL and SQLite, and FETCH FIRST.
_LIMITED = re.compile(r"\b(limit|fetch\s+(first|next))\b", re.IGNORECASE)
# A condition that the index doesn't serve may leave hardly any row, so that all are read in spite of a LIMIT.
_FILTERED = re.compile(r"\bwhere\b", re.IGNORECASE)


def _reads_all(node: PlanNode, nodes: Sequence[PlanNode], statement: CellStatement) -> bool:
    """Whether a step reads a whole table. A LIMIT may end reading in the order of an index early."""
    if node.kind != "scan" or node.table is None:
        return False
    sql = statement.sql
    is_limited = _LIMITED.search(sql) is not None and _FILTERED.search(sql) is None
    return not (is_limited and node.index is not None and all(plan_node.kind != "sort" for plan_node in nodes))


def _plan_changes(condition: Condition, pairs: Pairs) -> Iterator[Violation]:
    for before, cell in pairs:
        for plan_change in plan_changes(before, cell) if before is not None else ():
            yield Violation(condition.text, plan_change.statement, "has another plan", plan_change.was, plan_change.now)


def _missing_indexes(condition: Condition, pairs: Pairs) -> Iterator[Violation]:
    of_cells = {cell.id: (before, cell) for before, cell in pairs}
    for finding in whole_tables([cell for _, cell in pairs]):
        sql = finding.evidence.get("sql")
        # An index that exists and isn't used is not missing.
        if sql is None or finding.evidence.get("there") is not None:
            continue
        before, cell = of_cells[finding.cells[0]]
        statement = next(
            cell_statement for cell_statement in cell.statements if cell_statement.sql == finding.evidence["statement"]
        )
        yield _violation(condition, before, cell, statement, f"lacks an index: `{sql}`", statement.plan_nodes)


def _estimates(condition: Condition, pairs: Pairs) -> Iterator[Violation]:
    for before, cell in pairs:
        for statement in cell.statements:
            worst = far_off(cell, statement, condition.factor)
            if worst is not None:
                words = estimate_clause(cell, statement, worst)
                yield _violation(condition, before, cell, statement, words, statement.plan_nodes)


_VIOLATIONS: dict[str, Callable[[Condition, Pairs], Iterator[Violation]]] = {
    "scan": _scans,
    "plan-change": _plan_changes,
    "missing-index": _missing_indexes,
    "estimates": _estimates,
}


def _violation(
    condition: Condition,
    before: Cell | None,
    cell: Cell,
    statement: CellStatement,
    what: str,
    nodes: Sequence[PlanNode],
) -> Violation:
    pairs = same_statements(before, cell) if before is not None else ()
    was = next((plan_words(was.plan_nodes) for was, now in pairs if now is statement and was.plan_nodes), None)
    return Violation(condition.text, title_of(cell, statement), what, was, plan_words(nodes))
