"""Strings prepared for people: cut to a length, and without characters that control what shows them."""

import re
from collections.abc import Sequence

# Every control character but tab and newline, marks that change the direction of text, line separators other than a
# newline, halves of surrogate pairs, and code points that are not characters.
_CONTROLS = re.compile(
    "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff"
    "\ufff9-\ufffb\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Return ``text`` with every character replaced that could control a terminal or is not allowed in XML.

    ASCII control characters become their symbols in Unicode (``␛`` for escape), all others the replacement character.
    Tabs and newlines stay. Everything from files, servers and users passes through here before it is shown.
    """
    return _CONTROLS.sub(_symbol, text)


def printable_json(text: str) -> str:
    """Return a JSON document with the same characters written as JSON escapes, so that it stands for the same value."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_SPACE, _DELETE = 0x20, 0x7F


def _symbol(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\r\n":
        return "\n"
    code = ord(character)
    if code < _SPACE:
        return chr(0x2400 + code)
    return "\u2421" if code == _DELETE else "\ufffd"


def shortened(text: str, longest: int) -> str:
    """Give a text with at most ``longest`` characters; one that was cut ends with ``…``."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def first_of(texts: Sequence[str], most: int) -> str:
    """List the first ``most`` texts, with commas; ``…`` stands for the others."""
    return ", ".join(texts[:most]) + (", …" if len(texts) > most else "")
