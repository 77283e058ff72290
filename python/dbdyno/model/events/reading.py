"""Read and validate events: lines that a worker writes, and parts of trials from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypeVar

from dbdyno.base.errors import DbdynoError
from dbdyno.model.events.answers import (
    Answer,
    Btree,
    Check,
    Checked,
    Counted,
    Device,
    Error,
    FactsRead,
    FileSet,
    Held,
    Loaded,
    Phase,
    Reach,
    Ready,
    Rows,
    Space,
    Writes,
)
from dbdyno.model.events.base import Part
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.trial import Interval, TrialResult

Event = Annotated[
    Error
    | Phase
    | Ready
    | Interval
    | TrialResult
    | Loaded
    | FileSet
    | FactsRead
    | Device
    | Space
    | Btree
    | Writes
    | Reach
    | Held
    | Answer
    | Check
    | Checked
    | Counted
    | Rows,
    Field(discriminator="event"),
]
"""An event of a worker."""

E = TypeVar("E", bound=Event, default=Event)

P = TypeVar("P", bound=Part)

# The result of a trial, written by a worker or, for a user's program, by dbdyno.
Result = Annotated[TrialResult | ProgramResult, Field(discriminator="event")]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
_RESULT: TypeAdapter[Result] = TypeAdapter(Result, config=ConfigDict(defer_build=True))

# Maximum number of characters of a line, a value and a message in errors.
_SHOWN = 200
_SHOWN_VALUE = 40
_SHOWN_MESSAGE = 400


class InvalidEvent(DbdynoError):
    """Data that are not a valid event. The message names the field and what was expected."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent(Generic[E]):
    """An event, and the JSON object that it was read from, which the store keeps unchanged."""

    event: E
    raw: dict[str, Any]


def read_line(line: str) -> ReceivedEvent:
    """Read a line that a worker wrote. Raises InvalidEvent."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidEvent(f"not valid JSON: {line.strip()[:_SHOWN]}") from None
    if not isinstance(raw, dict):
        raise InvalidEvent(f"not a JSON object: {line.strip()[:_SHOWN]}")
    return ReceivedEvent(read_event(raw), raw)


def read_event(raw: Mapping[str, Any]) -> Event:
    """Read an event from its JSON object. Raises InvalidEvent."""
    try:
        return _EVENT.validate_python(raw)
    except ValidationError as error:
        raise InvalidEvent(_describe_error(error, raw)) from None


def read_result(raw: Mapping[str, Any]) -> TrialResult | ProgramResult:
    """Read the stored result of a trial, of a worker or of a program. Raises InvalidEvent."""
    try:
        return _RESULT.validate_python(raw)
    except ValidationError as error:
        raise InvalidEvent(_describe_error(error, raw)) from None


def read_interval(raw: Mapping[str, Any]) -> Interval:
    """Read a stored interval of a trial. Raises InvalidEvent."""
    try:
        return Interval.model_validate(raw)
    except ValidationError as error:
        raise InvalidEvent(_describe_error(error, raw, "interval")) from None


def read_part(kind: type[P], raw: Any, name: str) -> P:
    """Read data that are stored with a trial. ``name``: their name in errors. Raises InvalidEvent."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise InvalidEvent(_describe_error(error, raw, name)) from None


def _describe_error(error: ValidationError, raw: Any, within: str = "") -> str:
    first, *others = error.errors(include_url=False)
    field = ".".join(each for each in (within, *_path(first["loc"], raw)) if each)[:_SHOWN] or "it"
    # Shorten the message, because it may contain the invalid value.
    what = (first["msg"][:1].lower() + first["msg"][1:])[:_SHOWN_MESSAGE]
    found = "" if first["type"] == "missing" else f", not {_shown(first['input'])}"
    more = f" (and {len(others)} more)" if others else ""
    return f"`{field}`: {what}{found}{more}"


def _path(location: Sequence[int | str], raw: Any) -> Iterator[str]:
    """Yield the keys and indexes that lead to a field.

    pydantic's locations also contain the names of union members. Only the first one, the name of the event, is kept.
    """
    for position, each in enumerate(location):
        try:
            raw = raw[each]
        except (TypeError, LookupError):
            if 0 < position < len(location) - 1:
                continue
        yield str(each)


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, default=str)
    except RecursionError:
        return "a value that is nested too deeply"
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"
