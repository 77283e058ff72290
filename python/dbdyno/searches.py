"""What a statement searches for, as far as its text tells: a pattern that begins with fixed characters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.experiment.sql import masked, places, without_texts

_LIKE = re.compile(
    r"""(?P<column>\b(?!not\b)[A-Za-z_][\w.]*|"[^"]+") \s+ like \s+ (?: (?P<place>\?) | '(?P<text>(?:[^']|'')*)' )""",
    re.VERBOSE | re.IGNORECASE,
)
_WILDCARD = re.compile("[%_]")
# What stands on either side of an equality (`<=` and its kin are none), or in a list: values, in a masked statement.
_EQUALS = re.compile(
    r"""(?<![<>!=]) = (?!=) \s* (?P<right>\?|'_*') | (?P<left>\?|'_*') \s* = (?!=)
    | \b in \s* \( (?P<list>[^()]*) \)""",
    re.VERBOSE | re.IGNORECASE,
)
_VALUE = re.compile(r"\?|'_*'")
# Where it is asked for what does not compare equal.
_NOT = re.compile(r"\bnot\s+(like|in)\b|<>|!=", re.IGNORECASE)
# What makes a comparison another than the engine's usual one.
_OTHER_RULE = re.compile(r"\b(ilike|collate|binary|lower|upper|lcase|ucase)\b", re.IGNORECASE)
_ONE_ROW = re.compile(r"\s*select\s+(count|sum|avg|min|max)\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class PrefixSearch:
    """A search by ``LIKE`` for what begins with ``prefix``."""

    column: str
    pattern: str
    prefix: str

    @property
    def text(self) -> str:
        """The condition as SQL, with the pattern in it."""
        return f"{self.column} like '{self.pattern}'"


def prefix_search(sql: str, values: Sequence[Any]) -> PrefixSearch | None:
    """Find the first ``LIKE`` of a statement whose pattern begins with fixed characters, and does not end there.

    ``values``: those of its parameters, or none where they are not the same each time. ``None``: it has no such search,
    or its pattern is not known. A pattern with ``ESCAPE`` is not looked into.
    """
    for found in _LIKE.finditer(sql):
        pattern = found["text"]
        if found["place"]:
            index = places(sql[: found.start("place")])
            pattern = values[index] if index < len(values) else None
        if not isinstance(pattern, str) or re.match(r"\s+escape\b", sql[found.end() :], re.IGNORECASE):
            continue
        wildcard = _WILDCARD.search(pattern)
        if wildcard and wildcard.start() > 0:
            return PrefixSearch(found["column"], pattern, pattern[: wildcard.start()])
    return None


def text_comparison(sql: str, values: Sequence[Any]) -> str | None:
    """Give the operator by which a statement compares texts, ``LIKE`` or ``=``.

    ``values``: those of its parameters. ``None``: it compares none, or not by the engine's usual rule.
    """
    bare = without_texts(sql)
    if _OTHER_RULE.search(bare):
        return None
    if re.search(r"\blike\b", bare, re.IGNORECASE):
        return "LIKE"
    return "=" if _equates_texts(masked(sql), values) else None


def asks_for_others(sql: str) -> bool:
    """Whether a statement may ask for what does not compare equal."""
    return bool(_NOT.search(without_texts(sql)))


def _equates_texts(sql: str, values: Sequence[Any]) -> bool:
    """Whether a text stands on a side of an equality, or in a list. ``sql``: masked."""
    for found in _EQUALS.finditer(sql):
        group = next(name for name, part in found.groupdict().items() if part is not None)
        for value in _VALUE.finditer(sql, found.start(group), found.end(group)):
            index = sql.count("?", 0, value.start())
            if value[0] != "?" or (index < len(values) and isinstance(values[index], str)):
                return True
    return False


def gives_one_row(sql: str) -> bool:
    """Whether a statement surely returns one row whatever it finds, as a count does."""
    return bool(_ONE_ROW.match(sql)) and not re.search(r"\b(group\s+by|over|union)\b", sql, re.IGNORECASE)
