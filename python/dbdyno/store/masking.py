"""Passwords reach no store, no message and no list of processes: they are masked on the way there."""

from __future__ import annotations

import math
import re
from typing import Any

from dbdyno.engines import ENGINES, engine_of

MASK = "***"

# Greedy up to the last "@" of the token: a password may itself hold "/", ":" or "@". Masking a little too much
# (a path with an "@" in it) does no harm; masking too little does.
_USERINFO = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*)://(?P<userinfo>[^\s\"'<>]*)@")
# A database's user by itself is no secret, and tells systems apart. Elsewhere it may be a token.
_USER = re.compile(r"[^:/?#@]*")
_PARAMETER = re.compile(r"(?P<key>\b(?:\w*password|passwd|pwd)\s*=\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s&;,\"']+)", re.I)
# Where the text of an experiment is, in what is stored.
_DEFINITION = "definition"
_SECRET_KEYS = re.compile(r"(?i)^(\w*password|passwd|pwd)$")


def is_secret(key: str) -> bool:
    """Whether what has this name is a password."""
    return _SECRET_KEYS.match(key) is not None


def mask_text(text: str) -> str:
    """Return ``text`` with the user information of every URL and every ``password=…`` value masked.

    The user of a system stays where there is no password beside it.
    """
    if "://" in text:
        text = _USERINFO.sub(_without_userinfo, text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\g<key>{MASK}", text)
    return text


def _without_userinfo(found: re.Match[str]) -> str:
    scheme = found["scheme"]
    if scheme in ENGINES and engine_of(scheme).shows_user and _USER.fullmatch(found["userinfo"]):
        return found[0]
    return f"{scheme}://{MASK}@"


# A header of TOML, on a line of its own.
_HEADER = re.compile(r"\s*\[\[?\s*(?P<section>[\w-]+)[^\[\]]*\]\]?\s*(?:#.*)?")
# What an experiment asks of systems. A password there is a column, or a value of the load, and no secret of dbdyno's.
_ASKED = ("tables", "transactions")
_QUOTED = re.compile(r"(?P<before>\b(?:\w*password|passwd|pwd)\s*=\s*(?P<quote>[\"']))[^\"']*(?P=quote)", re.I)
_IN_URL = re.compile(r"(?P<before>[?&](?:\w*password|passwd|pwd)=)[^\s&;,#\"']+", re.I)


def mask_definition(text: str) -> str:
    """Return the text of an experiment with passwords masked where it names systems.

    It can be read as before: a run is shown, compared and gone on with by its stored text.
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
    """Return a command line with passwords masked, also those given as a word of their own (``--password x``)."""
    masked: list[str] = []
    hide_next = False
    for word in words:
        masked.append(MASK if hide_next else without_surrogates(mask_text(word)))
        hide_next = is_secret(word.lstrip("-")) and word.startswith("-")
    return masked


def storable(text: str) -> str:
    """Return what a program said, without the characters that no column of texts can hold: NUL, and half a pair."""
    return without_surrogates(text.replace("\x00", "\ufffd"))


def without_surrogates(text: str) -> str:
    """Return a text with `?` for each half of a pair, such as a byte of a file name that is not UTF-8."""
    return text.encode("utf-8", "replace").decode()


def clean_json(value: Any) -> Any:
    """Return ``value`` fit to be stored: passwords masked, NaN and infinities (which JSON lacks) made null.

    Characters that no store can hold are replaced, such as those of a file name that is not UTF-8.

    A text under the key ``definition`` is that of an experiment.
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
