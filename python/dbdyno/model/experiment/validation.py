"""Validation errors in a user's file, found by pydantic or by own checks, in one format."""

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails, PydanticCustomError

from dbdyno.base.errors import InputError

Location = tuple[str | int, ...]

UNKNOWN = "unknown key"
MISSING = "this key is missing"

# Union members have a tag, which pydantic adds to an error's location. This prefix distinguishes tags from keys.
TAG = "#"


class Invalid(NamedTuple):
    """A validation error: the keys that lead to it, the problem, and a hint."""

    location: Location
    problem: str
    hint: str = ""


class ValidationErrors(InputError):
    """Several validation errors in one file, one line each. ``errors``: the single errors in the file's order."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__(errors[0].location, errors[0].problem, errors[0].hint)
        self.errors = list(errors)
        self.args = ("\n".join(str(error) for error in errors),)


def drop_repeated_errors(errors: Sequence[Invalid]) -> list[Invalid]:
    """Omit errors about missing keys that are misspelt, because the misspelling is reported already."""
    misspelt = {(error.location[:-1], error.hint) for error in errors if error.problem == UNKNOWN}
    return [
        error
        for error in errors
        if error.problem != MISSING or (error.location[:-1], nearest_is(str(error.location[-1]))) not in misspelt
    ]


def raise_all(location: str, found: Iterable[Invalid]) -> None:
    """Raise one InputError for all validation errors, if there are any. ``location``: the file."""
    errors = [
        InputError(f"{location}: {key_path(invalid.location)}" if invalid.location else location, *invalid[1:])
        for invalid in found
    ]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ValidationErrors(errors)


def key_path(location: Location) -> str:
    """Return a location as text, such as ``transactions[0].steps[2].params``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


_MAX_SHOWN_LENGTH = 60


def show(value: Any) -> str:
    """Return a value of a file as text for a message, at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[: _MAX_SHOWN_LENGTH - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown word: the nearest known word, or all known words if none is similar."""
    words = list(known)
    close = difflib.get_close_matches(word, words, 1, 0.6)
    if close:
        return nearest_is(close[0])
    return "known: " + ", ".join(f"`{name}`" for name in words) if words else "none are defined"


def nearest_or(word: str, known: Iterable[str], other: str) -> str:
    """Return the hint of :func:`nearest` and another hint, a clause."""
    hint = nearest(word, known)
    return f"{hint} {other[0].upper()}{other[1:]}" if hint.endswith("?") else f"{hint}; {other}"


def nearest_is(word: str) -> str:
    """Return the hint that suggests one word."""
    return f"did you mean `{word}`?"


def wrong(problem: str, hint: str = "", *, key: str = "") -> PydanticCustomError:
    """Return the error for a validator to raise. ``key``: leads from the validated value to the error."""
    return PydanticCustomError("dbdyno", "{problem}", {"problem": problem, "hint": hint, "key": key})


_WANTED = {
    "int_type": ("an integer", "4"),
    "int_from_float": ("an integer", "4"),
    "float_type": ("a number", "0.5"),
    "finite_number": ("a finite number", "0.5"),
    "string_type": ("a string", '"text"'),
    "bool_type": ("a Boolean", "true"),
    "list_type": ("a list", "[1, 2]"),
    "dict_type": ("a table", "{ key = 1 }"),
    "model_type": ("a table", "{ key = 1 }"),
    "model_attributes_type": ("a table", "{ key = 1 }"),
}

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}


def from_pydantic(error: ErrorDetails, known_keys: Iterable[str]) -> Invalid:
    """Convert an error of pydantic. ``known_keys``: the known keys of the table that contains the error."""
    location = without_tags(error["loc"])
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "dbdyno":
        key = context["key"]
        return Invalid((*location, key) if key else location, context["problem"], context["hint"])
    problem, hint = error["msg"][:1].lower() + error["msg"][1:], ""
    if kind == "extra_forbidden":
        problem, hint = UNKNOWN, nearest(str(location[-1]), known_keys)
    elif kind == "missing":
        problem, hint = MISSING, "add it"
    elif kind == "literal_error":
        choices = [word.strip(" '") for word in context["expected"].replace(" or ", ", ").split(",")]
        problem, hint = f"unknown value {show(value)}", nearest(str(value), choices)
    elif kind in _WANTED:
        wanted, example = _WANTED[kind]
        if kind == "list_type" and isinstance(value, str):
            example = show([value])
        problem, hint = f"{show(value)} is not {wanted}", f"give {wanted}, such as `{example}`"
    elif kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        limit = int(context[bound]) if float(context[bound]).is_integer() else context[bound]
        problem, hint = f"{show(value)} is out of range", f"give a number {words} {limit}"
    elif kind in ("too_short", "string_too_short"):
        problem, hint = "it is empty", "give at least one"
    return Invalid(location, problem, hint)


def without_tags(location: Location) -> Location:
    """Remove the tags of unions from a location, so that it contains only keys of the file."""
    return tuple(part for part in location if not (isinstance(part, str) and part.startswith(TAG)))
