"""Reading of stored plans."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import Discriminator, TypeAdapter, ValidationError

from dbdyno.model.plan.tasks import ProgramTask, TrialTask


def read_task(plan: dict[str, Any]) -> TrialTask | ProgramTask | None:
    """Read the task of a trial's stored plan.

    None if a trial failed before it had a plan, or if another version wrote the plan in a format that this one doesn't
    know. Unknown keys are ignored, and missing keys have their defaults.
    """
    task = plan.get("task")
    if not isinstance(task, dict):
        return None
    try:
        return _adapter().validate_python({"kind": "trial", **task})
    except ValidationError:
        return None


@cache
def _adapter() -> TypeAdapter[TrialTask | ProgramTask]:
    return TypeAdapter(Annotated[TrialTask | ProgramTask, Discriminator("kind")])
