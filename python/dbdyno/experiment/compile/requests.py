"""Compile HTTP requests of an experiment to the form of a plan."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.model.experiment.requests import Place, RequestParts, Take, Template, cut


def compile_request(step: RequestParts) -> tuple[dict[str, Any], list[str]]:
    """Return a request in the form of a plan, and the names of its parameters in order."""
    names = list(dict.fromkeys(step.places))
    numbers = {name: number for number, name in enumerate(names)}
    made: dict[str, Any] = {
        "method": step.request.method,
        "path": _pieces(step.request.path, numbers),
        "query": _fields(step.query, numbers),
        "headers": _fields(step.headers, numbers),
        "expect": list(step.expect),
        "take": [_take(each) for each in step.into.values()],
    }
    if step.body is not None:
        made["body"] = {"kind": "text", "text": _pieces(step.body, numbers)}
    elif step.form is not None:
        made["body"] = {"kind": "form", "fields": _fields(step.form, numbers)}
    elif "json_body" in step.model_fields_set:
        made["body"] = {"kind": "json", "pieces": _joined(_json(step.json_body, numbers))}
    return made, names


def request_text(step: RequestParts) -> str:
    """Return a request as one line of text for display."""
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


def _fields(fields: Mapping[str, Template], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "value": _pieces(value, numbers)} for name, value in fields.items()]


def _take(take: Take) -> dict[str, Any]:
    if take.header is not None:
        return {"from": "header", "name": take.header}
    if take.cookie is not None:
        return {"from": "cookie", "name": take.cookie}
    if take.json_pointer is not None:
        return {"from": "json", "pointer": take.json_pointer}
    if take.regex is not None:
        return {"from": "regex", "pattern": take.regex}
    return {"from": "status" if take.status else "body"}


JsonPiece = str | int | dict[str, int]


def _json(value: Any, numbers: Mapping[str, int]) -> Iterable[JsonPiece]:
    """Yield the pieces of a JSON value. A string that is only a placeholder is replaced by the value with its type."""
    match value:
        case str():
            pieces = cut(value)
            if len(pieces) == 1 and isinstance(pieces[0], Place):
                yield numbers[pieces[0].name]
                return
            yield '"'
            for piece in pieces:
                yield json.dumps(piece)[1:-1] if isinstance(piece, str) else {"within": numbers[piece.name]}
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


def _joined(pieces: Iterable[JsonPiece]) -> list[JsonPiece]:
    """Join consecutive strings."""
    made: list[JsonPiece] = []
    for piece in pieces:
        if isinstance(piece, str) and made and isinstance(made[-1], str):
            made[-1] += piece
        elif piece != "":
            made.append(piece)
    return made
