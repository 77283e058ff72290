"""Run statements for the same values on all systems, and compare the rows that they return.

`queries`, `try` and `upgrade` do this before the first trial.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.measured.cell_pairs import baselines, side_pairs
from dbdyno.analysis.row_differences import ROWS_COMPARED, Ordering, RowVerdict, compare_rows, ordering_of
from dbdyno.base.errors import DbdynoError, InputError, SystemFailed
from dbdyno.base.sql_tree import VALUE
from dbdyno.engines import engine_of
from dbdyno.engines.statements import numbered
from dbdyno.engines.writes import writing_transactions
from dbdyno.experiment.compile.representative import NoValueError, drawn
from dbdyno.model.events.answers import ExecutionRows, Rows
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.generators import Constant, Generator, Variable
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.steps import Execute, Set, Step, Transaction
from dbdyno.model.plan.tasks import Record, Warmup, Window, without_analysis
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.worker import ask

# Executions of a statement with parameters, each for other values.
_EXECUTIONS = 5
# Seconds for the executions of one statement.
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class RowComparison:
    """The verdict on the rows of two cells, by their ids. ``statement``: the name of the second one's."""

    a: str
    b: str
    statement: str
    found: RowVerdict

    @property
    def observation(self) -> dict[str, Any]:
        """The observation to store, without values of rows."""
        return {
            "kind": ROWS_COMPARED,
            "cells": [self.a, self.b],
            "verdict": self.found.verdict,
            "words": self.found.words,
        }


def has_rows_to_compare(compiled: Sequence[CompiledCell]) -> bool:
    """Whether the cells are statements on existing databases, of which several may return the same rows."""
    return len(compiled) > 1 and all(_is_statement(cell) for cell in compiled)


def _is_statement(compiled: CompiledCell) -> bool:
    grammar = engine_of(compiled.cell.system.engine).grammar
    return STATEMENT in compiled.cell.factors and not compiled.tables and grammar is not None


def check_rows(
    compiled: Sequence[CompiledCell],
    questions: Sequence[str],
    seed: int,
    provisioners: Provisioners,
    *,
    of_sides: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> list[RowComparison]:
    """Compare the rows of each cell with its baseline's, on the same engine.

    ``questions``: the factors whose levels are never compared; ``of_sides``: compare candidate with
    baseline cells; ``note``: called before each statement. The rows of a failing system are unknown.
    """
    levels = [cell.cell.factors for cell in compiled]
    places = side_pairs(levels) if of_sides else baselines(levels, questions)
    reader = _Reader(seed, provisioners, note)
    row_comparisons = []
    for a, b in places:
        one, other = compiled[a], compiled[b]
        if one.cell.system.engine == other.cell.system.engine and not provisioners.interrupted:
            verdict = _compare(one, other, reader)
            row_comparisons.append(
                RowComparison(one.cell.id, other.cell.id, str(other.cell.factors[STATEMENT]), verdict)
            )
    return row_comparisons


def compare_cells(a: CompiledCell, b: CompiledCell, seed: int, provisioners: Provisioners) -> RowVerdict:
    """Compare the rows of two cells. Raises InputError for an unusable system."""
    return _compare(a, b, _Reader(seed, provisioners, lambda _: None))


def _compare(a: CompiledCell, b: CompiledCell, reader: _Reader) -> RowVerdict:
    try:
        if any(_writes(cell, reader.provisioners) for cell in (a, b)):
            return RowVerdict("unknown", "the statement may write")
        rows_a, rows_b = reader.rows(a), reader.rows(b)
        verdict = compare_rows(rows_a, rows_b, _ordering(a), _ordering(b))
        if verdict.verdict == "differ":
            again = compare_rows(rows_a, reader.rows(a, again=True), _ordering(a), _ordering(a))
            if again.verdict == "differ":
                return RowVerdict("unknown", "the rows differ each time that the statement is executed")
    except InputError:
        raise
    except DbdynoError as error:
        return RowVerdict("unknown", str(error))
    return verdict


def _writes(compiled: CompiledCell, provisioners: Provisioners) -> bool:
    """Whether running a cell's statement once more could change the user's data. Files are copied first."""
    if not engine_of(compiled.cell.system.engine).is_server:
        return False
    return any(writing_transactions(compiled, provisioners).values())


def _ordering(compiled: CompiledCell) -> Ordering:
    engine = engine_of(compiled.cell.system.engine)
    (statement, *_) = compiled.task.statements
    return ordering_of(numbered(statement.sql, VALUE, engine.name), engine.grammar)


class _Reader:
    """Runs statements and keeps their rows."""

    def __init__(self, seed: int, provisioners: Provisioners, note: Callable[[str], None]) -> None:
        self._seed, self.provisioners, self._note = seed, provisioners, note
        self._known: dict[Hashable, list[ExecutionRows]] = {}

    def rows(self, compiled: CompiledCell, *, again: bool = False) -> list[ExecutionRows]:
        """Return the rows of the executions that changed nothing. Raises DbdynoError."""
        key = (compiled.cell.system.name, compiled.cell.id, compiled.added)
        if again or key not in self._known:
            self._note(str(compiled.cell.factors[STATEMENT]))
            rows = read_rows(compiled, self._seed, self.provisioners)
            if again:
                return rows
            self._known[key] = rows
        return self._known[key]


def read_rows(compiled: CompiledCell, seed: int, provisioners: Provisioners) -> list[ExecutionRows]:
    """Run a cell's transaction for a few values and return the rows of the executions that changed nothing.

    Cells with the same parameters get the same values. Raises DbdynoError.
    """
    with provisioners.of(compiled).ready(compiled, 0) as ready:
        steps = compiled.task.transactions[0].steps
        executions = _EXECUTIONS if _varies(steps) else 1
        drawn_steps = [step for number in range(executions) for step in _drawn(steps, seed, number)]
        task = replace(
            compiled.task,
            target=ready.target,
            clients=1,
            beside=(),
            warmup=Warmup(),
            window=Window(transactions=1),
            statements=without_analysis(compiled.task.statements),
            transactions=[Transaction(name="rows", steps=drawn_steps)],
            record=Record(rows=True, operations=False, io=False, waits=False, mutexes=False),
        )
        try:
            read = ask(WorkerPlan(seed=seed, task=task), Rows, _TIMEOUT_S, provisioners.interrupted)
        except SystemFailed as error:
            raise SystemFailed(f"the rows could not be read: {error}") from error
    return [execution for execution in read.executions if not execution.changed]


def _varies(steps: Sequence[Step]) -> bool:
    return any(not isinstance(generator, Constant | Variable) for step in steps for generator in _values(step))


def _values(step: Step) -> Sequence[Generator]:
    match step:
        case Execute():
            return step.params
        case Set():
            return [step.value]
    return ()


def _drawn(steps: Sequence[Step], seed: int, number: int) -> list[Step]:
    """Return steps with constants for their values, which depend only on the generators and their order."""
    used: dict[str, int] = {}

    def constant(generator: Generator) -> Generator:
        text = json.dumps(as_json(generator), sort_keys=True)
        used[text] = used.get(text, -1) + 1
        try:
            value = drawn(generator, random.Random(f"{seed}/{number}/{used[text]}/{text}"))
        except NoValueError:
            return generator
        return Constant(value=value)

    made: list[Step] = []
    for step in steps:
        match step:
            case Execute():
                made.append(replace(step, params=[constant(param) for param in step.params]))
            case Set():
                made.append(replace(step, value=constant(step.value)))
            case _:
                made.append(step)
    return made
