"""Inspect the data after a trial: measure their space, and time statements on them."""

from typing import Any

from dbdyno.base.errors import RunInterrupted, SystemFailed
from dbdyno.model.events.answers import Answer, Loaded, Space
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import AskTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.memory_limit import Limiting
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.interruption import Interruption


def violated_checks(compiled: CompiledCell, target: dict[str, Any], interrupted: Interruption) -> str | None:
    """Return which conditions the data don't meet after a trial, or None if they meet all."""
    violations = []
    for check in compiled.checks:
        plan = WorkerPlan(task=AskTask(target=target, sql=check.sql))
        try:
            violation = check.violation(ask(plan, Answer, interrupted=interrupted).answer)
        except RunInterrupted:
            return None
        except SystemFailed as error:
            violation = f"the check `{check.name}` failed: {error}: {' '.join(check.sql.split())}"
        if violation is not None:
            violations.append(violation)
    return "; ".join(violations) or None


def inspect_data(
    compiled: CompiledCell, target: dict[str, Any], interrupted: Interruption, limiting: Limiting
) -> dict[str, Any]:
    """Inspect the data after a trial if its plan asks for it; return the result or the error, as ``after``.

    Statements run as they do when data are loaded: with the engine's settings for loading, and without a memory limit.
    ``limiting`` owns the page cache they fill, so that the cache is dropped before the limit applies again.
    """
    if not (compiled.definition.measure.space or compiled.timed):
        return {}
    found: dict[str, Any] = {"space": [], "timed": [], "failed": {}}
    after = {"after": found}
    if compiled.definition.measure.space:
        try:
            space = ask(compiled.space_plan(target), Space, interrupted=interrupted, started=limiting.covers)
            found["space"] = [each.model_dump() for each in space.objects]
        except RunInterrupted:
            return after
        except SystemFailed as error:
            found["failed"]["space"] = str(error)
    for statement in compiled.timed:
        try:
            loaded = ask(
                compiled.statements_plan(target, [statement.run, *statement.undo]),
                Loaded,
                interrupted=interrupted,
                started=limiting.covers,
            )
            seconds = next(step.seconds for step in loaded.tables if step.table == statement.run)
            found["timed"].append({"name": statement.name, "sql": statement.run, "seconds": seconds})
        except RunInterrupted:
            return after
        except SystemFailed as error:
            found["failed"][statement.name] = str(error)
    return after
