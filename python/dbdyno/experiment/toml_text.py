"""Write an experiment as TOML with comments, as people write it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli_w

COMMENT = "#"
"""The key of a dictionary's comment lines. They are written at its beginning, or above it if it is on one line."""

_WIDTH = 100
# Tables within which tables have their own headers, as patterns of paths.
_OUTER = re.compile(r"factors|factors/[^/]*|system|tables|tables/[^/]*|report")


def write_toml(document: Mapping[str, Any]) -> str:
    """Return the TOML of an experiment: a header for each part, and its details inline."""
    plain = {key: value for key, value in document.items() if key != COMMENT and not _has_header(value)}
    parts = [list(_comments(document, "")), list(_body(plain))]
    for key, value in document.items():
        if _has_header(value):
            parts += _parts((key,), value)
    return "\n".join("\n".join(part) + "\n" for part in parts if part)


def _has_header(value: Any) -> bool:
    return _is_table(value) or (isinstance(value, list) and bool(value) and all(map(_is_table, value)))


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _parts(path: tuple[str, ...], value: Any) -> Iterator[list[str]]:
    """Yield the lines of a table or of an array of tables, and of the tables within that have headers."""
    name = ".".join(map(_key, path))
    if isinstance(value, list):
        for each in value:
            yield [f"[[{name}]]", *_body(each)]
        return
    is_outer = _OUTER.fullmatch("/".join(path)) is not None
    inner = {key: each for key, each in value.items() if _is_table(each) and is_outer}
    rest = {key: each for key, each in value.items() if key not in inner}
    if rest or not inner:
        yield [f"[{name}]", *_body(rest)]
    for key, each in inner.items():
        yield from _parts((*path, key), each)


def _body(table: Mapping[str, Any]) -> Iterator[str]:
    yield from _comments(table, "")
    for key, value in table.items():
        if key != COMMENT:
            yield from _assigned(f"{_key(key)} = ", value, "")


def _assigned(start: str, value: Any, indent: str, end: str = "") -> Iterator[str]:
    """Yield the lines of a value; a list whose line would be long, or has comments, has a line per item."""
    if isinstance(value, dict):
        yield from _comments(value, indent)
    line = f"{indent}{start}{inline(value)}{end}"
    if not isinstance(value, list) or (
        len(line) <= _WIDTH and not any(COMMENT in each for each in value if _is_table(each))
    ):
        yield line
        return
    yield f"{indent}{start}["
    for each in value:
        yield from _assigned("", each, f"{indent}    ", ",")
    yield f"{indent}]{end}"


def _comments(table: Mapping[str, Any], indent: str) -> Iterator[str]:
    return (f"{indent}# {line}".rstrip() for line in table.get(COMMENT, ()))


def inline(value: Any) -> str:
    """Return the TOML of a value on one line, without comments."""
    if isinstance(value, dict):
        items = [f"{_key(key)} = {inline(each)}" for key, each in value.items() if key != COMMENT]
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(inline, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
