"""The facts about a cell from which fixes are chosen: its limits, plans, and settings in effect."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import psutil

from dbdyno.analysis.why.resource_names import RESOURCE_NAMES
from dbdyno.engines import engine_of
from dbdyno.engines.fixes import Situation, StatementFacts
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import Resource
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import number
from dbdyno.model.result.why import Why


def situation_of(compiled: CompiledCell, cell: Cell, why: Why, data_bytes: float | None) -> Situation:
    """Return the facts about the unchanged cell. ``data_bytes``: size of its tables if the engine doesn't report it."""
    system = compiled.cell.system
    engine = engine_of(system.engine)
    dialect = engine.dialect(compiled.definition, system.name, compiled.settings)
    catalog = cell.system.catalog
    told = number(catalog, "data_bytes")
    return Situation(
        engine=system.engine,
        resources=limiting(why),
        load=compiled.definition.load,
        settings={name: str(value) for name, value in cell.system.settings.items()},
        asked=compiled.settings,
        product=cell.system.engine or "",
        version=tuple(int(each) for each in re.findall(r"\d+", cell.system.version or "")[:3]),
        statements=_statements(compiled, cell),
        transactions=compiled.task.transactions,
        catalog=catalog,
        begins=frozenset(compiled.task.begins),
        data_bytes=data_bytes if told is None else told,
        memory_bytes=float(psutil.virtual_memory().total),
        processors=len(os.sched_getaffinity(0)),
        named=system.host is not None,
        own_tables=bool(compiled.tables),
        failed=frozenset(kind for round_ in cell.rounds for kind, count in round_.failed.items() if count),
        quote=dialect.quote,
    )


def limiting(why: Why) -> tuple[Resource, ...]:
    """Return the limiting resources: the bottleneck, then parts; without a bottleneck also inconclusive ones.

    Resources with equal verdicts begin with the bottleneck that the report inferred.
    """
    settled = why.bottleneck is not None
    order = ("bottleneck", "part") if settled else ("bottleneck", "part", "inconclusive")
    resources = [resource for verdict in order for resource in why.resources if resource.verdict == verdict]
    resources.sort(key=lambda resource: (order.index(resource.verdict), not resource.inferred))
    return tuple(_known(resource.resource) for resource in resources)


def _known(resource: str) -> Resource:
    return next(name for name in RESOURCE_NAMES if name == resource)


def _statements(compiled: CompiledCell, cell: Cell) -> Sequence[StatementFacts]:
    told = {statement.name: statement for statement in cell.statements}
    seconds = {operation.name: operation.seconds for operation in cell.operations if operation.kind == "statement"}
    made = []
    for statement in compiled.task.statements:
        seen = told.get(statement.name)
        plan, rows = ((), None) if seen is None else (seen.plan, seen.rows)
        spent_s = seconds.get(statement.name, 0.0)
        made.append(StatementFacts(statement.name, statement.sql, statement.example, plan, rows, spent_s))
    return made
