"""Rows and columns, of no library: each column has a name and a kind, and a value that is not known is None.

They are read from documents with tolerance: a document of another version may lack a field, and the column is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from dbdyno.base.numbers import level

Kind = Literal["text", "whole", "number", "truth", "time"]
"""``time`` is a moment in UTC; ``whole`` fits into 64 bits."""

_MOST = 2**63

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column, in the order of the rows."""

    name: str
    kind: Kind
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """Columns of one length, each with a name of its own."""

    columns: tuple[Column, ...]

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Give the rows, a value for each column."""
        return zip(*(each.values for each in self.columns), strict=True)


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """A column to be: its name, its kind, and how its value is read from a row."""

    name: str
    kind: Kind
    read: Callable[[Row], object]


def make_frame(rows: Sequence[Row], fields: Iterable[Field[Row]]) -> Frame:
    """Read the fields of all rows. A value that is not of its field's kind is not known."""
    return Frame(
        tuple(
            Column(field.name, field.kind, [as_kind(field.read(row), field.kind) for row in rows]) for field in fields
        )
    )


def factor_fields(
    rows: Iterable[Row], of: Callable[[Row], Mapping[str, Any]], taken: Iterable[str]
) -> list[Field[Row]]:
    """Give a field for each factor of some rows, whose kind is that of its levels; of several kinds it is text.

    ``of``: the levels of a row, by factor. ``taken``: names of other columns: a factor called so has ``factor_`` before
    its name. The factor ``system`` is left out, since it is a column by itself.
    """
    levels: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in of(row).items():
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
        fields.append(Field(column, _kind_of(values), _reader(of, name, as_text=_kind_of(values) == "text")))
    return fields


def at(source: object, *keys: str) -> Any:
    """Return what a path of keys leads to; None where there is no such thing."""
    for key in keys:
        source = source.get(key) if isinstance(source, Mapping) else None
    return source


def pair(value: object, place: int) -> Any:
    """Return an end of an interval, which is a list of two; None where there is none."""
    match value:
        case [_, _]:
            return value[place]
        case _:
            return None


def as_kind(value: object, kind: Kind) -> Any:
    """Return a value as a column of a kind has it; None where it is of another."""
    match kind:
        case "text":
            # What JSON may hold and UTF-8 may not, halves of characters, no file can.
            return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
        case "truth":
            return value if isinstance(value, bool) else None
        case "time":
            return _moment(value)
        case _ if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        case "whole":
            return int(value) if -_MOST <= value < _MOST else None
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


def _reader(of: Callable[[Row], Mapping[str, Any]], name: str, *, as_text: bool) -> Callable[[Row], object]:
    def read(row: Row) -> object:
        value = of(row).get(name)
        return level(value) if as_text and value is not None else value

    return read
