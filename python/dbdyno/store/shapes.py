"""What the JSON of a store's columns must be, so that damage and changes by hand are told of the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OBJECTS = ("design", "options", "host", "plan", "around", "durations")
_OBJECTS_OR_NOTHING = ("device", "ceiling", "result")
_LISTS = ("command", "observations", "intervals", "parts")

# Lists of objects: the others hold texts.
_OF_OBJECTS = ("observations", "intervals", "parts")


def checked(row: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Give a row of a run or a trial, or of some of its columns, as it is.

    Raises ValueError, which says whose column it is, where one holds JSON of another shape than dbdyno writes.
    """
    for name, value in row.items():
        if name in _OBJECTS or (name in _OBJECTS_OR_NOTHING and value is not None):
            wanted = isinstance(value, dict)
        elif name in _LISTS:
            inner = dict if name in _OF_OBJECTS else str
            wanted = isinstance(value, list) and all(isinstance(each, inner) for each in value)
        else:
            continue
        if not wanted:
            whose = row.get("run_id") or row.get("id") or "?"
            raise ValueError(f"`{name}` of run {whose} is not what dbdyno writes there")
    return row
