"""Data written as TOML, for an experiment that is made and not read from a file."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 110
# A table with more names than this before it stands in one line.
_SECTIONS = 3


def write_toml(data: Mapping[str, Any]) -> str:
    """Write tables, lists, texts, numbers and truth values, in their order; a TOML reader gives the same data back."""
    return "\n".join(_table(data)).strip("\n") + "\n"


def _table(data: Mapping[str, Any], *path: str) -> list[str]:
    lines = []
    later = []
    for key, value in data.items():
        inside = (*path, _key(key))
        if isinstance(value, Mapping) and value and len(inside) <= _SECTIONS:
            own = _table(value, *inside)
            later += [*(["", f"[{'.'.join(inside)}]"] if own and own[0] else []), *own]
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for item in value:
                later += ["", f"[[{'.'.join(inside)}]]", *(f"{_key(each)} = {_value(item[each])}" for each in item)]
        else:
            lines.append(f"{inside[-1]} = {_value(value)}")
    return lines + later


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any, inline: bool = False) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(item, inline=True)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        items = [_value(item, inline=True) for item in value]
        line = f"[{', '.join(items)}]"
        if inline or len(line) <= _WIDTH:
            return line
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    # Python's shortest texts of numbers are TOML's too.
    return repr(value)


def _text(text: str) -> str:
    # JSON's texts are TOML's, but for one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
