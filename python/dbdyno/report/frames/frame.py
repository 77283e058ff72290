"""Frames that don't depend on a library. Each column has a name and a kind; unknown values are None.

A result of another version may lack a field; its column then is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from dbdyno.base.numbers import level

Kind = Literal["text", "whole", "number", "truth", "time"]
"""``truth``: a Boolean; ``time``: a time in UTC; ``whole``: a 64-bit integer."""

_INT64_LIMIT = 2**63

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """The values of one column, in the order of the rows."""

    name: str
    kind: Kind
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """Columns of the same length with distinct names."""

    columns: tuple[FrameColumn, ...]

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Return the rows, with one value per column."""
        return zip(*(column.values for column in self.columns), strict=True)


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """The declaration of a column: its name, its kind, and the function that reads its value from a row."""

    name: str
    kind: Kind
    read: Callable[[Row], object]


def make_frame(rows: Sequence[Row], fields: Iterable[Field[Row]]) -> Frame:
    """Return a frame of the fields of all rows. A value of another kind becomes None."""
    return Frame(
        tuple(
            FrameColumn(field.name, field.kind, [as_kind(field.read(row), field.kind) for row in rows])
            for field in fields
        )
    )


def factor_fields(
    rows: Iterable[Row], levels_of: Callable[[Row], Mapping[str, Any]], taken: Iterable[str]
) -> list[Field[Row]]:
    """Return one field per factor, of the kind of its levels, or text if their kinds differ.

    ``levels_of``: returns the levels of a row by factor. ``taken``: names of other columns; a factor with such a name
    gets the prefix ``factor_``. The factor ``system`` is left out, because it has a column already.
    """
    levels: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in levels_of(row).items():
            levels.setdefault(name, []).append(value)
    used = set(taken)
    fields: list[Field[Row]] = []
    for name, values in levels.items():
        if name == "system":
            continue
        column = name
        while column in used:
            column = f"factor_{column}"
        used.add(column)
        fields.append(Field(column, _kind_of(values), _reader(levels_of, name, as_text=_kind_of(values) == "text")))
    return fields


def at(source: object, *keys: str) -> Any:
    """Return the value at a path of keys; None if it doesn't exist."""
    for key in keys:
        source = source.get(key) if isinstance(source, Mapping) else None
    return source


def pair(value: object, position: int) -> Any:
    """Return a bound of an interval, which is a list of two; None for other values."""
    match value:
        case [_, _]:
            return value[position]
        case _:
            return None


def as_kind(value: object, kind: Kind) -> Any:
    """Convert a value to the type of a column's kind; None if it is of another kind."""
    match kind:
        case "text":
            # JSON may contain lone surrogates, which UTF-8 cannot encode.
            return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
        case "truth":
            return value if isinstance(value, bool) else None
        case "time":
            return _moment(value)
        case _ if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        case "whole":
            return int(value) if -_INT64_LIMIT <= value < _INT64_LIMIT else None
        case _:
            return float(value)


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def _kind_of(levels: Iterable[Any]) -> Kind:
    kinds = {type(value) for value in levels}
    if kinds == {bool}:
        return "truth"
    if kinds == {int}:
        return "whole"
    return "number" if kinds <= {int, float} else "text"


def _reader(levels_of: Callable[[Row], Mapping[str, Any]], name: str, *, as_text: bool) -> Callable[[Row], object]:
    def read(row: Row) -> object:
        value = levels_of(row).get(name)
        return level(value) if as_text and value is not None else value

    return read
