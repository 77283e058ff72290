"""Find the bottleneck of a stored trial."""

from __future__ import annotations

from dbdyno.analysis.bottleneck.embedded import diagnose
from dbdyno.analysis.bottleneck.server import diagnose_server
from dbdyno.analysis.bottleneck.transport import in_transport
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.engines import engine_of_product, known_engine
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Bottleneck
from dbdyno.model.result.reading import text


def bottleneck_of(trial: ReadTrial) -> Bottleneck | None:
    """Return the resource that limited a trial; None if the trial has no result or the bottleneck is unknown.

    ``trial``: a trial returned by :func:`dbdyno.analysis.measured.derived.derived`.
    """
    if trial.status != "done" or not isinstance(trial.result, TrialResult):
        return None
    task = trial.of_worker or TrialTask()
    planned = text(task.target, "engine")
    engine = known_engine(planned) if planned else engine_of_product(trial.result.engine.engine)
    statements = {statement.name: statement.sql for statement in task.statements}
    modes = task.begins if task.transactions else None
    arguments = (trial.result, task.clients, modes, statements)
    found = in_transport(trial.result, trial.listeners)
    if found is None and engine.is_server:
        processors, load = (None, None) if trial.allowed is None else (trial.allowed.processors, trial.allowed.load)
        found = diagnose_server(*arguments, processors=processors, load=load)
    elif found is None:
        found = diagnose(*arguments)
    if found is None:
        return None
    return Bottleneck(
        resource=found["resource"],
        evidence=found["evidence"],
        advice=found["advice"],
        rounds=1,
        of=1,
        proven=None,
    )
