"""The transactions of a plan's task."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PlanStep = dict[str, Any]


def flat(steps: Iterable[PlanStep]) -> Iterator[PlanStep]:
    """Give the steps of a plan's transaction, those inside others behind them."""
    for step in steps:
        yield step
        for inner in ("steps", "then", "otherwise"):
            yield from flat(step.get(inner) or [])


def without_thinking(steps: Iterable[PlanStep]) -> list[PlanStep]:
    """Return a plan's steps without pauses, also those within other steps; loops that only pause are left out too."""
    left = []
    for step in steps:
        if step["do"] in ("think", "pause"):
            continue
        inner = {key: without_thinking(step[key]) for key in ("then", "otherwise", "steps") if key in step}
        if step["do"] != "repeat" or inner["steps"]:
            left.append(step | inner)
    return left


def begins(task: Mapping[str, Any]) -> set[str]:
    """Give the modes in which a task's transactions begin: none where each statement is one of its own."""
    steps = [step for each in task.get("transactions", []) for step in flat(each["steps"])]
    modes = {str(step["mode"]) for step in steps if step["do"] == "begin"}
    # A statement can begin one too.
    words = [str(each["sql"]).lower().split() for each in task.get("statements", [])]
    begun = [each for each in words if each[:1] in (["begin"], ["start"], ["savepoint"])]
    return modes | {next((mode for mode in ("immediate", "exclusive") if mode in each), "deferred") for each in begun}
