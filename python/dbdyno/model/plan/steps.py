"""The steps of a plan's transactions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PlanStep = dict[str, Any]


def flat(steps: Iterable[PlanStep]) -> Iterator[PlanStep]:
    """Yield the steps of a transaction. Nested steps follow the step that contains them."""
    for step in steps:
        yield step
        for inner in ("steps", "then", "otherwise"):
            yield from flat(step.get(inner) or [])


def without_thinking(steps: Iterable[PlanStep]) -> list[PlanStep]:
    """Return steps without pauses, including nested steps. Loops that contain only pauses are removed, too."""
    left = []
    for step in steps:
        if step["do"] in ("think", "pause"):
            continue
        inner = {key: without_thinking(step[key]) for key in ("then", "otherwise", "steps") if key in step}
        if step["do"] != "repeat" or inner["steps"]:
            left.append(step | inner)
    return left


def begins(task: Mapping[str, Any]) -> set[str]:
    """Return the modes in which a task's transactions begin; empty if it has no explicit transactions."""
    steps = [step for each in task.get("transactions", []) for step in flat(each["steps"])]
    modes = {str(step["mode"]) for step in steps if step["do"] == "begin"}
    # A statement can begin a transaction, too.
    words = [str(each["sql"]).lower().split() for each in task.get("statements", [])]
    begun = [each for each in words if each[:1] in (["begin"], ["start"], ["savepoint"])]
    return modes | {next((mode for mode in ("immediate", "exclusive") if mode in each), "deferred") for each in begun}
