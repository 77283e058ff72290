"""Strings for display: shortened, and without control characters."""

import re
from collections.abc import Sequence

# All control characters except tab and newline, marks that change the direction of text, line separators other than
# newline, surrogates, and noncharacters.
_CONTROLS = re.compile(
    "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff"
    "\ufff9-\ufffb\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Return ``text`` without characters that could control a terminal or are not allowed in XML.

    ASCII control characters become their Unicode symbols (``␛`` for escape), all others the replacement character.
    Tabs and newlines are kept. Use this for all strings from files, servers and users before displaying them.
    """
    return _CONTROLS.sub(_symbol, text)


def printable_json(text: str) -> str:
    """Return a JSON document with the same characters as JSON escapes, so that its value doesn't change."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_SPACE, _DELETE = 0x20, 0x7F


def _symbol(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\r\n":
        return "\n"
    code = ord(character)
    if code < _SPACE:
        return chr(0x2400 + code)
    return "\u2421" if code == _DELETE else "\ufffd"


def shortened(text: str, longest: int) -> str:
    """Return a string of at most ``longest`` characters; a shortened string ends with ``…``."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first ``most`` strings, separated by commas, and ``…`` if more follow."""
    return ", ".join(texts[:most]) + (", …" if len(texts) > most else "")
