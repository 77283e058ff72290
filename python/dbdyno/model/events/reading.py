"""Reading events: a line of a worker's, and what the store keeps of trials."""

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
    | Counted,
    Field(discriminator="event"),
]
"""Any event of a worker."""

E = TypeVar("E", bound=Event, default=Event)

P = TypeVar("P", bound=Part)

# What a trial's result is, by who makes it.
Result = Annotated[TrialResult | ProgramResult, Field(discriminator="event")]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
_RESULT: TypeAdapter[Result] = TypeAdapter(Result, config=ConfigDict(defer_build=True))

# Characters of a line, or of a value, that are shown.
_SHOWN = 200
_SHOWN_VALUE = 40
_SHOWN_MESSAGE = 400


class NotAnEvent(DbdynoError):
    """What was read is not what a worker writes. The message names the field, and what would be right."""


@dataclass(frozen=True, slots=True)
class Heard(Generic[E]):
    """An event, and the JSON object of which it was read: the store keeps that as it is."""

    event: E
    said: dict[str, Any]


def read_line(line: str) -> Heard:
    """Read a line of a worker's. Raises NotAnEvent."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise NotAnEvent(f"a line that is no JSON: {line.strip()[:_SHOWN]}") from None
    if not isinstance(said, dict):
        raise NotAnEvent(f"a line that is no JSON object: {line.strip()[:_SHOWN]}")
    return Heard(read_event(said), said)


def read_event(said: Mapping[str, Any]) -> Event:
    """Read an event of its JSON object. Raises NotAnEvent."""
    try:
        return _EVENT.validate_python(said)
    except ValidationError as error:
        raise NotAnEvent(told(error, said)) from None


def read_result(said: Mapping[str, Any]) -> TrialResult | ProgramResult:
    """Read the result of a trial that was stored, a worker's or a program's. Raises NotAnEvent."""
    try:
        return _RESULT.validate_python(said)
    except ValidationError as error:
        raise NotAnEvent(told(error, said)) from None


def read_interval(said: Mapping[str, Any]) -> Interval:
    """Read an interval of a trial that was stored. Raises NotAnEvent."""
    try:
        return Interval.model_validate(said)
    except ValidationError as error:
        raise NotAnEvent(told(error, said, "interval")) from None


def read_part(kind: type[P], said: Any, name: str) -> P:
    """Read a part of what is stored around a trial, by its name. Raises NotAnEvent."""
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        raise NotAnEvent(told(error, said, name)) from None


def told(error: ValidationError, said: Any, within: str = "") -> str:
    """Say which field of ``said`` is wrong, what it is, and what would be right. ``within``: where the fields are."""
    first, *others = error.errors(include_url=False)
    field = ".".join(each for each in (within, *_way(first["loc"], said)) if each)[:_SHOWN] or "it"
    # What was written may be part of it.
    what = (first["msg"][:1].lower() + first["msg"][1:])[:_SHOWN_MESSAGE]
    found = "" if first["type"] == "missing" else f", and not {_shown(first['input'])}"
    more = f" (and {len(others)} more)" if others else ""
    return f"`{field}`: {what}{found}{more}"


def _way(location: Sequence[int | str], said: Any) -> Iterator[str]:
    """The keys and places that lead to a field. Names of a union's alternatives, but for the event's own, are none."""
    for place, each in enumerate(location):
        try:
            said = said[each]
        except (TypeError, LookupError):
            if 0 < place < len(location) - 1:
                continue
        yield str(each)


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, default=str)
    except RecursionError:
        return "what is nested too deeply"
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"
