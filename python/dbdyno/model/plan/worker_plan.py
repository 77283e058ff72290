"""The plan of a worker: one task with its seed (crates/protocol/src/plan/document.rs)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from dbdyno.model.events.base import Count
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.tasks import Task, TrialTask

PLAN: Literal["dbdyno.plan/1"] = "dbdyno.plan/1"
"""The version of the format."""

TaskT = TypeVar("TaskT", bound=Task)


@dataclass(frozen=True, kw_only=True)
class WorkerPlan(Generic[TaskT]):
    """All that a worker needs to know. ``seed``: of the run, from which the random streams are derived."""

    schema: Literal["dbdyno.plan/1"] = PLAN
    seed: Count = 1
    task: TaskT

    def with_task(self, task: TaskT) -> WorkerPlan[TaskT]:
        """Return the plan with another task and the same seed."""
        return replace(self, task=task)

    @property
    def json(self) -> dict[str, Any]:
        """The JSON object that the worker reads."""
        made: dict[str, Any] = as_json(self)
        return made


TrialPlan = WorkerPlan[TrialTask]
"""The plan of a trial."""
