"""Make up values that a type accepts, of the recorded length."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MOST_STRINGS = 20
_LONGEST = 40
# Written strings have about the recorded length, so that rows have it, too.
_MOST_WRITTEN, _LONGEST_WRITTEN = 5, 200
INTEGERS = frozenset(
    ("bigint", "bigserial", "int", "integer", "mediumint", "oid", "serial", "smallint", "tinyint", "year")
)
SMALLEST: Mapping[str, int] = {"smallint": 32_767, "tinyint": 127, "year": 2155}
"""Greatest values of small types of integers."""
_NUMBERS = frozenset(("decimal", "double", "double precision", "float", "numeric", "real"))
STRINGS = frozenset(
    ("", "char", "character", "character varying", "citext", "longtext", "mediumtext", "name", "text", "tinytext")
) | {"bpchar", "varchar"}  # fmt: skip
_OTHERS: Mapping[str, str] = {
    "bit": "'0'", "bool": "true, false", "boolean": "true, false", "cidr": "'192.0.2.0/24'", "inet": "'192.0.2.1'",
    "interval": "'1 day'", "json": "'{}'", "jsonb": "'{}'", "macaddr": "'00:00:5e:00:53:01'", "time": "'12:00:00'",
    "timetz": "'12:00:00'", "tsquery": "'x'", "tsvector": "'x'", "xml": "'<x/>'",
    **dict.fromkeys(("date", "datetime", "timestamp", "timestamptz"), "2024-01-01..2024-12-31"),
    **dict.fromkeys(("binary", "blob", "bytea", "longblob", "mediumblob", "tinyblob", "varbinary"), "'a', 'b'"),
}  # fmt: skip
UUID_START = "00000000-0000-4000-8000-"
_ENUM = re.compile(r"(?:enum|set)\((.*)\)", re.IGNORECASE | re.DOTALL)
_DECLARED = re.compile(r"([a-z ]+?)\s*(?:\((\d+)(?:,\s*\d+)?\))?(?: unsigned| with(?:out)? time zone)*")


def values_of_type(type_: str, kind: str, length: int, distinct: int, *, written: bool) -> str | None:
    """Return values of a type as a .sql file has them; ``None`` for unknown types.

    ``type_``: as the engine declares it, empty if it accepts all values. ``kind``, ``length``: of the recorded values,
    of which ``distinct`` were different. ``written``: they get to a table.
    """
    count = min(distinct, _MOST_WRITTEN if written else _MOST_STRINGS)
    declared = _DECLARED.fullmatch(type_.lower())
    name = declared[1] if declared else type_.lower()
    name = _by_kind(kind) if not name or (name in STRINGS and kind == "date") else name
    enum = _ENUM.fullmatch(type_)
    values = enum[1] if enum is not None else _OTHERS.get(name)
    if name.endswith("[]"):
        values = "'{}'"
    elif name == "uuid":
        values = ", ".join(f"'{UUID_START}{number:012}'" for number in range(count))
    elif name in INTEGERS:
        values = f"1..{max(min(distinct, SMALLEST.get(name, distinct)), 1)}"
    elif name in _NUMBERS:
        # Not more digits than a declared precision may allow.
        values = f"0.0..{float(10 ** min(length or 1, 3 if type_ else 12) - 1)!r}"
    elif name in STRINGS:
        longest = min(int(declared[2]) if declared and declared[2] else length, length)
        values = _strings(count, min(longest, _LONGEST_WRITTEN if written else _LONGEST))
    return values


def _by_kind(kind: str) -> str:
    """Return the type that values of a recorded kind have."""
    return {"integer": "integer", "number": "numeric", "date": "date"}.get(kind, "text")


def _strings(count: int, length: int) -> str:
    texts = (f"{number:x}".rjust(length, "x")[-max(length, 1) :] for number in range(count))
    return ", ".join(f"'{each}'" for each in dict.fromkeys(texts))
