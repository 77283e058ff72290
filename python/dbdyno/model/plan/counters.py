"""Counters of a task: how far a use moves them, so that trials on the same tables go on where others ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def step_of_counters(task: Mapping[str, Any]) -> int:
    """Return by how much one use moves the values of a task's counters, the greatest of several; 1 without any.

    An insert of ten rows takes every tenth value for each of them, so that one use of a counter moves it by ten.
    """
    return max((abs(step) for step in _steps(task.get("transactions", []))), default=1) or 1


def _steps(part: Any) -> Iterator[int]:
    match part:
        case {"kind": "serial", "step": int(step)}:
            yield step
        case Mapping():
            # A reference draws among the rows that are there, and uses no counter.
            for name, each in part.items():
                if not (name == "of" and part.get("kind") == "reference"):
                    yield from _steps(each)
        case list() | tuple():
            for each in part:
                yield from _steps(each)
