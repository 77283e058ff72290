"""References to factors, ``${threads}`` or ``${mode.prepare}``, and their values in a cell."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dbdyno.experiment.mistakes import Location, Mistake, nearest

# The level that stands for "not set": what would take its value is left out.
DEFAULT: Final = "default"

# `$${` is a dollar sign and a brace.
_REFERENCE = re.compile(r"\$(?P<escape>\$\{)|\$\{(?P<name>[^}]*)\}")
_ABSENT: Final = object()


def substitute(value: Any, bindings: Mapping[str, Any]) -> Any:
    """Put the values of ``bindings`` in the place of all references.

    A text that is one reference takes the value with its type, and is left out of its table or list where that value
    is ``"default"``; within a longer text the value is written out. A reference to nothing known is left as it is:
    :func:`unknown_references` finds those.
    """
    made = _substitute(value, bindings)
    return None if made is _ABSENT else made


def _substitute(value: Any, bindings: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        made = {key: _substitute(item, bindings) for key, item in value.items()}
        return {key: item for key, item in made.items() if item is not _ABSENT}
    if isinstance(value, list):
        items = [_substitute(item, bindings) for item in value]
        return [item for item in items if item is not _ABSENT]
    if not isinstance(value, str) or "$" not in value:
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole and whole["name"] in bindings:
        bound = bindings[whole["name"]]
        return _ABSENT if bound == DEFAULT else bound

    def write(found: re.Match[str]) -> str:
        if found["escape"]:
            return "${"
        return as_text(bindings[found["name"]]) if found["name"] in bindings else found[0]

    return _REFERENCE.sub(write, value)


def as_text(value: Any) -> str:
    """Write a level's value as it stands in a longer text, a cell's id or a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def references(value: Any, location: Location = ()) -> Iterator[tuple[Location, str]]:
    """Find all references in a document: where each stands, and the name in it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from references(item, (*location, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references(item, (*location, index))
    elif isinstance(value, str):
        for found in _REFERENCE.finditer(value):
            if not found["escape"]:
                yield location, found["name"]


def unknown_references(document: Any, known: Mapping[str, Any]) -> list[Mistake]:
    """Find the references to what no factor binds."""
    return [
        Mistake(location, f"`${{{name}}}` refers to no factor", nearest(name, known))
        for location, name in references(document)
        if name not in known
    ]
