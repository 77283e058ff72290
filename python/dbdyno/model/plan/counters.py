"""The counters of a task. A trial continues counting at the value where the previous trial on the same tables ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def step_of_counters(task: Mapping[str, Any]) -> int:
    """Return how far one use advances a counter: the maximum over a task's counters, or 1 without counters.

    In an insert of ten rows, each row takes every tenth value, so one use advances the counter by ten.
    """
    return max((abs(step) for step in _steps(task.get("transactions", []))), default=1) or 1


def _steps(part: Any) -> Iterator[int]:
    match part:
        case {"kind": "serial", "step": int(step)}:
            yield step
        case Mapping():
            # A reference draws an existing row and doesn't advance a counter.
            for name, each in part.items():
                if not (name == "of" and part.get("kind") == "reference"):
                    yield from _steps(each)
        case list() | tuple():
            for each in part:
                yield from _steps(each)
