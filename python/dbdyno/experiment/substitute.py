"""Replace references to factors (``${threads}``, ``${mode.prepare}``) and products of them by their values."""

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from dbdyno.model.experiment.levels import as_text
from dbdyno.model.experiment.validation import Invalid, Location, nearest

# The level for "not set": a key with this value is removed.
DEFAULT: Final = "default"

# `$${` is an escaped `${`.
_REFERENCE = re.compile(r"\$(?P<escape>\$\{)|\$\{(?P<inside>[^}]*)\}")
_WHOLE = re.compile(r"[0-9]+(?:_[0-9]+)*")
_ABSENT: Final = object()


def escape(value: Any) -> Any:
    """Escape all strings of a value, so that they don't refer to factors."""
    if isinstance(value, dict):
        return {key: escape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [escape(item) for item in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


def substitute(value: Any, bindings: Mapping[str, Any]) -> Any:
    """Replace all references by the values of ``bindings``.

    A string that consists of one reference is replaced by the value with its type, and removed from its table or list
    if the value is ``"default"``. In a longer string, the value is inserted as text. ``${1_000 * size}`` is a product.
    Unknown references (see :func:`unknown_references`) and products of values that aren't numbers are not replaced.
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
    if whole and not whole["escape"]:
        bound = _value(whole, bindings)
        return _ABSENT if bound == DEFAULT else bound

    def write(match: re.Match[str]) -> str:
        return "${" if match["escape"] else as_text(_value(match, bindings))

    return _REFERENCE.sub(write, value)


def _value(reference: re.Match[str], bindings: Mapping[str, Any]) -> Any:
    """Return the value of a reference; the reference itself if it can't be replaced."""
    terms = _terms(reference["inside"])
    if any(not _is_number_written(term) and term not in bindings for term in terms):
        return reference[0]
    values = [int(term) if _is_number_written(term) else bindings[term] for term in terms]
    if len(values) == 1:
        return values[0]
    if DEFAULT in values:
        return DEFAULT
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return reference[0]
    if not all(map(math.isfinite, values)):
        return reference[0]
    # Multiply as decimals, so that 0.1 * 30 is 3 and can be a number of rows.
    product = math.prod(Fraction(str(value)) for value in values)
    return int(product) if product.denominator == 1 else float(product)


def _terms(inside: str) -> list[str]:
    """Return the factors of a product: a single name, or names and integers separated by `*`."""
    return [term.strip() for term in inside.split("*")] if "*" in inside else [inside]


def _is_number_written(term: str) -> bool:
    return _WHOLE.fullmatch(term) is not None


def references(value: Any, location: Location = ()) -> Iterator[tuple[Location, str]]:
    """Yield the location and the name of all references in a document."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from references(item, (*location, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references(item, (*location, index))
    elif isinstance(value, str):
        for match in _REFERENCE.finditer(value):
            if not match["escape"]:
                yield from ((location, term) for term in _terms(match["inside"]) if not _is_number_written(term))


def unknown_references(document: Any, known: Mapping[str, Any]) -> list[Invalid]:
    """Return errors for references to unknown factors."""
    return [
        Invalid(location, f"unknown factor `${{{name}}}`", nearest(name, known))
        for location, name in references(document)
        if name not in known
    ]
