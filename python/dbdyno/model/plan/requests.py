"""The HTTP requests of a plan (crates/protocol/src/plan/request.rs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Discriminator
from pydantic import Field as Aliased

from dbdyno.model.events.base import Count
from dbdyno.model.plan.serialization import OMITTED

Template = Sequence[str | Count]
"""A string as a sequence of text and of numbers of parameters."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of the query, the headers or a form."""

    name: str
    value: Template


@dataclass(frozen=True, kw_only=True)
class TextBody:
    """A body that is a string."""

    kind: Literal["text"] = "text"
    text: Template


@dataclass(frozen=True, kw_only=True)
class FormBody:
    """A body with the fields of a form."""

    kind: Literal["form"] = "form"
    fields: Sequence[Field]


@dataclass(frozen=True, kw_only=True)
class Within:
    """The parameter with this number, inside a string of a JSON document."""

    within: Count


JsonPiece = str | Count | Within
"""Text, the number of a parameter, or a parameter inside a string."""


@dataclass(frozen=True, kw_only=True)
class JsonBody:
    """A body that is a JSON document."""

    kind: Literal["json"] = "json"
    pieces: Sequence[JsonPiece]


Body = Annotated[TextBody | FormBody | JsonBody, Discriminator("kind")]
"""The body of a request."""


@dataclass(frozen=True, kw_only=True)
class TakeStatus:
    """The status."""

    from_: Annotated[Literal["status"], Aliased(alias="from")] = "status"


@dataclass(frozen=True, kw_only=True)
class TakeHeader:
    """The value of the first header with this name, in any case."""

    from_: Annotated[Literal["header"], Aliased(alias="from")] = "header"
    name: str


@dataclass(frozen=True, kw_only=True)
class TakeCookie:
    """The value of a cookie that the response sets."""

    from_: Annotated[Literal["cookie"], Aliased(alias="from")] = "cookie"
    name: str


@dataclass(frozen=True, kw_only=True)
class TakeJson:
    """The value at a JSON pointer (RFC 6901)."""

    from_: Annotated[Literal["json"], Aliased(alias="from")] = "json"
    pointer: str


@dataclass(frozen=True, kw_only=True)
class TakeRegex:
    """The match of a regular expression, or of its first group."""

    from_: Annotated[Literal["regex"], Aliased(alias="from")] = "regex"
    pattern: str


@dataclass(frozen=True, kw_only=True)
class TakeBody:
    """The whole body."""

    from_: Annotated[Literal["body"], Aliased(alias="from")] = "body"


Take = TakeStatus | TakeHeader | TakeCookie | TakeJson | TakeRegex | TakeBody
"""A value that is taken from the response."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request. ``expect``: the expected statuses, by default 200 to 299; ``take``: the values of its only row."""

    method: str
    path: Template
    query: Sequence[Field] = ()
    headers: Sequence[Field] = ()
    expect: Sequence[Count] = ()
    take: Sequence[Take] = ()
    body: Body | None = field(default=None, metadata=OMITTED)
