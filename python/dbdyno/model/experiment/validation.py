"""Validation errors in what a user wrote: found by pydantic or by our own checks, told in one form."""

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails, PydanticCustomError

from dbdyno.base.errors import InputError

Location = tuple[str | int, ...]

UNKNOWN = "unknown key"
MISSING = "this key is missing"

# Union members carry a tag that pydantic puts into an error's location; the mark tells it from a key of the file.
TAG = "#"


class Invalid(NamedTuple):
    """One validation error: the keys that lead to it, what is wrong and what would be right."""

    location: Location
    problem: str
    hint: str = ""


class ValidationErrors(InputError):
    """Several validation errors in one file, one line each.

    ``errors``: each as an error of its own, in the file's order.
    """

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__(errors[0].place, errors[0].problem, errors[0].hint)
        self.errors = list(errors)
        self.args = ("\n".join(str(error) for error in errors),)


def without_echoes(errors: Sequence[Invalid]) -> list[Invalid]:
    """Leave out the missing keys that are there under a misspelt name: one error is told once."""
    misspelt = {(each.location[:-1], each.hint) for each in errors if each.problem == UNKNOWN}
    return [
        each
        for each in errors
        if each.problem != MISSING or (each.location[:-1], nearest_is(str(each.location[-1]))) not in misspelt
    ]


def raise_all(place: str, found: Iterable[Invalid]) -> None:
    """Raise one InputError for all validation errors, if there are any; ``place`` is the file."""
    errors = [
        InputError(f"{place}: {key_path(each.location)}" if each.location else place, *each[1:]) for each in found
    ]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ValidationErrors(errors)


def key_path(location: Location) -> str:
    """Write a location as people do: ``transactions[0].steps[2].params``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


_LONGEST_SHOWN = 60


def show(value: Any) -> str:
    """Write a value of a file into a message, shortened where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """Give the hint for an unknown word: the nearest known one, or all of them where none is near."""
    words = list(known)
    close = difflib.get_close_matches(word, words, 1, 0.6)
    if close:
        return nearest_is(close[0])
    return "known: " + ", ".join(f"`{name}`" for name in words) if words else "there is none to name here"


def nearest_or(word: str, known: Iterable[str], other: str) -> str:
    """Give the hint for an unknown word as :func:`nearest` does, and another one, a clause."""
    hint = nearest(word, known)
    return f"{hint} {other[0].upper()}{other[1:]}" if hint.endswith("?") else f"{hint}; {other}"


def nearest_is(word: str) -> str:
    """Give the hint that names one word."""
    return f"did you mean `{word}`?"


def wrong(problem: str, hint: str = "", *, key: str = "") -> PydanticCustomError:
    """Make the error that a validator raises; ``key`` leads from the value it checks to the error."""
    return PydanticCustomError("dbdyno", "{problem}", {"problem": problem, "hint": hint, "key": key})


_WANTED = {
    "int_type": ("a whole number", "4"),
    "int_from_float": ("a whole number", "4"),
    "float_type": ("a number", "0.5"),
    "finite_number": ("a finite number", "0.5"),
    "string_type": ("a text", '"text"'),
    "bool_type": ("a truth value", "true"),
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
    """Say in our own words what pydantic found. ``known_keys`` are those of the table in which the error lies."""
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
        problem, hint = f"{show(value)} is not known here", nearest(str(value), choices)
    elif kind in _WANTED:
        wanted, example = _WANTED[kind]
        problem, hint = f"{show(value)} is not {wanted}", f"give {wanted}, as in `{example}`"
    elif kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        limit = int(context[bound]) if float(context[bound]).is_integer() else context[bound]
        problem, hint = f"{show(value)} is out of range", f"give a number {words} {limit}"
    elif kind in ("too_short", "string_too_short"):
        problem, hint = "it is empty", "give at least one"
    return Invalid(location, problem, hint)


def without_tags(location: Location) -> Location:
    """Take the unions' tags out of a location, so that it leads through the file."""
    return tuple(part for part in location if not (isinstance(part, str) and part.startswith(TAG)))
