"""Read fields of untyped JSON objects: the plans, designs, options and observations in the store.

Fields may be missing or have another type. Events of workers have types, see :mod:`dbdyno.model.events`.
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
    """Return the finite number at ``key``, or None."""
    value = source.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def count(source: JsonObject, key: str) -> int | None:
    """Return the number at ``key``, truncated to an integer, or None."""
    value = number(source, key)
    return None if value is None else int(value)


def text(source: JsonObject, key: str) -> str | None:
    """Return the string at ``key``, or None if it is missing or empty."""
    value = source.get(key)
    return value if isinstance(value, str) and value else None


def objects(source: Any) -> list[JsonObject]:
    """Return the objects in a list; empty if ``source`` isn't a list."""
    return [each for each in source if isinstance(each, dict)] if isinstance(source, list) else []


def texts(source: Any) -> list[str]:
    """Return the strings in a list; empty if ``source`` isn't a list."""
    return [each for each in source if isinstance(each, str)] if isinstance(source, list) else []


def shown_times(times: Mapping[str, _Times | None]) -> _Times | None:
    """Return the response time, or the service time in a closed loop, which has no response time."""
    return times.get("response") or times.get("service")


def ratio(above: float | None, below: float | None) -> float | None:
    """Return ``above / below``, or None if either is missing or ``below`` is 0."""
    return None if above is None or not below else above / below


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that aren't None, or None if there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
