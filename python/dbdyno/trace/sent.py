"""Statements as a server can execute them again: their text, with parameters written as literals.

A trace has them only if it keeps values. Statements that may contain a password, or need data that isn't recorded, are
left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from dbdyno.engines.lookup import known_engine
from dbdyno.engines.sql_lexer import Kind, Token, UnterminatedError, placeholders, significant, tokenize
from dbdyno.trace.bound_values import TypedText, UnreadBytes, parameter_of
from dbdyno.trace.fingerprint import QUERIES_AND_CHANGES, Bound, Fingerprint, bound_name

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

Parameters = Sequence[Any] | Mapping[str, Any] | None


class SentStatements:
    """Writes statements of an engine as they can be executed again."""

    def __init__(self, engine: str) -> None:
        self._engine = known_engine(engine)
        # For each string with parameters: its parts between them, and the parameters.
        self._pieces: dict[str, tuple[Sequence[str], Sequence[Bound]]] = {}

    def of(self, made: Fingerprint, text: str, parameters: Parameters) -> str | None:
        """Return a statement with its parameters; ``None`` if it can't be executed again, or may have a password.

        ``made``: the fingerprint of ``text``.
        """
        if not made.is_whole and not self._is_repeatable(text):
            return None
        if made.is_whole and not any(isinstance(each, Bound) for each in made.values):
            return text
        pieces, bounds = self._split(text)
        written = [pieces[0]]
        for bound, piece in zip(bounds, pieces[1:], strict=True):
            literal = self._literal(parameter_of(bound, parameters))
            if literal is None:
                return None
            # `limit?` and `x-?` are allowed.
            written += [" ", literal, " ", piece]
        return "".join(written)

    def _split(self, text: str) -> tuple[Sequence[str], Sequence[Bound]]:
        found = self._pieces.get(text)
        if found is None:
            tokens = placeholders(text, self._engine.syntax)
            starts = [0, *(each.end for each in tokens)]
            ends = [*(each.start for each in tokens), len(text)]
            pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            found = pieces, [Bound(bound_name(each.text), at) for at, each in enumerate(tokens)]
            if len(self._pieces) >= _PREPARED:
                self._pieces.clear()
            self._pieces[text] = found
        return found

    def _is_repeatable(self, text: str) -> bool:
        """Whether each statement of a text can be executed again, and contains no password."""
        statement: list[Token] = []
        try:
            for token in significant(tokenize(text, self._engine.syntax)):
                if token.kind is not Kind.SEMICOLON:
                    statement.append(token)
                elif statement:
                    if not _is_repeatable(statement):
                        return False
                    statement = []
        except UnterminatedError:
            return False
        return not statement or _is_repeatable(statement)

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
            case UnreadBytes():
                literal = None
            case TypedText():
                quoted = self._quoted(value)
                literal = None if quoted is None else f"{quoted}::{value.type_name}"
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
