"""Statements as a server can execute them again: their text, and how they were prepared.

A trace has them only if it keeps values. Statements that may contain a password, or need data that isn't recorded, are
left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from dbdyno.engines.lookup import known_engine
from dbdyno.engines.sql_lexer import Kind, Token, UnterminatedError, placeholders, significant, tokenize
from dbdyno.trace.bound_values import UNKNOWN_PARAMETER, UnreadBytes
from dbdyno.trace.fingerprint import QUERIES_AND_CHANGES, Bound, Fingerprint, bound_name
from dbdyno.trace.recorded import Recorded

# Other statements that can be executed again, by their first word.
_REPEATABLE = frozenset(
    ("abort", "alter", "analyze", "attach", "begin", "checkpoint", "close", "cluster", "comment", "commit", "copy",
     "create", "deallocate", "declare", "desc", "describe", "detach", "discard", "do", "drop", "end", "execute",
     "fetch", "flush", "grant", "listen", "lock", "move", "notify", "optimize", "pragma", "prepare", "refresh",
     "reindex", "release", "rename", "repair", "reset", "revoke", "rollback", "savepoint", "set", "show", "start",
     "truncate", "unlisten", "unlock", "use", "vacuum", "xa")
)  # fmt: skip
# Objects whose definitions contain passwords, after `create` or `alter`.
_WITH_PASSWORDS = frozenset(("group", "role", "secret", "server", "subscription", "user"))
_FIRST_WORDS = 4
_SECRET = re.compile(r"password|passwd|identified|secret|credential|\bkey\s+['\"]", re.IGNORECASE)
_KEY_PRAGMAS = frozenset(("hexkey", "hexrekey", "key", "rekey", "textkey", "textrekey"))
_PREPARED = 20_000

_NUMBER = re.compile(r"[1-9]\d{0,4}", re.ASCII)

_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# The least `bigint`, and the greatest `bigint unsigned`.
_LEAST, _GREATEST = -(1 << 63), (1 << 64) - 1


class Sent(NamedTuple):
    """A statement as it can be executed again, and how it is prepared.

    ``text``: ``None`` if it can't be executed again, or may have a password. ``prepared``: the JSON of a trace;
    ``None`` if it is sent as text.
    """

    text: str | None = None
    prepared: str | None = None


@dataclass(frozen=True)
class _Parts:
    """A text, divided at its parameters.

    ``pieces``: the text between them. ``numbers``: the number of each, from 0; equal names have one number. ``names``:
    by number. ``native``: the text with placeholders that the server knows.
    """

    pieces: Sequence[str]
    numbers: Sequence[int]
    names: Sequence[str]
    native: str

    def values(self, parameters: Sequence[Any] | Mapping[str, Any] | None) -> list[Any] | None:
        """Return the values of parameters by number; ``None`` if some are missing."""
        if isinstance(parameters, Mapping):
            return [parameters.get(name, UNKNOWN_PARAMETER) for name in self.names]
        values = list(parameters or ())
        return values if len(values) >= len(self.names) else None


class SentStatements:
    """Writes statements of an engine as they can be executed again."""

    def __init__(self, engine: str) -> None:
        self._engine = known_engine(engine)
        self._parts: dict[str, _Parts] = {}
        # Names of statements that `prepare` has prepared.
        self._prepared: set[str] = set()

    def of(self, made: Fingerprint, recorded: Recorded) -> Sent:
        """Return a statement as it can be executed again. ``made``: the fingerprint of its text."""
        text = recorded.text
        if text is None or not (made.is_whole or self._is_repeatable(text)):
            return Sent()
        has_parameters = recorded.parameters or any(isinstance(each, Bound) for each in made.values)
        if made.is_whole and not has_parameters:
            return Sent(text, None if recorded.once is None else _prepared(recorded, ()))
        parts = self._split(text)
        values = parts.values(recorded.parameters)
        if values is None:
            return Sent()
        if recorded.once is None:
            return Sent(self._with_literals(text, parts, values))
        try:
            return Sent(parts.native, _prepared(recorded, values))
        except ValueError:
            return Sent()

    def as_text(self, sent: Sent) -> str | None:
        """Return a statement with literals instead of parameters; ``None`` if it is missing or a literal is."""
        if sent.text is None or sent.prepared is None:
            return sent.text
        parts = self._split(sent.text)
        values = parts.values([_read(each) for each in json.loads(sent.prepared)["parameters"]])
        return None if values is None else self._with_literals(sent.text, parts, values)

    def _with_literals(self, text: str, parts: _Parts, values: Sequence[Any]) -> str | None:
        if not parts.numbers:
            return text
        written = [parts.pieces[0]]
        for number, piece in zip(parts.numbers, parts.pieces[1:], strict=True):
            literal = self._literal(values[number])
            if literal is None:
                return None
            # `limit?` and `x-?` are allowed.
            written += [" ", literal, " ", piece]
        return "".join(written)

    def _split(self, text: str) -> _Parts:
        found = self._parts.get(text)
        if found is None:
            if len(self._parts) >= _PREPARED:
                self._parts.clear()
            found = self._parts[text] = self._read_parts(text)
        return found

    def _read_parts(self, text: str) -> _Parts:
        syntax = self._engine.syntax
        tokens = placeholders(text, syntax)
        starts = [0, *(each.end for each in tokens)]
        ends = [*(each.start for each in tokens), len(text)]
        pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
        mark = "$" if syntax.question_operators else "?"
        numbers: list[int] = []
        names: list[str] = []
        native = [pieces[0]]
        known: dict[str, int] = {}
        for token, piece in zip(tokens, pieces[1:], strict=True):
            name = bound_name(token.text)
            if token.text[0] in ("?", mark) and _NUMBER.fullmatch(name):
                number = int(name) - 1
            elif name:
                number = known.setdefault(token.text, len(names))
            else:
                number = len(names)
            names += [""] * (number + 1 - len(names))
            names[number] = name
            numbers.append(number)
            native += [f"{mark}{number + 1}" if token.text[0] == "%" else token.text, piece]
        return _Parts(pieces, numbers, names, "".join(native))

    def _is_repeatable(self, text: str) -> bool:
        """Whether each statement of a text can be executed again, and contains no password."""
        statement: list[Token] = []
        try:
            for token in significant(tokenize(text, self._engine.syntax)):
                if token.kind is not Kind.SEMICOLON:
                    statement.append(token)
                elif statement:
                    if not self._has_no_secret(statement):
                        return False
                    statement = []
        except UnterminatedError:
            return False
        return not statement or self._has_no_secret(statement)

    def _has_no_secret(self, statement: Sequence[Token]) -> bool:
        words = [each.text.lower() for each in statement]
        if words[0] == "prepare" and len(self._prepared) < _PREPARED:
            self._prepared.update(words[1:2])
        # A driver deallocates statements that it has prepared without SQL. A replay gives them other names.
        if words[0] == "deallocate" and words[-1] != "all" and words[-1] not in self._prepared:
            return False
        return _is_repeatable(statement)

    def _literal(self, value: Any) -> str | None:
        """Write a parameter as a literal; ``None`` for a type without a known literal."""
        literal: str | None = None
        match value:
            case None:
                literal = "null"
            case bool():
                literal = "true" if value else "false"
            case int():
                literal = str(int(value))
            case float():
                literal = str(value) if math.isfinite(value) else None
            case Decimal():
                literal = str(value) if value.is_finite() else None
            case bytes() | bytearray() | memoryview():
                literal = self._engine.bytes_literal.format(bytes(value).hex())
            case str() | date() | time() | UUID():
                literal = self._quoted(str(value))
        return literal

    def _quoted(self, text: str) -> str | None:
        if "\0" in text:
            return None
        if self._engine.syntax.backslashes:
            text = text.replace("\\", "\\\\")
        return "'" + text.replace("'", "''") + "'"


def _is_repeatable(statement: Sequence[Token]) -> bool:
    words = [each.text.lower() for each in statement[:_FIRST_WORDS]]
    first, *further = words
    if first in QUERIES_AND_CHANGES:
        return True
    if first not in _REPEATABLE or (first in ("create", "alter") and not _WITH_PASSWORDS.isdisjoint(further)):
        return False
    if first == "pragma":
        return _KEY_PRAGMAS.isdisjoint(further)
    if first == "copy":
        return all(each.text.lower() != "stdin" for each in statement)
    has_strings = any(each.kind is Kind.STRING for each in statement)
    return not (has_strings and _SECRET.search(" ".join(each.text for each in statement)))


def _prepared(recorded: Recorded, values: Sequence[Any]) -> str:
    """Return how a statement was prepared, as JSON. Raises ValueError if a parameter can't be bound again."""
    made: dict[str, Any] = {"once": recorded.once}
    if any(recorded.types):
        made["types"] = recorded.types
    made["parameters"] = [_written(each) for each in values]
    written = _as_json(made)
    # Raises UnicodeEncodeError, a ValueError, for half of a surrogate pair.
    written.encode()
    return written


def _written(value: Any) -> Any:
    """Return a parameter as JSON has it. Raises ValueError for a type that can't be bound again."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value) if _LEAST <= value <= _GREATEST else str(int(value))
        case float():
            return value if math.isfinite(value) else {"real": str(value)}
        case UnreadBytes():
            pass
        case bytes() | bytearray() | memoryview():
            return {"hex": bytes(value).hex()}
        case Decimal() | date() | time() | UUID():
            return str(value)
    raise ValueError(type(value).__name__)


def _read(value: Any) -> Any:
    match value:
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"real": text}:
            return float(text)
    return value
