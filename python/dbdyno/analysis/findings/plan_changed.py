"""Statements whose plan is not the same in all rounds, and how fast the rounds of each plan were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, zip_longest

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.searching import all_of, shown
from dbdyno.analysis.findings.two_levels import TWO_LEVELS, levels_of
from dbdyno.analysis.findings.words import rate
from dbdyno.analysis.measured.metrics import done, keeps_up, usual_metric_of
from dbdyno.base.numbers import milliseconds
from dbdyno.base.text import shortened
from dbdyno.engines.plans import steps_of
from dbdyno.model.result.cell import Cell, CellStatement, Round
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, mean, shown_times
from dbdyno.model.result.shape import Finding

PLAN_CHANGED = Kind("plan changed", ("statement", "plans"))

# Noise alone seldom puts all rounds of one plan so far above all those of another, as a factor.
_APART = 1.2
_LONGEST = 80
_MOST_ROUNDS = 8


@dataclass
class _Planned:
    """A plan, and the rounds that had it."""

    plan: list[str]
    rounds: list[Round] = field(default_factory=list)


def plan_changes(material: Material) -> Iterator[Finding]:
    """Say of each statement that rounds of a cell planned in several ways how fast each way was."""
    for cell in material.cells:
        for statement in cell["statements"]:
            planned = _planned(cell, statement)
            if len(planned) > 1:
                yield _found(cell, statement, planned)


def _planned(cell: Cell, statement: CellStatement) -> list[_Planned]:
    """Group the rounds by how they planned a statement, in the order of their first ones."""
    found: dict[tuple[str, ...], _Planned] = {}
    for each in done(cell):
        plan = each["plans"].get(statement["name"], statement["plan"])
        found.setdefault(steps_of(plan), _Planned(plan)).rounds.append(each)
    return list(found.values())


def _found(cell: Cell, statement: CellStatement, planned: Sequence[_Planned]) -> Finding:
    metric = usual_metric_of(keeps_up(cell))
    steps = _first_apart([each.plan for each in planned])
    values = [[value for one in each.rounds if (value := _value(one, metric)) is not None] for each in planned]
    told, ways = [], []
    for each, step, of_each in zip(planned, steps, values, strict=True):
        value, numbers = mean(of_each), [one["block"] + 1 for one in each.rounds]
        ways.append({"plan": each.plan, "rounds": numbers, metric: value})
        told.append(f"`{step}` in {_rounds(numbers)}" + (f" ({_figure(value, metric, cell)})" if value else ""))
    text = f"The plan of `{shown(statement)}` changed between rounds: {'; '.join(told)}."
    evidence: JsonObject = {"statement": statement["sql"], "metric": metric, "plans": ways}
    pairs = permutations([each for each in values if each], 2)
    if levels_of(cell) is not None or any(min(one) > _APART * max(other) for one, other in pairs):
        text += " The mean says which of them came up more often."
        evidence["warning"] = TWO_LEVELS.name
    return PLAN_CHANGED.found(text, [cell["id"]], evidence)


def _first_apart(plans: Sequence[list[str]]) -> list[str]:
    """Give of each plan the first line in which they are not all alike; of one that has ended there, its last."""
    lines = zip_longest(*map(steps_of, plans))
    place = next(number for number, each in enumerate(lines) if len(set(each)) > 1)
    return [_step(plan[min(place, len(plan) - 1)]) if plan else "none" for plan in plans]


def _step(line: str) -> str:
    return shortened(line.strip().removeprefix("->").strip(), _LONGEST)


def _value(each: Round, metric: str) -> float | None:
    if metric == "throughput":
        return each["throughput"]
    times = shown_times(each["latency_ms"])
    return None if times is None else times["p99"]


def _figure(value: float, metric: str, cell: Cell) -> str:
    if metric == "throughput":
        return f"{rate(value)} {cell['throughput']['unit']}"
    return f"{metric} {milliseconds(value)} ms"


def _rounds(numbers: Sequence[int]) -> str:
    if len(numbers) > _MOST_ROUNDS:
        return f"{len(numbers)} rounds"
    return f"round {numbers[0]}" if len(numbers) == 1 else f"rounds {all_of([str(each) for each in numbers])}"


RULE = Rule(plan_changes, (PLAN_CHANGED,))
