"""Query plans: changed plans and wrong row estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, zip_longest

from dbdyno.analysis.findings.rounds import in_two_levels, levels_of
from dbdyno.analysis.findings.rule import Material, finding
from dbdyno.analysis.findings.searches import shown
from dbdyno.analysis.findings.words import all_of, rate
from dbdyno.analysis.measured.engines import engine_name, engine_of_cell
from dbdyno.analysis.measured.metrics import done, keeps_up, usual_metric_of
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.analysis.plan_changes import plan_words, title_of
from dbdyno.base.numbers import figure, milliseconds
from dbdyno.base.text import shortened
from dbdyno.engines.condition_parser import conditions_on
from dbdyno.engines.conditions import Conditions
from dbdyno.engines.plans import steps_of
from dbdyno.model.result.cell import Cell, CellStatement, Round, RowEstimate
from dbdyno.model.result.reading import JsonObject, mean, shown_times
from dbdyno.model.result.shape import Finding

# Noise alone rarely puts all rounds of one plan above all rounds of another by this factor.
_FAR_APART = 1.2
_MAX_STEP_LENGTH = 80
_MAX_ROUNDS = 8


@dataclass
class _Planned:
    """A plan, and the rounds that used it."""

    plan: list[str]
    rounds: list[Round] = field(default_factory=list)


@finding(
    "plan changed",
    needs=("statement", "plans"),
    meaning="The plan of a statement was not the same in all rounds.",
    remedy="Update the planner's statistics, or fix the plan, and measure again.",
)
def plan_changed(material: Material) -> Iterator[Finding]:
    """Report statements whose plan differed between rounds, with the speed of the rounds of each plan."""
    for cell in material.cells:
        for statement in cell.statements:
            planned = _planned(cell, statement)
            if len(planned) > 1:
                yield _changed(cell, statement, planned)


def _planned(cell: Cell, statement: CellStatement) -> list[_Planned]:
    """Group the rounds by their plan of a statement, in the order of first use."""
    found: dict[tuple[str, ...], _Planned] = {}
    for round_ in done(cell):
        plan = round_.plans.get(statement.name, statement.plan)
        found.setdefault(steps_of(plan), _Planned(plan)).rounds.append(round_)
    return list(found.values())


def _changed(cell: Cell, statement: CellStatement, planned: Sequence[_Planned]) -> Finding:
    metric = usual_metric_of(keeps_up(cell))
    steps = _first_apart([each.plan for each in planned])
    values = [[value for one in each.rounds if (value := _value(one, metric)) is not None] for each in planned]
    clauses, ways = [], []
    for each, step, of_each in zip(planned, steps, values, strict=True):
        value, numbers = mean(of_each), [one.block + 1 for one in each.rounds]
        ways.append({"plan": each.plan, "rounds": numbers, metric: value})
        clauses.append(f"`{step}` in {_rounds(numbers)}" + (f" ({_value_words(value, metric, cell)})" if value else ""))
    text = f"The plan of `{shown(statement)}` changed between rounds: {'; '.join(clauses)}."
    evidence: JsonObject = {"statement": statement.sql, "metric": metric, "plans": ways}
    pairs = permutations([each for each in values if each], 2)
    if levels_of(cell) is not None or any(min(one) > _FAR_APART * max(other) for one, other in pairs):
        text += " The mean mostly reflects which plan was more frequent."
        evidence["warning"] = in_two_levels.name
    return plan_changed.found(text, [cell.id], evidence)


def _first_apart(plans: Sequence[list[str]]) -> list[str]:
    """Return each plan's first line in which the plans differ, or its last line if it is shorter."""
    lines = zip_longest(*map(steps_of, plans))
    position = next(number for number, line in enumerate(lines) if len(set(line)) > 1)
    return [_step(plan[min(position, len(plan) - 1)]) if plan else "none" for plan in plans]


def _step(line: str) -> str:
    return shortened(line.strip().removeprefix("->").strip(), _MAX_STEP_LENGTH)


def _value(round_: Round, metric: str) -> float | None:
    if metric == "throughput":
        return round_.throughput
    times = shown_times(round_.latency_ms)
    return None if times is None else times.p99


def _value_words(value: float, metric: str, cell: Cell) -> str:
    if metric == "throughput":
        return f"{rate(value)} {cell.throughput.unit}"
    return f"{metric} {milliseconds(value)} ms"


def _rounds(numbers: Sequence[int]) -> str:
    if len(numbers) > _MAX_ROUNDS:
        return f"{len(numbers)} rounds"
    return f"round {numbers[0]}" if len(numbers) == 1 else f"rounds {all_of([str(number) for number in numbers])}"


# A smaller error rarely changes the plan. Fewer than a thousand rows take some tenths of a millisecond, so that their
# plan is never expensive.
_FAR = 100.0
# Mean numbers of rows are rounded to integers from here on.
_INTEGERS_FROM = 10
_SOME_ROWS = 1000.0


@finding(
    "row estimate",
    needs=("statement", "step", "expected", "found"),
    meaning="The planner's row estimate is at least 100 times too high or too low, and a join, sort or index choice "
    "depends on it.",
    remedy="Improve the planner's statistics as the finding describes.",
)
def row_estimate(material: Material) -> Iterator[Finding]:
    """Report wrong row estimates: one finding per statement, step and system."""
    found: dict[tuple[str, str, str], tuple[CellStatement, RowEstimate, list[Cell]]] = {}
    for cell in material.cells:
        for statement in cell.statements:
            worst = far_off(cell, statement)
            if worst is not None:
                key = (cell.system.name, statement.sql, worst.step)
                found.setdefault(key, (statement, worst, []))[2].append(cell)
    for (_, sql, _), (statement, worst, cells) in found.items():
        on = _conditions(cells[0], statement, worst)
        advice = _advice(cells[0], on)
        evidence: JsonObject = {
            "statement": sql,
            "values": statement.analyzed,
            "step": worst.step,
            "table": None if on is None else on.table,
            "columns": [] if on is None else list(on.columns),
            "expected": worst.expected,
            "found": worst.found,
            "executions": worst.executions,
            "at_least": worst.at_least,
            "times_off": times_off(worst),
            "affects": affected(cells[0], statement, worst),
            "advice": advice,
        }
        text = f"`{title_of(cells[0], statement)}`: {estimate_clause(cells[0], statement, worst)}"
        text += f", which affects {evidence['affects']}"
        text += f": {advice} (not measured)." if advice else "."
        yield row_estimate.found(text, [cell.id for cell in cells], evidence)


def estimate_clause(cell: Cell, statement: CellStatement, worst: RowEstimate) -> str:
    """Return a clause with the expected and actual rows of a step, and the factor between them."""
    return f"{_expectation(worst, _conditions(cell, statement, worst))}, {off_words(worst)}"


def times_off(estimate: RowEstimate) -> float:
    """Return the factor by which an estimate is wrong, in either direction; less than one row counts as one."""
    expected, found = max(estimate.expected, 1.0), max(estimate.found, 1.0)
    return max(expected, found) / min(expected, found)


def off_words(estimate: RowEstimate) -> str:
    """Return a phrase for the error of an estimate."""
    return f"{figure(float(f'{times_off(estimate):.2g}'))} times off"


def far_off(cell: Cell, statement: CellStatement, factor: float = _FAR) -> RowEstimate | None:
    """Return the step with the worst estimate whose inputs are estimated well and that affects the plan, if any.

    ``factor``: the error that counts.
    """
    steps = statement.estimates
    far = [_is_far(estimate, factor) for estimate in steps]
    causes = [
        estimate for position, estimate in enumerate(steps) if far[position] and not _any_below(steps, far, position)
    ]
    return max((estimate for estimate in causes if affected(cell, statement, estimate)), key=times_off, default=None)


def _is_far(estimate: RowEstimate, factor: float) -> bool:
    rows = max(estimate.expected, estimate.found) * estimate.executions
    return times_off(estimate) >= factor and rows >= _SOME_ROWS


def _any_below(steps: Sequence[RowEstimate], far: Sequence[bool], position: int) -> bool:
    """Whether the estimate of an input of a step is far off. Inputs follow the step and are deeper."""
    for estimate, is_far in zip(steps[position + 1 :], far[position + 1 :], strict=True):
        if estimate.depth <= steps[position].depth:
            return False
        if is_far:
            return True
    return False


def affected(cell: Cell, statement: CellStatement, step: RowEstimate) -> str | None:
    """Return the choice of the planner that depends on the estimate of a step; ``None`` if there is none.

    The rows of a step matter to a join above it. Too few expected rows matter to a sort. For a table whose condition
    has an index, they matter if the planner chose an index and there are more rows, or a scan and there are fewer.
    Nothing depends on the groups of the last aggregate, or on the rows of a single table without an index.
    """
    if _feeds_join(cell, statement, step):
        return "the order and method of a join"
    if step.table is None and not _is_join(step):
        return None
    if step.found > step.expected and any(plan_node.kind == "sort" for plan_node in statement.plan_nodes):
        return "the memory of a sort, or an order by index instead"
    return "the choice between an index and a scan" if _chose_by(cell, statement, step) else None


def _feeds_join(cell: Cell, statement: CellStatement, step: RowEstimate) -> bool:
    """Whether the output of a step is joined. MariaDB reports only the tables of a join."""
    steps = statement.estimates
    position = next(position for position, estimate in enumerate(steps) if estimate is step)
    depth = step.depth
    for estimate in reversed(steps[:position]):
        if estimate.depth < depth:
            depth = estimate.depth
            if _is_join(estimate):
                return True
    if step.table is not None:
        return _joins(cell, statement)
    # If an input of a join isn't known, it may be the one that is estimated wrongly.
    return _is_join(step) and len(_inputs(steps, position)) <= 1


def _is_join(step: RowEstimate) -> bool:
    return step.table is None and any(word in step.step.lower() for word in ("join", "nested loop"))


def _inputs(steps: Sequence[RowEstimate], position: int) -> list[RowEstimate]:
    below: list[RowEstimate] = []
    for estimate in steps[position + 1 :]:
        if estimate.depth <= steps[position].depth:
            break
        below.append(estimate)
    return [estimate for estimate in below if estimate.depth == min(one.depth for one in below)]


def _chose_by(cell: Cell, statement: CellStatement, step: RowEstimate) -> bool:
    """Whether the planner chose between an index and a scan, and the estimate favored its choice."""
    on = _conditions(cell, statement, step)
    names = {each.lower() for each in (step.table, on.table if on else None) if each}
    nodes = [
        plan_node
        for plan_node in statement.plan_nodes
        if {str(plan_node.table).lower(), str(plan_node.alias).lower()} & names
    ]
    chosen = {node.kind if node.index is None or node.kind == "search" else "ordered" for node in nodes}
    if on is None or not (on.indexed or "ordered" in chosen):
        return False
    favored = "scan" if step.expected > step.found else "search"
    return not chosen or favored in chosen or "ordered" in chosen


def _joins(cell: Cell, statement: CellStatement) -> bool:
    read = engine_of_cell(cell).read_plan(statement.plan)
    tables = {estimate.table for estimate in statement.estimates if estimate.table}
    return len(tables) > 1 or (read is not None and len(read.reads) > 1)


def _conditions(cell: Cell, statement: CellStatement, worst: RowEstimate) -> Conditions | None:
    if worst.table is None:
        return None
    return conditions_on(statement.sql, engine_name(cell), worst.table, cell.system.catalog)


def _advice(cell: Cell, on: Conditions | None) -> str | None:
    return engine_of_cell(cell).better_estimates(cell.system.engine or "", on)


def _expectation(estimate: RowEstimate, on: Conditions | None) -> str:
    """Return a clause with the expected and the actual rows; an expectation below one row counts as one."""
    expected = f"{max(estimate.expected, 1.0):,.0f}"
    rows = "row" if expected == "1" else "rows"
    step = f"`{shortened(estimate.step, _MAX_STEP_LENGTH)}`"
    of = step if on is None else f"{on.table} ({step})"
    often = f" each of {estimate.executions:,.0f} times" if estimate.executions > 1 else ""
    least = "at least " if estimate.at_least else ""
    there = "are" if estimate.found != 1 else "is"
    return f"the planner expects {expected} {rows} of {of}{often} and there {there} {least}{figure_of(estimate.found)}"


def figure_of(rows: float) -> str:
    """Format a mean number of rows: as an integer, or with decimals below ten."""
    return f"{rows:,.0f}" if rows >= _INTEGERS_FROM or rows == int(rows) else figure(rows)


@finding(
    "generic plan",
    needs=("statement", "generic", "custom"),
    meaning="The generic plan of a prepared statement differs in kind from its plan for certain values.",
    remedy="If the generic plan is worse, set `plan_cache_mode = force_custom_plan`, or prepare per transaction.",
)
def generic_plan(material: Material) -> Iterator[Finding]:
    """Report prepared statements whose generic plan is of another kind, and when it is used."""
    found: dict[tuple[str, str], tuple[CellStatement, list[str]]] = {}
    for cell in material.cells:
        for statement in cell.statements:
            if statement.prepared is not None:
                found.setdefault((cell.system.name, statement.sql), (statement, []))[1].append(cell.id)
    by_id = {cell.id: cell for cell in material.cells}
    for statement, cells in found.values():
        cell, prepared = by_id[cells[0]], statement.prepared
        if prepared is None:
            continue
        generic, custom = (
            plan_words(plan_nodes(cell.system, statement.sql, plan)) for plan in (prepared.generic, prepared.custom)
        )
        costs = f"estimated costs {figure(prepared.generic_cost)} and {figure(prepared.custom_cost)}"
        used = (
            f"from execution {prepared.generic_from} of a session on"
            if prepared.generic_from is not None
            else "which is not chosen"
        )
        text = f"`{title_of(cell, statement)}` has the generic plan {generic}, {used}; its plan for given values is "
        text += f"{custom} ({costs}, planning included)."
        evidence: JsonObject = {
            "statement": statement.sql,
            "generic": prepared.generic,
            "custom": prepared.custom,
            "generic_from": prepared.generic_from,
            "generic_cost": prepared.generic_cost,
            "custom_cost": prepared.custom_cost,
        }
        yield generic_plan.found(text, cells, evidence)
