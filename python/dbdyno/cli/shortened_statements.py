"""Shorten statements, with their tables and conditions: long lists are left out first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dbdyno.base.text import shortened
from dbdyno.engines.sql_lexer import Kind, UnterminatedError, significant, tokenize

# A shorter list says more than `…`.
_SHORT_LIST = 16
_AFTER_LIST = frozenset(("except", "from", "intersect", "into", "limit", "order", "returning", "union", "where"))
_AFTER_ON = frozenset(
    ("cross", "full", "group", "having", "inner", "join", "left", "limit", "natural", "order", "right", "set", "union",
     "where")
)  # fmt: skip
_BEFORE_TABLES = frozenset(("from", "into", "join", "table", "update"))
_TABLE = re.compile(r"\b(?:from|into|join|update) \S+", re.IGNORECASE)
# Characters of a statement behind its table.
_LEAST_REST = 6
_PLAIN_NAME = re.compile(r'"[^\W\d]\w*"|`[^\W\d]\w*`|\[[^\W\d]\w*\]')


class _Part(NamedTuple):
    """A part of a statement. ``glued``: no space is before it."""

    text: str
    glued: bool

    @property
    def word(self) -> str:
        return self.text.lower()


_Parts = list[_Part]


def shortened_statements(statements: Sequence[str], longest: int) -> list[str]:
    """Return statements with at most ``longest`` characters each; different ones remain different if possible."""
    condensed = [condensed_statement(each, longest) for each in statements]
    made = [shortened(each, longest) for each in condensed]
    equal = defaultdict(list)
    for number, text in enumerate(made):
        equal[text].append(number)
    for numbers in equal.values():
        texts = [condensed[number] for number in numbers]
        if len(set(texts)) == 1:
            texts = [statements[number] for number in numbers]
        if len(set(texts)) > 1:
            # Begin with the word in which they differ.
            same = next(
                (at for at, each in enumerate(zip(*texts, strict=False)) if len(set(each)) > 1), min(map(len, texts))
            )
            begin = texts[0].rfind(" ", 0, same) + 1
            first, table = texts[0].partition(" ")[0], _TABLE.search(texts[0][:begin])
            before = f"{first} … {table[0]} …" if table else f"{first} …"
            before = before if len(before) + _LEAST_REST <= longest else f"{first} …"
            for number, text in zip(numbers, texts, strict=True):
                made[number] = shortened(f"{before} {text[begin:]}", longest)
    return made


def condensed_statement(statement: str, longest: int) -> str:
    """Return a fingerprint without as many of its lists, quotes and joins as it takes to get ``longest`` characters."""
    if len(statement) <= longest:
        return statement
    try:
        tokens = significant(tokenize(statement))
    except UnterminatedError:
        return statement
    ends = [0, *(each.end for each in tokens)]
    parts = [_Part(each.text, each.start == end) for each, end in zip(tokens, ends, strict=False)]
    is_name = [each.kind in (Kind.NAME, Kind.WORD) for each in tokens]
    steps: Sequence[Callable[[_Parts], _Parts]] = (_without_lists, _without_qualifiers, _without_joins)
    parts = [
        _Part(each.text[1:-1], each.glued) if named and _PLAIN_NAME.fullmatch(each.text) else each
        for each, named in zip(parts, is_name, strict=True)
    ]
    for step in steps:
        if len(_joined(parts)) <= longest:
            break
        parts = step(parts)
    return _joined(parts)


def _joined(parts: Sequence[_Part]) -> str:
    return "".join(each.text if each.glued else f" {each.text}" for each in parts).strip()


def _end(parts: _Parts, at: int, ends: frozenset[str]) -> int:
    """Return the end of a list that begins at ``at``: a word of ``ends``, or the parenthesis around it."""
    depth = 0
    while at < len(parts):
        depth += {"(": 1, ")": -1}.get(parts[at].text, 0)
        if depth < 0 or (depth == 0 and parts[at].word in ends):
            return at
        at += 1
    return at


def _is_long(parts: _Parts) -> bool:
    return len(_joined(parts)) > _SHORT_LIST


def _without_lists(parts: _Parts) -> _Parts:
    """Leave out long lists of columns and values; of assignments, keep the first one."""
    made: _Parts = []
    at = 0
    while at < len(parts):
        made.append(parts[at])
        word, at = parts[at].word, at + 1
        if word in ("select", "returning"):
            end = _end(parts, at, _AFTER_LIST)
            has_more = word == "returning" or (end < len(parts) and parts[end].word == "from")
            if has_more and _is_long(parts[at:end]):
                made.append(_Part("…", glued=False))
                at = end
        elif word == "set":
            end = _end(parts, at, _AFTER_LIST)
            first = _end(parts, at, frozenset((",",)))
            if _is_long(parts[at:end]) and first < end:
                made += [*parts[at:first], _Part(",", glued=True), _Part("…", glued=False)]
                at = end
        elif word == "(":
            end = _end(parts, at, frozenset())
            before = [each.word for each in made[-4:-1]]
            if not _is_long(parts[at:end]):
                continue
            if before[-1:] in (["in"], ["values"]) and all(each.text in ("?", ",") for each in parts[at:end]):
                made.append(_Part(f"? x {(end - at + 1) // 2}", glued=True))
                at = end
            elif "values" in before[-1:] or "into" in before:
                made.append(_Part("…", glued=True))
                at = end
    return made


def _without_qualifiers(parts: _Parts) -> _Parts:
    """Leave out the tables before columns, and spaces around comparisons."""
    made: _Parts = []
    for at, each in enumerate(parts):
        is_column = each.text == "." and len(made) > 1 and made[-2].word not in _BEFORE_TABLES
        if is_column and at + 1 < len(parts) and parts[at + 1].glued:
            glued = made.pop().glued
            made.append(_Part("", glued))
        elif each.text in "=<>!" or (made and made[-1].text in ("=", "<", ">")):
            made.append(_Part(each.text, glued=True))
        else:
            made.append(each)
    return made


def _without_joins(parts: _Parts) -> _Parts:
    """Leave out the conditions of joins."""
    made: _Parts = []
    at = 0
    while at < len(parts):
        word, after = parts[at].word, parts[at + 1].word if at + 1 < len(parts) else ""
        if word == "on" and after not in ("conflict", "duplicate"):
            at = _end(parts, at + 1, _AFTER_ON)
            continue
        if not (word in ("inner", "outer") and after == "join"):
            made.append(parts[at])
        at += 1
    return made
