"""Compile HTTP requests of an experiment to the form of a plan."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.model.experiment.requests import Placeholder, RequestParts, Take, Template, cut
from dbdyno.model.plan import requests as plan


def compile_request(step: RequestParts) -> tuple[plan.Request, list[str]]:
    """Return the request of a plan, and the names of its parameters in order."""
    names = list(dict.fromkeys(step.places))
    numbers = {name: number for number, name in enumerate(names)}
    made = plan.Request(
        method=step.request.method,
        path=_pieces(step.request.path, numbers),
        query=_fields(step.query, numbers),
        headers=_fields(step.headers, numbers),
        expect=list(step.expect),
        take=[_take(take) for take in step.into.values()],
        body=_body(step, numbers),
    )
    return made, names


def _body(step: RequestParts, numbers: Mapping[str, int]) -> plan.Body | None:
    if step.body is not None:
        return plan.TextBody(text=_pieces(step.body, numbers))
    if step.form is not None:
        return plan.FormBody(fields=_fields(step.form, numbers))
    if "json_body" in step.model_fields_set:
        return plan.JsonBody(pieces=_joined(_json(step.json_body, numbers)))
    return None


def request_text(step: RequestParts) -> str:
    """Return a request in one line for display."""
    query = "&".join(f"{name}={_text(value)}" for name, value in step.query.items())
    text = step.request.text + (("&" if "?" in step.request.text else "?") + query if query else "")
    parts = [text, *(f"{name}: {_text(value)}" for name, value in step.headers.items())]
    if step.body is not None:
        parts.append(f"body {_text(step.body)}")
    elif step.form is not None:
        parts.append("form " + "&".join(f"{name}={_text(value)}" for name, value in step.form.items()))
    elif "json_body" in step.model_fields_set:
        parts.append(f"json {json.dumps(step.json_body, ensure_ascii=False)}")
    return "; ".join(parts)


def _text(template: Template) -> str:
    return "".join(piece if isinstance(piece, str) else f"{{{piece.name}}}" for piece in template)


def _pieces(template: Template, numbers: Mapping[str, int]) -> list[str | int]:
    return [piece if isinstance(piece, str) else numbers[piece.name] for piece in template]


def _fields(fields: Mapping[str, Template], numbers: Mapping[str, int]) -> list[plan.Field]:
    return [plan.Field(name=name, value=_pieces(value, numbers)) for name, value in fields.items()]


def _take(take: Take) -> plan.Take:
    if take.header is not None:
        return plan.TakeHeader(name=take.header)
    if take.cookie is not None:
        return plan.TakeCookie(name=take.cookie)
    if take.json_pointer is not None:
        return plan.TakeJson(pointer=take.json_pointer)
    if take.regex is not None:
        return plan.TakeRegex(pattern=take.regex)
    return plan.TakeStatus() if take.status else plan.TakeBody()


def _json(value: Any, numbers: Mapping[str, int]) -> Iterable[plan.JsonPiece]:
    """Yield the pieces of a JSON value. A string that is only a placeholder is replaced by the value with its type."""
    match value:
        case str():
            pieces = cut(value)
            if len(pieces) == 1 and isinstance(pieces[0], Placeholder):
                yield numbers[pieces[0].name]
                return
            yield '"'
            for piece in pieces:
                yield json.dumps(piece)[1:-1] if isinstance(piece, str) else plan.Within(within=numbers[piece.name])
            yield '"'
        case dict():
            yield "{"
            for number, (name, inner) in enumerate(value.items()):
                yield ("," if number else "") + json.dumps(name) + ":"
                yield from _json(inner, numbers)
            yield "}"
        case list():
            yield "["
            for number, inner in enumerate(value):
                yield "," if number else ""
                yield from _json(inner, numbers)
            yield "]"
        case _:
            yield json.dumps(value)


def _joined(pieces: Iterable[plan.JsonPiece]) -> list[plan.JsonPiece]:
    """Join consecutive strings."""
    made: list[plan.JsonPiece] = []
    for piece in pieces:
        if isinstance(piece, str) and made and isinstance(made[-1], str):
            made[-1] += piece
        elif piece != "":
            made.append(piece)
    return made
