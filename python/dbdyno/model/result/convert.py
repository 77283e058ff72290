"""Convert between result types and JSON. The fields of a dataclass are the keys of an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

JsonObject = dict[str, Any]

_T = TypeVar("_T")
_Convert = Callable[[Any], Any]


def to_json(value: Any) -> JsonObject:
    """Return the JSON object of a result type, such as a ``Document``.

    Parts that are JSON already, such as histograms and intervals, are shared with ``value`` and not copied.
    """
    kind: Any = type(value)
    write = _writer(kind)
    if write is None:
        raise TypeError(f"{type(value).__name__} is not a result type")
    written: JsonObject = write(value)
    return written


def evidence_json(value: Any) -> Any:
    """Return evidence as JSON: result types in its objects and lists become objects."""
    if isinstance(value, dict):
        return {name: evidence_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [evidence_json(item) for item in value]
    return to_json(value) if is_dataclass(value) else value


def from_json(kind: type[_T], source: JsonObject) -> _T:
    """Return a result type from its JSON object. The values are not checked.

    A missing list, object or part is empty and any other missing field is None: a version of dbdyno that didn't know
    the field has written the object. Keys that aren't fields are ignored.
    """
    wanted: Any = kind
    read = _reader(wanted)
    if read is None:
        raise TypeError(f"{kind.__name__} is not a result type")
    made: _T = read(source)
    return made


@cache
def _writer(kind: Any) -> _Convert | None:
    """Return the function that converts a type to JSON; None if its values are JSON already."""
    if not is_dataclass(kind):
        return _within(kind, _writer)
    hints = get_type_hints(kind)
    parts = [(field.name, _writer(hints[field.name])) for field in fields(kind)]

    def write(value: Any) -> JsonObject:
        return {
            name: getattr(value, name) if convert is None else convert(getattr(value, name)) for name, convert in parts
        }

    return write


@cache
def _reader(kind: Any) -> _Convert | None:
    """Return the function that converts JSON to a type; None if its values are JSON already."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return _within(kind, _reader)
    made: Callable[..., Any] = kind
    hints = get_type_hints(kind)
    parts = [(field.name, _reader(hints[field.name]), _missing(hints[field.name])) for field in fields(kind)]

    def read(source: JsonObject) -> Any:
        values = {}
        for name, convert, missing in parts:
            value = source.get(name)
            if value is None:
                value = missing()
            values[name] = value if convert is None or value is None else convert(value)
        return made(**values)

    return read


def _within(kind: Any, converter: Callable[[Any], _Convert | None]) -> _Convert | None:
    """Return the function that converts the elements of a list or object, or the value of an optional type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin not in (list, dict, Union, UnionType):
        return None
    convert = next((found for argument in arguments if (found := converter(argument)) is not None), None)
    if convert is None:
        return None
    found = convert
    if origin is list:
        return lambda value: [found(item) for item in value]
    if origin is dict:
        return lambda value: {key: found(item) for key, item in value.items()}
    return lambda value: None if value is None else found(value)


def _missing(kind: Any) -> Callable[[], Any]:
    origin = dict if is_dataclass(kind) else get_origin(kind)
    return origin if origin in (list, dict) else lambda: None
