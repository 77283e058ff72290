"""Fingerprints: statements with `?` instead of each value, without comments, and with the values apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbdyno.engines.lookup import known_engine
from dbdyno.engines.sql_lexer import Kind, Syntax, Token, UnterminatedError, placeholders, significant, tokenize
from dbdyno.trace.quoted_names import quoted_strings

_KEPT = frozenset(("call", "delete", "explain", "insert", "merge", "replace", "select", "table", "update", "values"))
QUERIES_AND_CHANGES = _KEPT | {"with", "("}
"""First words of statements that are kept whole. Others, such as `create user`, are known by their first words."""

CURSOR = "declare cursor for "
"""The beginning of a fingerprint with a cursor's query."""

_CONTROLS = frozenset(("abort", "begin", "commit", "end", "release", "rollback", "savepoint", "start"))
_OBJECTS = frozenset(
    ("database", "function", "index", "role", "schema", "sequence", "table", "trigger", "user", "view")
)
# `declare NAME binary insensitive no scroll cursor without hold for`
_CURSOR_WORDS = 9
_SWITCHES = ("0", "1", "off", "on")
# Pragmas whose values are kept.
_SETTINGS = frozenset(
    ("automatic_index", "busy_timeout", "cache_size", "cache_spill", "checkpoint_fullfsync", "foreign_keys",
     "fullfsync", "journal_mode", "journal_size_limit", "locking_mode", "mmap_size", "read_uncommitted",
     "secure_delete", "synchronous", "temp_store", "threads", "wal_autocheckpoint")
)  # fmt: skip
_SETTING = re.compile(
    r"-?\d{1,15}|delete|exclusive|extra|false|fast|file|full|memory|no|normal|off|on|persist|true|truncate|wal|yes"
)
_SAVEPOINT = re.compile(
    r"(savepoint|release(?:\s+savepoint)?|rollback\s+to(?:\s+savepoint)?)\b.*", re.IGNORECASE | re.DOTALL
)

# Lengths of lists: a list gets the nearest of them, so that lists of many lengths have few fingerprints.
_LENGTHS = sorted({round(base * 2**power) for power in range(16) for base in (1, 1.5)})

_SHORT_NUMBER = re.compile(r"\d{1,5}")
_SPAN = re.compile(r"'\d{1,4} ?(?:microsecond|millisecond|second|minute|hour|day|week|month|year)s?'", re.IGNORECASE)
_SIZED = frozenset(
    ("binary", "bit", "char", "character", "datetime", "dec", "decimal", "float", "numeric", "nvarchar", "time",
     "timestamp", "timestamptz", "varbinary", "varchar", "varying")
)  # fmt: skip
# Words that are part of the literal behind them.
_TYPED = frozenset(("date", "interval", "time", "timestamp", "timestamptz"))

# Texts in which quotes and digits alone decide where the literals are.
_PLAIN = re.compile(
    r"""(?:[^'"`\[\]$#\\/?:@%{}-]|/(?![*])|-(?!-)|::|'(?:[^'\\]|'')*'|"[^"'\\]*"|`[^`'\\]*`)*""", re.DOTALL
)
_LITERAL = re.compile(
    r"'(?:[^'\\]|'')*'|(?:(?<=[=(,+*/<>])|(?<=[=(,+*/<>] ))-?(?:\d+\.?\d*|\.\d+)\b|(?<![\w.])(?:\d+\.?\d*|\.\d+)\b"
)
_SKELETONS = 20_000
_SPACES = re.compile(r"\s+")


class Literal(NamedTuple):
    """A value in the text of a statement, as it is written there from index ``start`` on."""

    text: str
    start: int


class Bound(NamedTuple):
    """A parameter of a statement. ``name``: as in `:name`, or its number from 1; ``at``: its number in the text."""

    name: str
    at: int


Found = Literal | Bound


@dataclass(frozen=True)
class Fingerprint:
    """A statement without its values. ``values``: what each `?` stands for; for a list, the first of its values.

    ``is_whole``: it has all other parts of the statement, rather than the first words.
    """

    text: str
    values: Sequence[Found] = ()
    is_whole: bool = True


UNREADABLE = Fingerprint("(unreadable)", is_whole=False)


@dataclass(frozen=True)
class _Skeleton:
    """A text whose literals vary: its pieces between the literals, and the literals that became values."""

    text: str
    places: Sequence[int]
    # Literals that remain in the text, by their index among the literals.
    fixed: Sequence[tuple[int, str]]
    is_whole: bool


class Fingerprints:
    """Makes fingerprints by the lexical rules of an engine. Texts that differ in literals only are read once."""

    def __init__(self, engine: str) -> None:
        self._syntax = known_engine(engine).syntax
        self._skeletons: dict[str, _Skeleton | None] = {}
        self._whole: dict[str, Fingerprint] = {}

    def of(self, text: str) -> Fingerprint:
        """Return the fingerprint of a statement. A text that can't be read gets one without any of its parts."""
        whole = self._whole.get(text)
        if whole is not None:
            return whole
        literals = list(_LITERAL.finditer(text)) if _PLAIN.fullmatch(text) else []
        if not literals:
            return self._remember(text)
        key = _LITERAL.sub(_marked, text)
        known = self._skeletons.get(key)
        if known is not None and all(literals[at][0] == fixed for at, fixed in known.fixed):
            values = [Literal(literals[at][0], literals[at].start()) for at in known.places]
            return Fingerprint(known.text, values, known.is_whole)
        made = read_fingerprint(text, self._syntax)
        if len(self._skeletons) < _SKELETONS:
            self._skeletons[key] = _skeleton(made, literals)
        return made

    def _remember(self, text: str) -> Fingerprint:
        if len(self._whole) >= _SKELETONS:
            self._whole.clear()
        made = self._whole[text] = read_fingerprint(text, self._syntax)
        return made


def _marked(found: re.Match[str]) -> str:
    return "\0s" if found[0].startswith("'") else "\0n"


def _skeleton(made: Fingerprint, literals: Sequence[re.Match[str]]) -> _Skeleton | None:
    """Return which literals of a text became values; ``None`` if other parts of it did, too."""
    at = {(each.start(), each[0]): index for index, each in enumerate(literals)}
    places = [at.get((each.start, each.text), -1) if isinstance(each, Literal) else -1 for each in made.values]
    if -1 in places:
        return None
    varying = set(places)
    fixed = [(index, each[0]) for index, each in enumerate(literals) if index not in varying]
    return _Skeleton(made.text, places, fixed, made.is_whole)


def read_fingerprint(text: str, syntax: Syntax) -> Fingerprint:
    """Make a fingerprint; see :class:`Fingerprints`."""
    try:
        tokens = significant(tokenize(text, syntax))
        bound = {each.start: at for at, each in enumerate(placeholders(text, syntax))}
    except UnterminatedError:
        return UNREADABLE
    while tokens and tokens[-1].kind is Kind.SEMICOLON:
        tokens.pop()
    query = _cursor_query(tokens)
    outline = _without_text(query or tokens)
    if outline is not None:
        return Fingerprint(outline, is_whole=False)
    items = _shortened(list(_items(text, query or tokens, bound, syntax)))
    values = [each.value for each in items if each.value is not None]
    return Fingerprint((CURSOR if query else "") + _joined(items), values)


def _cursor_query(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the query of a declared cursor; empty for other statements. Drivers may number the cursors' names."""
    words = [each.text.lower() for each in tokens[:_CURSOR_WORDS]]
    if words[:1] != ["declare"] or "cursor" not in words or "for" not in words:
        return ()
    query = tokens[words.index("for") + 1 :]
    return query if query and query[0].text.lower() in QUERIES_AND_CHANGES else ()


def _without_text(tokens: Sequence[Token]) -> str | None:
    """Return what stands for a statement whose text isn't kept; ``None`` if it is kept."""
    words = [each.text.lower() for each in tokens[:2]]
    if not words:
        return "(empty)"
    if any(each.kind is Kind.SEMICOLON for each in tokens):
        return "(several statements)"
    if words[0] in _CONTROLS:
        return _control(tokens)
    if words[0] == "pragma":
        return _pragma(tokens)
    return None if words[0] in QUERIES_AND_CHANGES else _outline(tokens)


def _pragma(tokens: Sequence[Token]) -> str:
    """Return the name of a pragma, and its value if it is a setting that changes how fast statements are."""
    words = [each.text.lower() for each in tokens]
    if len(words) == 1 or tokens[1].kind is not Kind.WORD:
        return "pragma"
    value = "".join(words[3:]).strip("'\")") if words[2:3] in (["="], ["("]) else ""
    is_kept = words[1] in _SETTINGS and _SETTING.fullmatch(value)
    return f"pragma {words[1]} = {value}" if is_kept else f"pragma {words[1]}"


def _control(tokens: Sequence[Token]) -> str:
    words = " ".join(each.text for each in tokens if each.kind in (Kind.WORD, Kind.OPERATOR)).lower()
    found = _SAVEPOINT.fullmatch(words)
    if found is not None:
        return f"{_SPACES.sub(' ', found[1])} s"
    known = {"work", "transaction", "isolation", "level", "read", "write", "only", "committed", "uncommitted",
             "repeatable", "serializable", "deferred", "immediate", "exclusive", "concurrent", "and", "no", "chain",
             "with", "consistent", "snapshot", "deferrable", "not", ",", *_CONTROLS}  # fmt: skip
    return " ".join(each if each in known else "?" for each in words.split()).replace(" ,", ",")


def _outline(tokens: Sequence[Token]) -> str:
    """Return the first words of a statement whose text may contain names of persons or passwords."""
    first = tokens[0].text.lower() if tokens[0].kind is Kind.WORD and tokens[0].text.isascii() else ""
    if not first or len(first) > len("reassign") + 4:
        return "(unreadable)"
    second = tokens[1].text.lower() if len(tokens) > 1 else ""
    if first == "set" and second == "autocommit" and tokens[-1].text.lower() in _SWITCHES:
        return f"set autocommit = {tokens[-1].text.lower()}"
    return f"{first} {second}" if second in _OBJECTS else first


class _Item(NamedTuple):
    """A part of a fingerprint; ``glued``: no space is before it in the text; ``value``: what its `?` stands for."""

    text: str
    glued: bool
    value: Found | None = None


def _items(text: str, tokens: Sequence[Token], bound: dict[int, int], syntax: Syntax) -> Iterator[_Item]:
    """Yield the parts of a fingerprint, with all values."""
    at = 0
    depth = 0
    ordered: int | None = None
    limited = False
    strings = frozenset() if syntax.question_operators else quoted_strings(tokens)
    while at < len(tokens):
        token, before = tokens[at], tokens[at - 1] if at else None
        word = token.text.lower() if token.kind is Kind.WORD else token.text
        glued = before is not None and before.end == token.start
        depth += {"(": 1, ")": -1}.get(word, 0)
        previous = before.text.lower() if before is not None else ""
        if token.kind is Kind.WORD:
            limited = word in ("limit", "offset", "first", "next") or (limited and word in ("row", "rows", "only"))
            ordered = depth if word == "by" else None if word in _AFTER_ORDER else ordered
        behind = tokens[at + 1] if at + 1 < len(tokens) else None
        is_negative = (
            word == "-"
            and behind is not None
            and behind.kind is Kind.NUMBER
            and behind.start == token.end
            and not _is_operand(before, bound)
        )
        if token.start in bound:
            yield _Item("?", glued, Bound(bound_name(token.text), bound[token.start]))
        elif is_negative and behind is not None:
            yield _Item("?", glued, Literal(f"-{behind.text}", token.start))
            at += 1
        elif token.kind is Kind.NUMBER:
            is_ordinal = ordered == depth and previous in ("by", ",")
            is_size = previous in ("(", ",") and _is_size(tokens, at)
            is_flag = previous in ("select", "limit", "offset", "first", "next") or (limited and previous == ",")
            is_fixed = (is_ordinal or is_size or is_flag) and _SHORT_NUMBER.fullmatch(token.text) is not None
            yield _Item(token.text, glued) if is_fixed else _Item("?", glued, Literal(token.text, token.start))
        elif token.kind is Kind.STRING:
            is_span = previous == "interval" and _SPAN.fullmatch(token.text) is not None
            yield _Item(token.text, glued) if is_span else _Item("?", glued, Literal(token.text, token.start))
        elif token.start in strings:
            yield _Item("?", glued, Literal(token.text, token.start))
        elif behind is not None and behind.kind is Kind.STRING and _belongs(token, behind):
            yield _Item("?", glued, Literal(text[token.start : behind.end], token.start))
            at += 1
        else:
            yield _Item(token.text, glued)
        at += 1


def bound_name(text: str) -> str:
    """Return the name of a parameter; empty for `?` and `%s`."""
    if text.startswith("%"):
        return text[2:-2]
    return text[1:]


_AFTER_ORDER = frozenset(("limit", "offset", "having", "union", "rows", "range", "select", "where", "for", "fetch"))


def _is_operand(token: Token | None, bound: dict[int, int]) -> bool:
    if token is None:
        return False
    if token.kind in (Kind.NUMBER, Kind.STRING, Kind.NAME) or token.start in bound or token.text in (")", "]"):
        return True
    return token.kind is Kind.WORD and token.text.lower() not in _BEFORE_VALUES


_BEFORE_VALUES = frozenset(
    ("and", "between", "by", "case", "else", "in", "is", "limit", "not", "offset", "on", "or", "returning", "select",
     "set", "then", "values", "when", "where")
)  # fmt: skip


def _is_size(tokens: Sequence[Token], at: int) -> bool:
    """Whether a number is the size of a type, such as in `decimal(10, 2)`."""
    opening = at - 1 if tokens[at - 1].text == "(" else at - 3
    return opening > 0 and tokens[opening].text == "(" and tokens[opening - 1].text.lower() in _SIZED


def _belongs(token: Token, string: Token) -> bool:
    """Whether a word is the beginning of a literal: `x'00'`, `_utf8'a'`, or `date '2024-01-01'`."""
    if token.kind is not Kind.WORD:
        return False
    word = token.text.lower()
    if word == "interval" and _SPAN.fullmatch(string.text):
        return False
    return token.end == string.start or word in _TYPED


def _shortened(items: list[_Item]) -> list[_Item]:
    """Give lists of values, and of rows of values, the nearest of few lengths."""
    made: list[_Item] = []
    at = 0
    while at < len(items):
        group = _group(items, at)
        if group is None:
            made.append(items[at])
            at += 1
            continue
        copies, size = group
        length = min(_LENGTHS, key=lambda each: (abs(each - copies), each))
        stride = size + 1
        for number in range(length):
            start = at + min(number, copies - 1) * stride
            made += items[start : start + size]
            if number < length - 1:
                made.append(_Item(",", glued=True))
        at += copies * stride - 1
    return made


def _group(items: Sequence[_Item], at: int) -> tuple[int, int] | None:
    """Return how many equal items begin here, and the parts of each; ``None`` if it isn't a list of values."""
    before = items[at - 1].text.lower() if at else ""
    if items[at].value is not None and before == "(" and at > 1 and items[at - 2].text.lower() == "in":
        size = 1
    elif items[at].text == "(" and before == "values":
        closing = next((end for end in range(at, len(items)) if items[end].text == ")"), None)
        if closing is None:
            return None
        size = closing - at + 1
    else:
        return None
    shape = [each.text for each in items[at : at + size]]
    copies, end = 1, at + size
    while (
        end < len(items) and items[end].text == "," and [each.text for each in items[end + 1 : end + 1 + size]] == shape
    ):
        copies += 1
        end += size + 1
    return (copies, size) if copies > 1 else None


def _joined(items: Sequence[_Item]) -> str:
    parts: list[str] = []
    for each in items:
        if parts and not each.glued:
            parts.append(" ")
        parts.append(each.text)
    return "".join(parts)
