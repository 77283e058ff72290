"""Check the types of stored values, so that damaged and manually edited stores are reported as such."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import JSON, Column, Integer

from dbdyno.store.records import RunStatus, TrialStatus
from dbdyno.store.tables import RUNS, TRIALS

_LISTS = ("command", "observations", "intervals", "parts")
# Lists of objects; the other lists contain strings.
_OF_OBJECTS = ("observations", "intervals", "parts")
_STATUSES = frozenset((*get_args(RunStatus), *get_args(TrialStatus)))


def parse_json(document: str | bytes | float) -> Any:
    """Parse a stored JSON document. Raises ValueError for values that dbdyno doesn't write, such as NaN."""
    if isinstance(document, int | float):
        # SQLite returns numbers in a JSON column as numbers.
        return document
    try:
        text = document.decode() if isinstance(document, bytes) else document
        value = json.loads(text, parse_constant=_refuse)
        if "\\ud" in text or "\\uD" in text:
            # A lone surrogate can be parsed, but not encoded.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a document with a lone surrogate: {error.reason}") from None
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a document that dbdyno didn't write: {error}") from None
    return value


def check_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row of a run or a trial, possibly with only some columns, as a dictionary.

    Raises ValueError, with the names of the column and the run, for a value of the wrong type.
    """
    found = dict(row)
    for name, value in found.items():
        check = _CHECKS.get(name)
        if check is not None and not check(value):
            whose = found.get("run_id") or found.get("id") or "?"
            raise ValueError(f"invalid `{name}` of run {whose}")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} in a document")


def _is_moment(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return not value or bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_seed(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit()


def _is_list(name: str) -> Callable[[object], bool]:
    inner = dict if name in _OF_OBJECTS else str
    return lambda value: isinstance(value, list) and all(isinstance(item, inner) for item in value)


def _check_of(column: Column[Any]) -> Callable[[object], bool]:
    name = column.name
    if name == "id":
        # Ids of runs are strings, ids of trials are integers.
        return lambda value: isinstance(value, str | int)
    if name == "status":
        return lambda value: value in _STATUSES
    if name == "seed":
        return _is_seed
    own: Callable[[object], bool]
    if name in ("started", "ended"):
        own = _is_moment
    elif name in _LISTS:
        own = _is_list(name)
    else:
        kind = dict if isinstance(column.type, JSON) else int if isinstance(column.type, Integer) else str
        own = lambda value: isinstance(value, kind)  # noqa: E731
    return (lambda value: value is None or own(value)) if column.nullable else own


# Columns with the same name have the same type in both tables.
_CHECKS = {each.name: _check_of(each) for each in (*RUNS.c, *TRIALS.c)}
