"""Texts, quoted names and comments of PostgreSQL's."""

import re

from dbdyno.engines.quoting import FLAGS, NAME, TEXT

# Comments that have others in them, so many within one another at most.
_DEEPEST = 8


def _nested_comment(depth: int = _DEEPEST) -> str:
    inner = f"{_nested_comment(depth - 1)} | " if depth else ""
    return rf"/\*(?: {inner} [^*/] | \*(?!/) | /(?!\*) )*\*/"


# With backslashes that escape, and in dollar signs.
_ESCAPED = r"(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'"
_IN_DOLLARS = r"(?<![\w$]) (?P<dollar>\$(?:[^\W\d]\w*)?\$) .*? (?P=dollar)"

PARTS = f"{_ESCAPED} | {TEXT} | {NAME} | {_IN_DOLLARS} | {_nested_comment()}"
"""All but comments of one line: a verbose regular expression whose dots are any character."""

QUOTED = re.compile(rf"{PARTS} | --[^\n]*", FLAGS)
"""What a ``?`` may stand in without being a place for a value."""
