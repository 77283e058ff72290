"""Writing the types of a plan as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any

_KEY = "omitted"

OMITTED = {_KEY: True}
"""The metadata of a field that the JSON omits if it is None (for the default None), or false, 0 or empty."""


def as_json(value: Any) -> Any:
    """Return a part of a plan as JSON: an object for a dataclass, with its fields in their order.

    The key of the field ``from_`` is ``from``, which can't be a name in Python.
    """
    if is_dataclass(value) and not isinstance(value, type):
        made = {}
        for name, default in _fields(value.__class__):
            own = getattr(value, name)
            if default is MISSING or (own is not None if default is None else own):
                made[name.rstrip("_")] = as_json(own)
        return made
    if isinstance(value, Mapping):
        return {name: as_json(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(item) for item in value]
    return value


@cache
def _fields(kind: type[Any]) -> list[tuple[str, Any]]:
    """Return the names of a type's fields; for a field that can be omitted, also its default."""
    return [(field.name, _default(field) if field.metadata.get(_KEY) else MISSING) for field in fields(kind)]


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()
