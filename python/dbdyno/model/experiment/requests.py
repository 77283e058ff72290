"""The HTTP request of a step, and the values to extract from its reply.

Its strings may contain placeholders, ``{name}``, for the value of the generator with this name in ``params``. If
``params`` has no such generator, the placeholder is replaced by the variable with this name. ``{{`` and ``}}`` are
literal braces.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainValidator, field_validator, model_validator

from dbdyno.model.experiment.generators import Generator
from dbdyno.model.experiment.strict import Name, Strict
from dbdyno.model.experiment.validation import nearest, show, wrong

_PIECE = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]*)\}|[{}]")
_LINE = re.compile(r"(?P<method>\S+) +(?P<path>\S.*)")
_METHOD = re.compile(r"[A-Z][A-Z-]*")
_MIN_STATUS, _MAX_STATUS = 200, 599


@dataclass(frozen=True)
class Placeholder:
    """A placeholder in a string for the value with this name."""

    name: str


Template = tuple[str | Placeholder, ...]
"""A string, split at its placeholders."""


def read_template(value: Any) -> Template:
    """Split a string at its placeholders. Numbers and Booleans are converted to strings."""
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, int | float):
        return (str(value),)
    if not isinstance(value, str):
        raise wrong(f"{show(value)} is not a string", 'give one, with placeholders for values, such as `"{id}"`')
    return cut(value)


def cut(text: str) -> Template:
    """Split a string at its placeholders. Raises a validation error for a single brace."""
    pieces: list[str | Placeholder] = []
    literal, at = "", 0
    for match in _PIECE.finditer(text):
        literal += text[at : match.start()]
        at = match.end()
        if match["name"] is not None:
            if not match["name"].strip():
                raise wrong(f"{show(text)} has a placeholder without a name", "name a value, such as `{id}`")
            pieces += [literal, Placeholder(match["name"].strip())] if literal else [Placeholder(match["name"].strip())]
            literal = ""
        elif len(match[0]) > 1:
            literal += match[0][0]
        else:
            raise wrong(f"{show(text)} has a single brace", "double it: `{{` or `}}`")
    literal += text[at:]
    return (*pieces, literal) if literal else tuple(pieces)


def places(template: Template) -> Iterator[str]:
    """Yield the names of the placeholders."""
    yield from (piece.name for piece in template if isinstance(piece, Placeholder))


TemplateText = Annotated[Template, PlainValidator(read_template)]


@dataclass(frozen=True)
class Line:
    """The method and the path of a request. ``text``: both as written."""

    method: str
    path: Template
    text: str


def _read_line(value: Any) -> Line:
    match = _LINE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise wrong(f"{show(value)} is not a request", 'give method and path, such as `"GET /users/{id}"`')
    if not _METHOD.fullmatch(match["method"]):
        raise wrong(f"`{match['method']}` is not a method", "use capital letters, such as `GET` or `POST`")
    if match["method"] == "CONNECT":
        raise wrong("the reply to `CONNECT` can't be measured", "use another method")
    path = match["path"].strip()
    if not path.startswith("/"):
        hint = "write only method and path, such as `GET /users`; the system's URL names the service"
        raise wrong(f"the path {show(path)} does not begin with `/`", hint)
    if "#" in path:
        raise wrong(f"the path {show(path)} contains `#`, which starts a fragment that isn't sent", "write `%23`")
    template = cut(path)
    literal = "".join(piece for piece in template if isinstance(piece, str))
    odd = next((character for character in literal if not "!" <= character <= "~"), None)
    if odd is not None:
        hint = "encode it, such as `%20` for a space, or use a placeholder, whose value is encoded"
        raise wrong(f"the path {show(path)} contains the character {show(odd)}", hint)
    return Line(match["method"], template, f"{match['method']} {path}")


def _read_json(value: Any) -> Any:
    """Check the placeholders in all strings of a JSON value."""
    match value:
        case str():
            cut(value)
        case dict():
            for inner in value.values():
                _read_json(inner)
        case list():
            for inner in value:
                _read_json(inner)
        case bool() | int() | float():
            pass
        case _:
            raise wrong(f"{show(value)} is not a JSON value", "use strings, numbers, Booleans, lists and tables")
    return value


def json_places(value: Any) -> Iterator[str]:
    """Yield the names of the placeholders in a JSON value."""
    match value:
        case str():
            yield from places(cut(value))
        case dict():
            for inner in value.values():
                yield from json_places(inner)
        case list():
            for inner in value:
                yield from json_places(inner)


Status = Annotated[int, Field(ge=_MIN_STATUS, le=_MAX_STATUS)]


class Take(Strict):
    """The source of a variable in a reply. Exactly one field is set."""

    status: Literal[True] | None = None
    header: Name | None = None
    cookie: Name | None = None
    json_pointer: str | None = Field(default=None, alias="json")
    regex: Name | None = None
    body: Literal[True] | None = None

    @field_validator("json_pointer")
    @classmethod
    def _pointer(cls, value: str | None) -> str | None:
        if value and not value.startswith("/"):
            raise wrong(f"{show(value)} is not a JSON pointer", f"begin with `/`, such as `/{value.replace('.', '/')}`")
        return value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise wrong(
                "a variable needs exactly one source",
                'give `header`, `cookie`, `json`, `regex`, `status` or `body`, such as `{ json = "/token" }`',
            )
        return self


def _one_or_several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class RequestParts(Strict):
    """The fields of a request."""

    request: Annotated[Line, PlainValidator(_read_line)]
    name: Name | None = None
    params: dict[Name, Generator] = Field(default_factory=dict)
    query: dict[Name, TemplateText] = Field(default_factory=dict)
    headers: dict[Name, TemplateText] = Field(default_factory=dict)
    body: TemplateText | None = None
    form: dict[Name, TemplateText] | None = None
    json_body: Annotated[Any, BeforeValidator(_read_json)] = Field(default=None, alias="json")
    expect: Annotated[list[Status], BeforeValidator(_one_or_several)] = Field(default_factory=list)
    into: dict[Name, Take] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        bodies = [key for key in ("body", "form", "json_body") if key in self.model_fields_set]
        if len(bodies) > 1:
            names = " and ".join(f"`{key.removesuffix('_body')}`" for key in bodies)
            raise wrong(f"several bodies: {names}", "keep one")
        used = set(self.places)
        for name in self.params:
            if name not in used:
                hint = nearest(name, sorted(used)) if used else f"write `{{{name}}}` where the value belongs"
                raise wrong(f"no placeholder for `{name}`", hint, key="params")
        return self

    @property
    def places(self) -> Iterator[str]:
        """The names of all placeholders, in the order in which they are sent."""
        yield from places(self.request.path)
        for fields in (self.query, self.headers, self.form or {}):
            for template in fields.values():
                yield from places(template)
        yield from places(self.body or ())
        yield from json_places(self.json_body)
