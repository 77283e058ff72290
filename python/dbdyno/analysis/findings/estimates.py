"""Statements of which the planner expects far more rows than there are, or far fewer, and what betters that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.searching import engine_name, known, shown
from dbdyno.base.numbers import figure
from dbdyno.base.text import shortened
from dbdyno.engines.compared import conditions_on
from dbdyno.engines.conditions import Conditions
from dbdyno.model.result.cell import Cell, CellStatement, RowEstimate
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding

ROW_ESTIMATE = Kind("row estimate", ("statement", "step", "expected", "found"))

# Off by less, a plan is seldom another. A thousand rows are passed on in some tenths of a millisecond: off by whatever
# factor, fewer make no plan dear.
_FAR = 100.0
_SOME_ROWS = 1000.0
_LONGEST = 80


def row_estimates(material: Material) -> Iterator[Finding]:
    """Say it once for each statement, step and system."""
    found: dict[tuple[str, str, str], tuple[CellStatement, RowEstimate, list[Cell]]] = {}
    for cell in material.cells:
        for statement in cell["statements"]:
            worst = far_off(cell, statement)
            if worst is not None:
                key = (cell["system"]["name"], statement["sql"], worst["step"])
                found.setdefault(key, (statement, worst, []))[2].append(cell)
    for (_, sql, _), (statement, worst, cells) in found.items():
        on = _conditions(cells[0], statement, worst)
        advice = _advice(cells[0], on)
        evidence: JsonObject = {
            "statement": sql,
            "values": statement["analyzed"],
            "step": worst["step"],
            "table": None if on is None else on.table,
            "columns": [] if on is None else list(on.columns),
            "expected": worst["expected"],
            "found": worst["found"],
            "executions": worst["executions"],
            "at_least": worst["at_least"],
            "times_off": times_off(worst),
            "advice": advice,
        }
        text = f"`{_name(cells[0], statement)}`: {_words(worst, on)}, {off_words(worst)}"
        text += f": {advice} (not measured)." if advice else "."
        yield ROW_ESTIMATE.found(text, [cell["id"] for cell in cells], evidence)


def times_off(estimate: RowEstimate) -> float:
    """Give by what factor an estimate is off, in either direction; less than one row counts as one."""
    expected, found = max(estimate["expected"], 1.0), max(estimate["found"], 1.0)
    return max(expected, found) / min(expected, found)


def off_words(estimate: RowEstimate) -> str:
    """Say by how much an estimate is off."""
    return f"{figure(float(f'{times_off(estimate):.2g}'))} times off"


def far_off(cell: Cell, statement: CellStatement) -> RowEstimate | None:
    """Give the step whose estimate is worst, of those that work on nothing that is far off; ``None``: none is."""
    steps = statement["estimates"]
    far = [_is_far(each) for each in steps]
    causes = [each for place, each in enumerate(steps) if far[place] and not _any_below(steps, far, place)]
    worst = max(causes, key=times_off, default=None)
    return worst if worst is not None and _matters(cell, statement, worst) else None


def _is_far(each: RowEstimate) -> bool:
    rows = max(each["expected"], each["found"]) * each["executions"]
    return times_off(each) >= _FAR and rows >= _SOME_ROWS


def _any_below(steps: Sequence[RowEstimate], far: Sequence[bool], place: int) -> bool:
    """Whether one of the steps that a step works on is far off: they follow it, and lie deeper."""
    for each, is_far in zip(steps[place + 1 :], far[place + 1 :], strict=True):
        if each["depth"] <= steps[place]["depth"]:
            return False
        if is_far:
            return True
    return False


def _matters(cell: Cell, statement: CellStatement, worst: RowEstimate) -> bool:
    """Whether a choice of the planner's rests on it.

    Where fewer rows come than were expected, of one table that no index could have led to, nothing would have been
    done otherwise.
    """
    if worst["found"] > worst["expected"] or _joins(cell, statement):
        return True
    on = _conditions(cell, statement, worst)
    return on is None or bool(on.indexed)


def _joins(cell: Cell, statement: CellStatement) -> bool:
    read = known(cell).read_plan(statement["plan"])
    tables = {each["table"] for each in statement["estimates"] if each["table"]}
    return len(tables) > 1 or (read is not None and len(read.reads) > 1)


def _conditions(cell: Cell, statement: CellStatement, worst: RowEstimate) -> Conditions | None:
    if worst["table"] is None:
        return None
    return conditions_on(statement["sql"], engine_name(cell), worst["table"], cell["system"]["catalog"])


def _advice(cell: Cell, on: Conditions | None) -> str | None:
    return known(cell).better_estimates(cell["system"]["engine"] or "", on)


def _name(cell: Cell, statement: CellStatement) -> str:
    """Give the name that a statement has in its file, where each is a cell of its own; else its text."""
    named = cell["factors"].get(STATEMENT) if len(cell["statements"]) == 1 else None
    return str(named) if named is not None else shown(statement)


def _words(each: RowEstimate, on: Conditions | None) -> str:
    """Say what was expected and what there is; an expectation of less than a row is one of one."""
    expected = f"{max(each['expected'], 1.0):,.0f}"
    rows = "row" if expected == "1" else "rows"
    step = f"`{shortened(each['step'], _LONGEST)}`"
    of = step if on is None else f"{on.table} ({step})"
    often = f" each of {each['executions']:,.0f} times" if each["executions"] > 1 else ""
    least = "at least " if each["at_least"] else ""
    there = "are" if each["found"] != 1 else "is"
    return f"the planner expects {expected} {rows} of {of}{often} and there {there} {least}{figure_of(each['found'])}"


def figure_of(rows: float) -> str:
    """Write a mean number of rows: whole, or with digits where it is less than ten."""
    return f"{rows:,.0f}" if rows >= 10 or rows == int(rows) else figure(rows)


RULE = Rule(row_estimates, (ROW_ESTIMATE,))
