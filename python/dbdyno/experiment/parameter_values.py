"""Parse the values of a parameter: a range, a list, one value, or a column of a table."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from dbdyno.base.errors import InputError

HINT = "write `1..1000`, `'a', 'b'`, `2024-01-01..2024-01-31`, `null`, or `@column of table`"

Generator = Any
"""A generator of values, in the form of an experiment file."""

# 64-bit integers, the range of integers in a plan.
_LEAST, _GREATEST = -(2**63), 2**63 - 1

_MOST_DIGITS = 400

# A hundred years.
_MOST_DAYS = 36_525

# Numbers of a plan can't have more digits or a larger exponent.
_INTEGER = re.compile(r"[+-]?\d{1,40}")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NULL = "null"
_WORDS = {_NULL: None, "true": True, "false": False}

# An SQL name, in quotes if it contains spaces or is a keyword.
_SQL_NAME = r"\"[^\"]+\"|`[^`]+`|\S+"
_COLUMN = re.compile(rf"@\s*({_SQL_NAME})\s+of\s+({_SQL_NAME})", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',]+?))\s*(,|$)")


@dataclass(frozen=True)
class Column:
    """Values are drawn from a column of an existing table."""

    table: str
    column: str


def read_values(words: str, place: str) -> Generator | Column:
    """Read the values of a parameter. A string needs quotes; only numbers, dates, `null` and Booleans do without.

    Raises InputError that begins with ``place``.
    """
    words = words.strip()
    if words.startswith("@"):
        named = _COLUMN.fullmatch(words)
        if named is None:
            raise InputError(place, f"`{words}` does not name a column of a table", HINT)
        return Column(table=named[2], column=named[1])
    if "'" not in words and ".." in words:
        return _range(words, place)
    values: list[Any] = []
    at, comma = 0, ","
    while comma:
        found = _ITEM.match(words, at)
        if found is None:
            raise InputError(place, f"`{words}` is not a list of values", HINT)
        values.append(found[1].replace("''", "'") if found[1] is not None else _value(found[2].strip(), place))
        at, comma = found.end(), found[3]
    return _pick(values)


def _pick(values: list[Any]) -> Generator:
    given = [each for each in values if each is not None]
    if not given:
        return {_NULL: True}
    made = {"pick": given}
    return made if len(given) == len(values) else {"nullable": {"share": 1 - len(given) / len(values), "of": made}}


def _range(words: str, place: str) -> Generator:
    first, dots, last = words.partition("..")
    ends = [first.strip(), last.strip()]
    if dots and all(map(_DATE.fullmatch, ends)):
        return _dates(ends, words, place)
    if not dots or not all(map(_NUMBER.fullmatch, ends)):
        raise InputError(place, f"`{words}` is not a range of numbers or dates", HINT)
    low, high = (_value(each, place) for each in ends)
    if low > high:
        raise InputError(place, f"the start of the range {words} is greater than its end", HINT)
    if isinstance(low, float) or isinstance(high, float):
        low, high = float(low), float(high)
    return {"uniform": [low, high]}


def _dates(ends: list[str], words: str, place: str) -> Generator:
    first, last = (_date(each, place) for each in ends)
    days = (last - first).days
    if days < 0:
        raise InputError(place, f"the start of the range {words} is after its end", HINT)
    if days > _MOST_DAYS:
        raise InputError(place, f"the range {words} has {days:,} days; the limit is {_MOST_DAYS:,}", HINT)
    return {"pick": [(first + timedelta(days=day)).isoformat() for day in range(days + 1)]}


def _value(word: str, place: str) -> Any:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if _DATE.fullmatch(word):
        return _date(word, place).isoformat()
    if _INTEGER.fullmatch(word):
        if not _LEAST <= int(word) <= _GREATEST:
            raise InputError(place, f"{word} does not fit into 64 bits", f"write `'{word}'` for a string")
        return int(word)
    if _NUMBER.fullmatch(word):
        value = float(word)
        if not math.isfinite(value) or len(word) > _MOST_DIGITS or Decimal(repr(value)) != Decimal(word):
            raise InputError(place, f"{word} has more digits than a double", f"write `'{word}'` for a string")
        return value
    raise InputError(
        place, f"`{word}` is not a number, a date, `null`, `true` or `false`", f"write `'{word}'` for a string"
    )


def _date(word: str, place: str) -> date:
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise InputError(place, f"{word} is not a valid date", HINT) from None
