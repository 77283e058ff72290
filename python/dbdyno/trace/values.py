"""Values of statements in a trace: their type, length class and keyed hash, or the values themselves."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dbdyno.base.errors import InputError, reason

Kept = Literal["hashed", "kept"]

KEY_SUFFIX = ".key"
_KEY_BYTES = 32
_HASH_BYTES = 8
_ATTEMPTS, _BETWEEN_S = 20, 0.01

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d.*)?")
_PREFIXED = re.compile(r"([A-Za-z_&]\w*\s*)'", re.DOTALL)
_TAGGED = re.compile(r"(\$\w*\$)(.*)\1", re.DOTALL)
UNKNOWN = "unknown"
"""A value that was not recorded."""

_WORDS = frozenset(("null", "true", "false", "default", UNKNOWN))


class Values:
    """Writes values for a trace. Equal values have equal hashes within a trace, and others without its key.

    ``key``: of the hash; ``None``: values are kept as SQL literals.
    """

    def __init__(self, key: bytes | None) -> None:
        self._key = key

    @property
    def kept(self) -> Kept:
        """Say whether values are kept."""
        return "kept" if self._key is None else "hashed"

    def of(self, value: Any) -> str:
        """Write a value of Python, such as a bound parameter."""
        match value:
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case int() | float():
                return self._written("integer" if isinstance(value, int) else "number", repr(value))
            case bytes() | bytearray() | memoryview():
                return self._written("bytes", bytes(value).hex())
        text = str(value)
        # Digits may be a string: kept in quotes, they remain one.
        return self._written("string" if self._key is None else kind_of(text), text)

    def of_text(self, text: str) -> str:
        """Write a value that is given as text, such as a parameter in a log. Digits alone are an integer."""
        return self._written(kind_of(text), text)

    def of_literal(self, literal: str) -> str:
        """Write a literal of a statement."""
        if literal.lower() in _WORDS:
            return literal.lower()
        if self._key is None:
            return literal
        content, quoted = literal_content(literal)
        return self._written(kind_of(content) if quoted or _NUMBER.fullmatch(content) else "string", content)

    def _written(self, kind: str, text: str) -> str:
        if self._key is None:
            return text if kind in ("integer", "number") else "'" + text.replace("'", "''") + "'"
        digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_HASH_BYTES, key=self._key)
        return f"{kind}:{length_class(len(text))}:{digest.hexdigest()}"


@dataclass(frozen=True)
class Value:
    """A value as read from a trace. ``length``: its class; ``literal``: the value in SQL if it was kept."""

    kind: str
    length: int
    literal: str | None = None


def read_value(written: str) -> Value:
    """Read what :class:`Values` wrote."""
    if written in _WORDS:
        return Value(written, 0, written)
    kind, colon, rest = written.partition(":")
    length = rest.partition(":")[0]
    if colon and not written.startswith("'") and length.isdigit():
        return Value(kind, int(length))
    content, _ = literal_content(written)
    return Value(kind_of(content), length_class(len(content)), written)


def length_class(characters: int) -> int:
    """Return the power of two that a length is rounded up to; 0 for an empty string."""
    return 0 if characters == 0 else 1 << (characters - 1).bit_length()


def kind_of(text: str) -> str:
    """Return the type that a value looks like."""
    if _INTEGER.fullmatch(text):
        return "integer"
    # A leading zero is part of a code or a telephone number.
    if _NUMBER.fullmatch(text) and not re.match(r"-?0\d", text) and ("." in text or "e" in text.lower()):
        return "number"
    return "date" if _DATE.fullmatch(text) else "string"


def literal_content(literal: str) -> tuple[str, bool]:
    """Return the content of a literal, and whether it was in quotes."""
    tagged = _TAGGED.fullmatch(literal)
    if tagged is not None:
        return tagged[2], True
    prefixed = _PREFIXED.match(literal)
    if prefixed is not None:
        literal = literal[prefixed.end(1) :]
    if len(literal) > 1 and literal[0] in "'\"" and literal[-1] == literal[0]:
        return literal[1:-1].replace(literal[0] * 2, literal[0]), True
    return literal, False


def trace_key(path: Path) -> bytes:
    """Return the key of a trace's hashes, from the file beside it, which is created if it is missing.

    Only its owner may read the file. Raises InputError.
    """
    place = key_path(path)
    key = secrets.token_bytes(_KEY_BYTES)
    try:
        write_key(path, key)
    except FileExistsError:
        for _ in range(_ATTEMPTS):
            if (known := known_key(path)) is not None:
                return known
            # Another process has just created the file.
            time.sleep(_BETWEEN_S)
        raise InputError(str(place), "it is not the key of a trace", "remove it") from None
    except OSError as error:
        raise InputError(str(place), reason(error), "write the trace to a writable directory") from error
    return key


def write_key(path: Path, key: bytes) -> None:
    """Write the key of a trace's hashes for its owner only. Raises FileExistsError if the trace has one, OSError."""
    descriptor = os.open(key_path(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.hex().encode() + b"\n")


def known_key(path: Path) -> bytes | None:
    """Return the key of a trace's hashes; ``None`` if the file with the key isn't beside the trace."""
    with contextlib.suppress(OSError, ValueError):
        key = bytes.fromhex(key_path(path).read_text(encoding="ascii").strip())
        return key if len(key) == _KEY_BYTES else None
    return None


def key_path(path: Path) -> Path:
    """Return the file with the key of a trace."""
    return path.with_name(path.name + KEY_SUFFIX)
