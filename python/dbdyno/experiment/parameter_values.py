"""Parse the values of a parameter: a range, a list, one value, or a column of a table; and the time of a pause."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.model.experiment.generators import read_column

HINT = "write `1..1000`, `'a', 'b'`, `2024-01-01..2024-01-31`, `null`, or `@column of table`"
_SKEW_HINT = "write `1..1000 zipf 1.1`, `1..1000 gaussian`, `'a', 'b' zipf 1`, or `@column of table zipf 1.1`"
_RELATIVE_HINT = "write `:a + 99`, `:a - 10` or `:a + 10..99`, where `:a` is a parameter of the same transaction"
_ROW_HINT = "write `@a of t` for :a and `@b of t in the row of :a`, with columns of one table, in one transaction"
_PAUSE_HINT = "write `50ms`, `20ms..100ms`, or `exp(50ms)` for a random time of this mean; units: us, ms, s"

Generator = Any
"""A generator of values, in the form of an experiment file."""

# 64-bit integers, the range of integers in a plan.
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1

_MAX_DIGITS = 400

# A hundred years.
_MAX_DAYS = 36_525

_MAX_PAUSE_US = 3_600_000_000

# Larger exponents draw the first value nearly always.
_MAX_STRENGTH = 100

# Numbers of a plan can't have more digits or a larger exponent.
_INTEGER = re.compile(r"[+-]?\d{1,40}")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# Until :func:`with_rows`, the parameter from whose row a value is.
_BASE = "base"
# Numbers of random rows, so many that each row is about as likely.
_ROW_NUMBERS = 1_000_000
# Random rows of a table.
_ROWS = 1000
_NULL = "null"
_WORDS = {_NULL: None, "true": True, "false": False}

# An SQL name, in quotes if it contains spaces or is a keyword.
_SQL_NAME = r"\"[^\"]+\"|`[^`]+`|\S+"
_COLUMN = re.compile(
    rf"@\s*({_SQL_NAME})\s+of\s+({_SQL_NAME})(?:\s+rank\s+(\d{{1,5}}(?:\s*,\s*\d{{1,5}})*)|\s+pattern\s+(%v%?|v%))?",
    re.IGNORECASE,
)
# A column's value in the row from which another parameter is drawn, or some rows later in the column's order.
_OF_ROW = re.compile(
    rf"@\s*({_SQL_NAME})\s+of\s+({_SQL_NAME})\s+(?:in\s+the\s+row\s+of|([1-9]\d{{0,8}})\s+rows?\s+after)\s+:([^\W\d]\w*)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',]+?))\s*(,|$)")
# A value relative to another parameter.
_RELATIVE = re.compile(r":([^\W\d]\w*)\s*([+-])\s*(\d{1,18})(?:\s*\.\.\s*(\d{1,18}))?")
# How often each value is drawn, after the values.
_SKEW = re.compile(r"(.*\S)\s+(zipf|gaussian)(?:\s+(\S+))?", re.IGNORECASE | re.DOTALL)
# How often a value is null, after all others.
_OR_NULL = re.compile(r"(.*\S)\s+or\s+null\s+(\d{1,3}(?:\.\d{1,9})?)\s*%", re.IGNORECASE | re.DOTALL)

_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(us|ms|s)", re.IGNORECASE)
_MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}
# An exponential distribution is cut off at this multiple of its mean, which changes the mean by 0.05%.
_EXPONENTIAL_END = 10


def read_values(words: str, location: str) -> Generator:
    """Read the values of a parameter. A string needs quotes; only numbers, dates, `null` and Booleans do without.

    Raises InputError that begins with ``location``.
    """
    words = words.strip()
    nullable = _OR_NULL.fullmatch(words)
    if nullable is not None and nullable[1].count("'") % 2 == 0:
        share = float(nullable[2]) / 100
        if not 0 < share < 1:
            raise InputError(location, f"{nullable[2]}% is not a share", "write `or null 25%`")
        return {"nullable": {"share": share, "of": read_values(nullable[1], location)}}
    skew = _SKEW.fullmatch(words)
    # Not inside of a string.
    if skew is not None and skew[1].count("'") % 2 == 0:
        kind = skew[2].lower()
        return _skewed(skew[1], kind, _strength(skew[3], kind, location), location)
    if words.startswith("@"):
        return _of_row(words) or {"column": _column(words, location)}
    if words.startswith(":"):
        return _relative(words, location)
    if "'" not in words and ".." in words:
        return _range(words, location)
    return _pick(_list(words, location))


def _of_row(words: str) -> Generator | None:
    match = _OF_ROW.fullmatch(words)
    if match is None:
        return None
    column, table, after, base = match.groups()
    return {"column": f"{table}.{column}" + (f" after {after}" if after else ""), _BASE: base}


def _relative(words: str, location: str) -> Generator:
    match = _RELATIVE.fullmatch(words)
    if match is None:
        raise InputError(location, f"`{words}` is not a value relative to another parameter", _RELATIVE_HINT)
    name, sign, low, high = match.groups()
    if high is None:
        return {"expression": f":{name} {sign} {int(low)}"}
    if int(low) > int(high):
        raise InputError(location, f"the start of the range {low}..{high} is greater than its end", _RELATIVE_HINT)
    return {"expression": f":{name} {sign} random({int(low)}, {int(high)})"}


def named_base(words: str) -> str | None:
    """Return the parameter that the values of another parameter are relative to, or in the row of."""
    relative, of_row = _RELATIVE.match(words.strip()), _OF_ROW.match(words.strip())
    return relative[1] if relative else of_row[4] if of_row else None


def with_rows(generators: Mapping[str, Generator], location: str) -> dict[str, Generator]:
    """Return generators in which values of one row have its number, which is a parameter of its own.

    Raises InputError that begins with ``location``.
    """
    bases = {made[_BASE] for made in generators.values() if isinstance(made, dict) and _BASE in made}
    if not bases:
        return dict(generators)
    made: dict[str, Generator] = {}
    columns = {
        base: {each["column"] for each in generators.values() if isinstance(each, dict) and each.get(_BASE) == base}
        for base in bases
    }
    for name, generator in generators.items():
        base = generator.get(_BASE, name if name in bases else None) if isinstance(generator, dict) else None
        if base is None:
            if name in bases:
                raise InputError(location, f":{name} is not drawn from a column", _ROW_HINT)
            made[name] = generator
            continue
        of = generators.get(base)
        if not isinstance(of, dict) or "column" not in of or _BASE in of:
            raise InputError(location, f":{name} is of the row of :{base}, which isn't drawn from a column", _ROW_HINT)
        if _table_of(of["column"]) != _table_of(generator["column"]):
            raise InputError(location, f":{name} and :{base} are columns of different tables", _ROW_HINT)
        number = f"row of {base}"
        exponent = of.get("draw", {}).get("zipf")
        made[number] = {"uniform": [0, _ROW_NUMBERS - 1]}
        if exponent is not None:
            made[number] = {"zipf": {"low": 0, "high": _ROWS - 1, "exponent": exponent}}
        others = sorted({of["column"], *columns[base]} - {generator["column"]})
        made[name] = {"column": generator["column"], "row": {"variable": number}, "with": others}
    return made


def _table_of(column: str) -> str | None:
    read = read_column(column)
    return None if read is None else read[0].lower()


def base_of(generator: Generator) -> str | None:
    """Return the parameter to whose value a generator's is relative; None for other generators."""
    if isinstance(generator, dict) and isinstance(generator.get("row"), dict):
        return str(generator["row"]["variable"])
    expression = generator.get("expression") if isinstance(generator, dict) else None
    match = re.match(r":(\w+) [+-] ", expression) if isinstance(expression, str) else None
    return None if match is None else match[1]


def order_of(generators: Mapping[str, Generator], location: str) -> list[str]:
    """Return the parameters in an order that sets each after its base. Raises InputError.

    ``location``: for errors.
    """
    ordered: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        base = base_of(generators[name])
        if base is not None and base not in ordered:
            if base not in generators:
                raise InputError(
                    location, f":{name} is relative to :{base}, but the values of :{base} are missing", _RELATIVE_HINT
                )
            if base in above:
                raise InputError(location, f":{name} is relative to itself", f"give :{base} values of its own")
            add(base, (*above, name))
        if name not in ordered:
            ordered.append(name)

    for name in generators:
        add(name, (name,))
    return ordered


def read_pause(words: str, location: str) -> Generator:
    """Read the time of a pause; the generator returns microseconds. Raises InputError that begins with ``location``."""
    words = words.strip()
    mean = re.fullmatch(r"exp\s*\((.*)\)", words, re.IGNORECASE)
    if mean is not None:
        most = _EXPONENTIAL_END * _time(mean[1], words, location)
        return {"expression": f"random_exponential(0, {most}, {_EXPONENTIAL_END})"}
    first, dots, last = words.partition("..")
    low = _time(first, words, location)
    if not dots:
        return low
    high = _time(last, words, location)
    if low > high:
        raise InputError(location, f"the start of the range {words} is greater than its end", _PAUSE_HINT)
    return {"uniform": [low, high]}


def _time(word: str, words: str, location: str) -> int:
    """Return a time in microseconds."""
    match = _TIME.fullmatch(word.strip())
    if match is None:
        raise InputError(location, f"`{words}` is not the time of a pause", _PAUSE_HINT)
    microseconds = round(Decimal(match[1]) * _MICROSECONDS[match[2].lower()])
    if microseconds > _MAX_PAUSE_US:
        raise InputError(location, f"a pause of {word.strip()} is too long", "give at most an hour")
    return microseconds


def _column(words: str, location: str) -> str:
    """Return a column as an experiment file writes it: ``table.column``, with ranks or a pattern."""
    named = _COLUMN.fullmatch(words)
    if named is None:
        raise InputError(location, f"`{words}` does not name a column of a table", HINT)
    ranks = f" rank {', '.join(re.findall(r'[0-9]+', named[3]))}" if named[3] else ""
    pattern = f" pattern {named[4].lower()}" if named[4] else ""
    return f"{named[2]}.{named[1]}{ranks}{pattern}"


def _strength(word: str | None, kind: str, location: str) -> float | None:
    """Return the number after the name of a distribution, None without one."""
    if word is None:
        return None
    least = 1.0 if kind == "gaussian" else 0.0
    value = float(word) if _NUMBER.fullmatch(word) else math.nan
    if not (least <= value <= _MAX_STRENGTH) or value == 0:
        above = "from 1" if kind == "gaussian" else "above 0,"
        raise InputError(location, f"`{word}` is not a number for {kind}", f"give one {above} up to {_MAX_STRENGTH}")
    return value


def _skewed(words: str, kind: str, strength: float | None, location: str) -> Generator:
    if words.startswith("@") and kind == "zipf":
        return {"column": _column(words, location), "draw": {"zipf": 1.0 if strength is None else strength}}
    if "'" not in words and ".." in words:
        made = _range(words, location).get("uniform", [])
        if made and all(isinstance(each, int) for each in made):
            ends = {"low": made[0], "high": made[1]}
            if kind == "gaussian":
                return {"gaussian": ends if strength is None else {**ends, "deviations": strength}}
            # As with the rows of a table, the frequent values are not neighbors.
            return {"zipf": {**ends, "exponent": 1.0 if strength is None else strength, "scattered": True}}
    elif not words.startswith("@") and kind == "zipf":
        values = _list(words, location)
        if None not in values:
            exponent = 1.0 if strength is None else strength
            return {"pick": {"values": values, "weights": zipf_weights(len(values), exponent)}}
    raise InputError(location, f"`{words}` can't be drawn with {kind}", _SKEW_HINT)


def zipf_weights(count: int, exponent: float) -> list[float]:
    """Return the weight of each of ``count`` values, the k-th in proportion to 1 / k^``exponent``."""
    return [float(number**-exponent) for number in range(1, count + 1)]


def _list(words: str, location: str) -> list[Any]:
    values: list[Any] = []
    at, comma = 0, ","
    while comma:
        match = _ITEM.match(words, at)
        if match is None:
            raise InputError(location, f"`{words}` is not a list of values", HINT)
        values.append(match[1].replace("''", "'") if match[1] is not None else _value(match[2].strip(), location))
        at, comma = match.end(), match[3]
    return values


def _pick(values: list[Any]) -> Generator:
    given = [value for value in values if value is not None]
    if not given:
        return {_NULL: True}
    made = {"pick": given}
    return made if len(given) == len(values) else {"nullable": {"share": 1 - len(given) / len(values), "of": made}}


def _range(words: str, location: str) -> Generator:
    first, dots, last = words.partition("..")
    ends = [first.strip(), last.strip()]
    if dots and all(map(_DATE.fullmatch, ends)):
        return _dates(ends, words, location)
    if not dots or not all(map(_NUMBER.fullmatch, ends)):
        raise InputError(location, f"`{words}` is not a range of numbers or dates", HINT)
    low, high = (_value(each, location) for each in ends)
    if low > high:
        raise InputError(location, f"the start of the range {words} is greater than its end", HINT)
    if isinstance(low, float) or isinstance(high, float):
        low, high = float(low), float(high)
    return {"uniform": [low, high]}


def _dates(ends: list[str], words: str, location: str) -> Generator:
    first, last = (_date(each, location) for each in ends)
    days = (last - first).days
    if days < 0:
        raise InputError(location, f"the start of the range {words} is after its end", HINT)
    if days > _MAX_DAYS:
        raise InputError(location, f"the range {words} has {days:,} days; the limit is {_MAX_DAYS:,}", HINT)
    return {"pick": [(first + timedelta(days=day)).isoformat() for day in range(days + 1)]}


def _value(word: str, location: str) -> Any:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if _DATE.fullmatch(word):
        return _date(word, location).isoformat()
    if _INTEGER.fullmatch(word):
        if not _MIN_INTEGER <= int(word) <= _MAX_INTEGER:
            raise InputError(location, f"{word} does not fit into 64 bits", f"write `'{word}'` for a string")
        return int(word)
    if _NUMBER.fullmatch(word):
        value = float(word)
        if not math.isfinite(value) or len(word) > _MAX_DIGITS or Decimal(repr(value)) != Decimal(word):
            raise InputError(location, f"{word} has more digits than a double", f"write `'{word}'` for a string")
        return value
    raise InputError(
        location, f"`{word}` is not a number, a date, `null`, `true` or `false`", f"write `'{word}'` for a string"
    )


def _date(word: str, location: str) -> date:
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise InputError(location, f"{word} is not a valid date", HINT) from None
