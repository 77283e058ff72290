"""The values of a statement: its literals, and its bound parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.trace.fingerprint import Bound, Fingerprint
from dbdyno.trace.values import UNKNOWN, Values

UNKNOWN_PARAMETER = object()
"""A parameter whose value isn't known."""


class UnreadBytes(bytes):
    """A parameter in a binary format that isn't known."""


def bound_values(
    fingerprint: Fingerprint, values: Values, parameters: Sequence[Any] | Mapping[str, Any] | None
) -> list[str]:
    """Return the values of a statement as a trace has them; ``unknown`` for a parameter whose value isn't known."""
    made = []
    for each in fingerprint.values:
        if not isinstance(each, Bound):
            made.append(values.of_literal(each.text))
            continue
        found = parameter_of(each, parameters)
        made.append(UNKNOWN if found is UNKNOWN_PARAMETER else values.of(found))
    return made


def parameter_of(bound: Bound, parameters: Sequence[Any] | Mapping[str, Any] | None) -> Any:
    """Return the value of a parameter, or :data:`UNKNOWN_PARAMETER`."""
    if isinstance(parameters, Mapping):
        return parameters.get(bound.name, UNKNOWN_PARAMETER)
    at = int(bound.name) - 1 if bound.name.isdigit() else bound.at
    return parameters[at] if parameters is not None and 0 <= at < len(parameters) else UNKNOWN_PARAMETER
