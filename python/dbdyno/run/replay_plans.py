"""The plans of replayed statements on their systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dbdyno.analysis.measured.cells import system_of
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.base.errors import DbdynoError, InputError, RunInterrupted, SystemFailed
from dbdyno.experiment.queries import as_query, queries_experiment
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result.cell import PlanNode
from dbdyno.run.plan_tries import prepare_statements, statement_cells
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.replay import Replayed, ReplayOptions
from dbdyno.trace.reading import open_trace
from dbdyno.trace.recording import Recording
from dbdyno.trace.sent import Sent, SentStatements

# Maximum number of statements whose plans are read.
_MAX_STATEMENTS = 20
_PLANNED = frozenset(("delete", "insert", "merge", "replace", "select", "update", "values", "with"))


@dataclass(frozen=True)
class StatementPlan:
    """The plan of a statement: one step per line, and its nodes; no nodes if dbdyno can't parse the engine's plans."""

    lines: list[str]
    nodes: list[PlanNode]


def example_statements(recording: Recording, replayed: Replayed) -> dict[str, str]:
    """Return the slowest execution of each statement, with its parameters as literals, by fingerprint.

    Statements without plans are left out, and so are all but the longest. Raises InputError.
    """
    at = np.flatnonzero(replayed.done & (replayed.executions.error == 0))
    seconds, statements = replayed.executions.seconds[at], recording.statement[at]
    totals = np.bincount(statements, weights=seconds, minlength=len(recording.texts))
    rows: dict[int, str] = {}
    for number in np.argsort(-totals, kind="stable").tolist():
        text = recording.texts[number]
        own = np.flatnonzero(statements == number)
        if len(own) and text.lstrip("(").split(maxsplit=1)[0].lower() in _PLANNED:
            rows[int(recording.row[at[own[np.argmax(seconds[own])]]])] = text
        if len(rows) == _MAX_STATEMENTS:
            break
    return dict(_sent(recording, rows))


def _sent(recording: Recording, rows: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    row, last = 0, max(rows, default=-1)
    statements = SentStatements(recording.header.engine)
    for batch in open_trace(recording.path).batches:
        for sent in map(Sent, batch.sent, batch.prepared):
            text = statements.as_text(sent) if row in rows else None
            if text is not None:
                yield rows[row], text
            row += 1
        if row > last:
            return


def read_plans(statements: Mapping[str, str], system: SystemSpec, options: ReplayOptions) -> dict[str, StatementPlan]:
    """Return the plans of the statements that the system can prepare, by fingerprint.

    Statements are prepared, not executed; of files, on a fresh copy. Raises RunInterrupted.
    """
    cells: dict[str, CompiledCell] = {}
    for name, text in statements.items():
        try:
            query = as_query(text, name, system.engine)
            if query is not None and not query.parameters:
                experiment = queries_experiment([query], {}, "replay", system.engine)
                cells |= statement_cells(experiment, system, [query.name])
        except InputError:
            # A statement that an experiment can't contain.
            continue
    try:
        with Provisioners(options.directory, options.allow_writes) as provisioners:
            return dict(_plans(cells, system, provisioners))
    except RunInterrupted:
        raise
    except DbdynoError:
        return {}


def _plans(
    cells: Mapping[str, CompiledCell], system: SystemSpec, provisioners: Provisioners
) -> Iterator[tuple[str, StatementPlan]]:
    if not cells:
        return
    try:
        yield from _nodes(cells, system, prepare_statements(cells, provisioners))
    except SystemFailed:
        # A statement can't be prepared, for example because its table was temporary.
        if len(cells) > 1:
            names = list(cells)
            for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                yield from _plans({name: cells[name] for name in half}, system, provisioners)


def _nodes(
    cells: Mapping[str, CompiledCell], system: SystemSpec, prepared: TrialResult
) -> Iterator[tuple[str, StatementPlan]]:
    known = system_of({"system": system.name}, [prepared])
    for name, cell in cells.items():
        lines = prepared.engine.plans.get(name)
        if lines:
            sql = cell.task.statements[0].sql
            yield name, StatementPlan(lines, plan_nodes(known, sql, lines))
