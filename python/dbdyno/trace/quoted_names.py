"""Double quotes in SQLite: around a name, or around a string, if there is no such name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dbdyno.engines.sql_lexer import Kind, Token

# Other content, such as spaces and mail addresses, is a string.
_PLAIN_NAME = re.compile(r'"[A-Za-z_]\w*"')
_BEFORE_NAMES = frozenset(("as", "from", "into", "join", "table", "update"))
_BEFORE_TABLES = frozenset(("from", "into", "join", "update"))
_BEFORE_STRINGS = frozenset(("=", "<", ">", "between", "else", "glob", "ilike", "like", "then"))
_COMPARISONS = frozenset(("!", "(", "<", "=", ">", "between", "glob", "in", "is", "like", "match", "not", "regexp"))
_CONSTANTS = frozenset(("-", "false", "null", "select", "true"))
_AFTER_VALUES = frozenset(
    ("and", "group", "limit", "on", "or", "order", "returning", "select", "set", "union", "when", "where")
)
# Names that must be in quotes.
_KEYWORDS = frozenset(
    ("add", "all", "and", "as", "between", "by", "case", "check", "commit", "constraint", "create", "default",
     "delete", "distinct", "else", "escape", "exists", "foreign", "from", "group", "having", "in", "index", "insert",
     "into", "is", "join", "limit", "not", "null", "on", "or", "order", "primary", "references", "returning",
     "select", "set", "table", "then", "to", "transaction", "union", "unique", "update", "using", "values", "when",
     "where")
)  # fmt: skip


def quoted_strings(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the starts of the tokens in double quotes that may be strings.

    A token is a string unless the statement shows that it is a name, or all tables are in double quotes: then an
    application's library has quoted all names.
    """
    quoted = [at for at, each in enumerate(tokens) if each.kind is Kind.NAME and each.text.startswith('"')]
    if not quoted:
        return frozenset()
    words = [each.text.lower() for each in tokens]
    values, columns = set(_values(words)), set(_columns(words))
    strings = {at for at in quoted if not _is_part(words, at) and (at in values or _is_after_operand(words, at))}
    known = {each.text.lower() for each in tokens if each.kind is Kind.WORD} | _KEYWORDS
    for at in quoted:
        is_name = _is_part(words, at) or words[at - 1] in _BEFORE_NAMES or at in columns
        if at not in strings and (is_name or _is_compared(tokens, words, at, strings)):
            known.add(words[at].strip('"'))
    tables = list(_tables(tokens, words))
    has_quoted_tables = bool(tables) and all(words[at].startswith('"') for at in tables)
    for at in quoted:
        if _is_part(words, at) or words[at - 1] in _BEFORE_NAMES:
            continue
        is_plain = _PLAIN_NAME.fullmatch(tokens[at].text) is not None
        if not is_plain or not (has_quoted_tables or words[at].strip('"') in known):
            strings.add(at)
    return frozenset(tokens[at].start for at in strings)


def _is_part(words: Sequence[str], at: int) -> bool:
    """Whether a name is followed by another name, or belongs to one."""
    return words[at - 1 : at] == ["."] or words[at + 1 : at + 2] in (["."], ["("])


def _is_after_operand(words: Sequence[str], at: int) -> bool:
    """Whether a value is expected, such as behind `=` or in `between … and …`."""
    before = words[max(at - 3, 0) : at]
    return before[-1:] != [] and (
        before[-1] in _BEFORE_STRINGS
        or (before[-1] == "and" and before[0] == "between")
        or (before[-1] == "from" and before[-2:-1] == ["distinct"])
    )


def _is_compared(tokens: Sequence[Token], words: Sequence[str], at: int, strings: set[int]) -> bool:
    """Whether a name is compared with a value, so that it isn't one itself."""
    operand = at + 1
    while operand < len(tokens) and words[operand] in _COMPARISONS:
        operand += 1
    if operand == at + 1 or operand == len(tokens):
        return words[at + 1 : at + 2] in (["isnull"], ["notnull"])
    is_value = tokens[operand].kind in (Kind.STRING, Kind.NUMBER, Kind.PLACEHOLDER)
    return is_value or operand in strings or words[operand] in _CONSTANTS


def _values(words: Sequence[str]) -> Iterator[int]:
    """Yield the places of names in lists of values."""
    depth, in_values = 0, False
    for at, word in enumerate(words):
        depth += {"(": 1, ")": -1}.get(word, 0)
        in_values = word in ("in", "values") or (in_values and word not in _AFTER_VALUES)
        if in_values and depth > 0 and words[at - 1] in ("(", ","):
            yield at


def _columns(words: Sequence[str]) -> Iterator[int]:
    """Yield the places of names in lists of columns, and of columns that are set."""
    in_list = is_returned = False
    for at, word in enumerate(words):
        if word == "(":
            before = words[max(at - 4, 0) : at]
            is_of_table = before[-2:-1] in (["into"], ["with"]) or (before[-2:-1] == ["."] and before[0] == "into")
            in_list = is_of_table or before[-1:] in (["conflict"], ["using"])
        in_list = in_list and word != ")"
        is_returned = is_returned or word == "returning"
        is_set = at > 0 and words[at - 1] in ("set", ",") and words[at + 1 : at + 2] == ["="]
        if in_list or is_returned or is_set:
            yield at


def _tables(tokens: Sequence[Token], words: Sequence[str]) -> Iterator[int]:
    """Yield the places of the names of tables."""
    for at in range(1, len(tokens)):
        if words[at - 1] not in _BEFORE_TABLES or words[at] in ("(", "set") or words[at - 2 : at - 1] == ["distinct"]:
            continue
        name = at
        while words[name + 1 : name + 2] == ["."]:
            name += 2
        is_function = words[name + 1 : name + 2] == ["("] and words[at - 1] != "into"
        if name < len(tokens) and not is_function:
            yield name
