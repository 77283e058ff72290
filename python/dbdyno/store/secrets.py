"""Passwords never reach the store: they are masked on the way in."""

from __future__ import annotations

import math
import re
from typing import Any

MASK = "***"

# Greedy up to the last "@" of the token: a password may itself hold "/", ":" or "@". Masking a little too much
# (a path with an "@" in it) does no harm; masking too little does.
_USERINFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s\"'<>]*@")
_PARAMETER = re.compile(r"(?P<key>\b(?:\w*password|passwd|pwd)\s*=\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s&;,\"']+)", re.I)
_SECRET_KEYS = re.compile(r"(?i)^(\w*password|passwd|pwd)$")


def mask_text(text: str) -> str:
    """Return ``text`` with the user information of every URL and every ``password=…`` value masked."""
    if "://" in text:
        text = _USERINFO.sub(rf"\g<scheme>{MASK}@", text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\g<key>{MASK}", text)
    return text


def mask_command(words: list[str]) -> list[str]:
    """Return a command line with passwords masked, also those given as a word of their own (``--password x``)."""
    masked: list[str] = []
    hide_next = False
    for word in words:
        masked.append(MASK if hide_next else mask_text(word))
        hide_next = bool(_SECRET_KEYS.match(word.lstrip("-"))) and word.startswith("-")
    return masked


def clean_json(value: Any) -> Any:
    """Return ``value`` fit to be stored: passwords masked, NaN and infinities (which JSON lacks) made null."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {
            str(key): MASK if _SECRET_KEYS.match(str(key)) and isinstance(item, str) else clean_json(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value
