"""The statements of a cell with their values, rows and plans, and the time of loading its data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.base.sql_tree import VALUE
from dbdyno.engines import engine_of_product
from dbdyno.engines.plans import kinds, steps_of, with_table_names
from dbdyno.engines.statements import numbered
from dbdyno.model.events.surroundings import Loading
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result.cell import CellStatement, Load, LoadStep, PlanNode, PreparedPlans, Round, RowEstimate, System
from dbdyno.model.result.reading import count, objects, part, ratio

# Matches the start of a statement that creates an index, in SQL or as a MongoDB command.
_INDEX = re.compile(r"""create\s+(unique\s+)?index\b|\s*\{\s*"createIndexes"\s*:""", re.IGNORECASE)


def cell_statements(trials: Sequence[ReadTrial], done: Sequence[Round], system: System) -> list[CellStatement]:
    """Return the statements of a cell in the order of its plan."""
    statements = next(
        (trial.of_worker.statements for trial in trials if trial.of_worker and trial.of_worker.statements), ()
    )
    estimates, analyzed = _estimates(trials)
    prepared = _prepared(trials, system)
    made: list[CellStatement] = []
    for statement in statements:
        name, sql = statement.name, statement.sql
        counts = [part(each_round.statements_by_name, name) for each_round in done]
        made.append(
            CellStatement(
                name=name,
                sql=sql,
                values=list(statement.example),
                rows=ratio(
                    sum(count(one, "rows") or 0 for one in counts), sum(count(one, "executions") or 0 for one in counts)
                ),
                plan=system.plans.get(name, []),
                plan_nodes=plan_nodes(system, sql, system.plans.get(name, []), estimates.get(name, [])),
                analyzed=analyzed.get(name, []),
                estimates=estimates.get(name, []),
                prepared=prepared.get(name),
            )
        )
    return made


def plan_nodes(system: System, sql: str, plan: Sequence[str], estimates: Sequence[RowEstimate] = ()) -> list[PlanNode]:
    """Return the steps of a statement's plan with the names of tables and the rows that are known."""
    engine = engine_of_product(system.engine)
    read = engine.read_plan(plan)
    if read is None:
        return []
    tables = [str(table.get("name")) for table in objects(system.catalog.get("tables"))]
    nodes = with_table_names(read.nodes, numbered(sql, VALUE, engine.name), engine.grammar, tables)
    partial = [
        (str(table.get("name")), index.get("name"))
        for table in objects(system.catalog.get("tables"))
        for index in objects(table.get("indexes"))
        if index.get("partial")
    ]
    left = list(estimates)
    for node in nodes:
        # A partial index has only the rows that the statement looks for.
        if node.kind == "scan" and (node.table, node.index) in partial:
            node.kind = "search"
        named = (estimate for estimate in left if estimate.step.removeprefix("Parallel ") == node.line)
        alike = next(named, None) or _only_one(nodes, node, left)
        if alike is not None:
            left.remove(alike)
            node.expected, node.found = alike.expected, alike.found
    return nodes


def _only_one(nodes: Sequence[PlanNode], node: PlanNode, estimates: Sequence[RowEstimate]) -> RowEstimate | None:
    """Return the estimate of the only step that reads a table, if the plan has one such step as well."""
    names = {each.lower() for each in (node.table, node.alias) if each}
    alike = [estimate for estimate in estimates if estimate.table is not None and estimate.table.lower() in names]
    reads = [
        plan_node
        for plan_node in nodes
        if node.table is not None and (plan_node.table, plan_node.alias) == (node.table, node.alias)
    ]
    return alike[0] if len(alike) == len(reads) == 1 else None


def other_plans(trial: ReadTrial, system: System) -> dict[str, list[str]]:
    """Return the plans of a trial that differ from the cell's, by statement."""
    plans = trial.result.engine.plans if isinstance(trial.result, TrialResult) else {}
    usual = system.plans
    return {name: plan for name, plan in plans.items() if name in usual and steps_of(plan) != steps_of(usual[name])}


def _estimates(trials: Sequence[ReadTrial]) -> tuple[dict[str, list[RowEstimate]], dict[str, list[Any]]]:
    """Return row estimates and the values used for them, by statement, from the first trial that has any."""
    for trial in trials:
        if isinstance(trial.result, TrialResult) and trial.result.engine.estimates:
            estimates: dict[str, list[RowEstimate]] = {
                name: [
                    RowEstimate(
                        step=estimate.step,
                        table=estimate.table,
                        depth=estimate.depth,
                        expected=estimate.expected,
                        found=estimate.found,
                        executions=estimate.executions,
                        at_least=estimate.at_least,
                    )
                    for estimate in steps
                ]
                for name, steps in trial.result.engine.estimates.items()
            }
            statements = trial.of_worker.statements if trial.of_worker else ()
            known = (
                statement for statement in statements if statement.name in estimates and statement.analyze is not None
            )
            return estimates, {statement.name: list(statement.analyze or ()) for statement in known}
    return {}, {}


# PostgreSQL plans the first executions of a prepared statement for their values (``choose_custom_plan`` in its source).
_CUSTOM_EXECUTIONS = 5
# The cost of planning a query, per table and one more, in units of `cpu_operator_cost` (``cached_plan_cost``).
_PLANNING = 1000.0
_OPERATOR_COST = 0.0025


def _prepared(trials: Sequence[ReadTrial], system: System) -> dict[str, PreparedPlans]:
    """Return the plans of prepared statements that differ in kind, from the first trial that has them."""
    for trial in trials:
        told = trial.result.engine.prepared if isinstance(trial.result, TrialResult) else {}
        task = trial.of_worker
        if not told or task is None or task.prepare != "once":
            continue
        sql = {statement.name: statement.sql for statement in task.statements}
        made = {}
        for name, prepared_plans in told.items():
            nodes = [
                plan_nodes(system, sql.get(name, ""), plan) for plan in (prepared_plans.generic, prepared_plans.custom)
            ]
            if kinds(nodes[0], is_server=True) == kinds(nodes[1], is_server=True):
                continue
            operator = float(system.settings.get("cpu_operator_cost", _OPERATOR_COST))
            tables = sum(node.table is not None for node in nodes[1])
            cost = prepared_plans.custom_cost + _PLANNING * operator * (tables + 1)
            made[name] = PreparedPlans(
                generic=prepared_plans.generic,
                generic_cost=prepared_plans.generic_cost,
                custom=prepared_plans.custom,
                custom_cost=cost,
                generic_from=_generic_from(
                    prepared_plans.generic_cost, cost, system.settings.get("plan_cache_mode", "auto")
                ),
            )
        return made
    return {}


def _generic_from(generic: float, custom: float, mode: str) -> int | None:
    if mode == "force_generic_plan":
        return 1
    return _CUSTOM_EXECUTIONS + 1 if mode != "force_custom_plan" and generic < custom else None


def cell_load(trials: Sequence[ReadTrial]) -> Load | None:
    """Return the rows and seconds of loading the tables, from the first trial that recorded them."""
    loading: Loading | None = next((trial.loading for trial in trials if trial.loading is not None), None)
    if loading is None or not loading.tables:
        return None
    made: Load = Load(rows=0, rows_s=0.0, indexes_s=0.0, other_s=0.0, at=loading.at, steps=[])
    for step in loading.tables:
        made.steps.append(LoadStep(step=step.table, rows=step.rows, seconds=step.seconds))
        if step.table in loading.names:
            made.rows += step.rows
            made.rows_s += step.seconds
        elif _INDEX.match(step.table):
            made.indexes_s += step.seconds
        else:
            made.other_s += step.seconds
    return made
