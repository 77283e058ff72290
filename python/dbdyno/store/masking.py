"""Mask passwords in everything that is stored or displayed."""

from __future__ import annotations

import math
import re
from typing import Any

from dbdyno.engines import ENGINES, engine_of

MASK = "***"

# Greedy up to the last "@" of the token, because a password may contain "/", ":" or "@". Masking too much (such as a
# path with an "@") does no harm; masking too little does.
_USERINFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*)://(?P<userinfo>[^\s\"'<>]*)@")
# A database user without a password isn't secret, and distinguishes systems. In other URLs it may be a token.
_USER = re.compile(r"[^:/?#@]*")
# Placeholders of statements, such as `password = ?`, remain.
_PARAMETER = re.compile(
    r"(?P<key>\b(?:\w*password|passwd|pwd)\s*=\s*)(?!\s*(?:\?|\$\d+|%s)(?:[\s,;)]|$))"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s&;,\"']+)",
    re.I,
)
# The key of stored objects that contains the text of an experiment file.
_DEFINITION = "definition"
_SECRET_KEYS = re.compile(r"(?i)^(\w*password|passwd|pwd)$")


def is_secret(key: str) -> bool:
    """Whether a key is the name of a password."""
    return _SECRET_KEYS.match(key) is not None


def mask_text(text: str) -> str:
    """Mask the user information of all URLs and all ``password=…`` values in a string.

    In a system's URL, a user name without a password is not masked.
    """
    if "://" in text:
        text = _USERINFO.sub(_without_userinfo, text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\g<key>{MASK}", text)
    return text


def _without_userinfo(match: re.Match[str]) -> str:
    scheme = match["scheme"]
    if scheme in ENGINES and engine_of(scheme).shows_user and _USER.fullmatch(match["userinfo"]):
        return match[0]
    return f"{scheme}://{MASK}@"


# The header of a TOML table, on a line of its own.
_HEADER = re.compile(r"\s*\[\[?\s*(?P<section>[\w-]+)[^\[\]]*\]\]?\s*(?:#.*)?")
# In these tables of an experiment, a password is a column or a value of the load, not a secret.
_ASKED = ("tables", "transactions")
_QUOTED = re.compile(r"(?P<before>\b(?:\w*password|passwd|pwd)\s*=\s*(?P<quote>[\"']))[^\"']*(?P=quote)", re.I)
_IN_URL = re.compile(r"(?P<before>[?&](?:\w*password|passwd|pwd)=)[^\s&;,#\"']+", re.I)


def mask_definition(text: str) -> str:
    """Mask the passwords in URLs and settings of an experiment file, given as a string.

    The result is a valid experiment file, which is used to show, compare and resume a stored run.
    """
    section, lines = "", []
    for line in text.splitlines(keepends=True):
        header = _HEADER.fullmatch(line)
        if header is not None:
            section = header["section"]
        lines.append(line if section in _ASKED else _masked_line(line))
    return "".join(lines)


def _masked_line(line: str) -> str:
    if "://" in line:
        line = _IN_URL.sub(rf"\g<before>{MASK}", _USERINFO.sub(_without_userinfo, line))
    return _QUOTED.sub(rf"\g<before>{MASK}\g<quote>", line)


def mask_command(words: list[str]) -> list[str]:
    """Mask the passwords in a command line, including those in an argument of their own (``--password x``)."""
    masked: list[str] = []
    hide_next = False
    for word in words:
        masked.append(MASK if hide_next else without_surrogates(mask_text(word)))
        hide_next = is_secret(word.lstrip("-")) and word.startswith("-")
    return masked


def storable(text: str) -> str:
    """Replace the characters of a program's output that a text column can't store: NUL and surrogates."""
    return without_surrogates(text.replace("\x00", "\ufffd"))


def without_surrogates(text: str) -> str:
    """Replace each surrogate by `?`. Python decodes bytes of file names that are not UTF-8 as surrogates."""
    return text.encode("utf-8", "replace").decode()


def clean_json(value: Any) -> Any:
    """Prepare a JSON value for the store: mask passwords, and replace NaN, infinities and surrogates.

    NaN and infinities, which JSON doesn't support, become null. A string with the key ``definition`` is masked as an
    experiment file.
    """
    if isinstance(value, str):
        return without_surrogates(mask_text(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {without_surrogates(str(key)): _clean_item(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value


def _clean_item(key: str, item: Any) -> Any:
    if isinstance(item, str):
        return MASK if is_secret(key) else mask_definition(item) if key == _DEFINITION else clean_json(item)
    return clean_json(item)
