"""Reading with tolerance what has no types: plans, designs, options and observations, as a run's store has them.

A field may be missing, or of another kind. What workers say has types, in :mod:`dbdyno.model.events`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, TypeVar

JsonObject = dict[str, Any]

_Times = TypeVar("_Times")


def part(source: Any, *keys: str) -> JsonObject:
    """Return the object at a path of keys, or an empty one."""
    for key in keys:
        source = source.get(key) if isinstance(source, dict) else None
    return source if isinstance(source, dict) else {}


def number(source: JsonObject, key: str) -> float | None:
    """Return a finite number at ``key``, or None."""
    value = source.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def count(source: JsonObject, key: str) -> int | None:
    """Return a whole number at ``key``, or None."""
    value = number(source, key)
    return None if value is None else int(value)


def text(source: JsonObject, key: str) -> str | None:
    """Return a text at ``key``, or None."""
    value = source.get(key)
    return value if isinstance(value, str) and value else None


def objects(source: Any) -> list[JsonObject]:
    """Return the objects in a list, or nothing where it is none."""
    return [each for each in source if isinstance(each, dict)] if isinstance(source, list) else []


def texts(source: Any) -> list[str]:
    """Return the texts in a list, or nothing where it is none."""
    return [each for each in source if isinstance(each, str)] if isinstance(source, list) else []


def shown_times(of: Mapping[str, _Times | None]) -> _Times | None:
    """Return what is known of the response time; in a closed loop, which has none, of the service time."""
    return of.get("response") or of.get("service")


def ratio(above: float | None, below: float | None) -> float | None:
    """Return ``above / below``, or None where either is missing or there is nothing to divide by."""
    return None if above is None or not below else above / below


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there, or None."""
    there = [value for value in values if value is not None]
    return fmean(there) if there else None
