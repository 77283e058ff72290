"""SQL as an experiment writes it: one text for all engines, or one for each; and how many places for values it has.

MongoDB has commands in JSON in its place.
"""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator

from dbdyno.engines import ENGINES
from dbdyno.experiment.mistakes import nearest, show, wrong

ANY = "any"
MONGODB = "mongodb"

# Comments that have others in them, so many within one another at most.
_DEEPEST = 8


def _nested_comment(depth: int = _DEEPEST) -> str:
    inner = f"{_nested_comment(depth - 1)} | " if depth else ""
    return rf"/\*(?: {inner} [^*/] | \*(?!/) | /(?!\*) )*\*/"


# What a `?` may stand in without being a place for a value: texts, quoted names, comments, as engines have them. In
# brackets stands a name, or on some engines the number of an array's element.
_FLAGS = re.VERBOSE | re.DOTALL
_TEXT, _NAME, _TICKED = r"'(?:[^']|'')*'", r'"(?:[^"]|"")*"', r"`(?:[^`]|``)*`"
_COMMENTS = r"--[^\n]* | /\*.*?\*/"
_STANDARD = re.compile(rf"{_TEXT} | {_NAME} | {_TICKED} | {_COMMENTS} | \[[^\]]*\]", _FLAGS)
# With backslashes that escape, and in dollar signs.
_ESCAPED = r"(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'"
_IN_DOLLARS = r"(?<![\w$]) (?P<dollar>\$(?:[^\W\d]\w*)?\$) .*? (?P=dollar)"

POSTGRESQL_QUOTES = f"{_ESCAPED} | {_TEXT} | {_NAME} | {_IN_DOLLARS} | {_nested_comment()}"
"""Texts, quoted names and comments of PostgreSQL's but those of one line: a verbose regular expression whose dots are
any character."""

_NO_PLACES = {
    "postgresql": re.compile(rf"{POSTGRESQL_QUOTES} | --[^\n]*", _FLAGS),
    "mysql": re.compile(
        rf"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | {_TICKED}
        | --(?=[\x00-\x20]|\Z)[^\n]* | \#[^\n]* | /\*.*?\*/""",
        _FLAGS,
    ),
}

_COMMAND = 'write one such as `{"find": "user", "filter": {"name": "?"}}`'


@dataclass(frozen=True)
class Sql:
    """A statement's text by engine; under ``any`` the one for engines not named."""

    texts: tuple[tuple[str, str], ...]

    def text_for(self, engine: str) -> str | None:
        """Give the text for an engine, or ``None`` where there is none for it."""
        texts = dict(self.texts)
        return texts.get(engine, texts.get(ANY))


def places(text: str, engine: str = ANY) -> int:
    """Count the ``?`` of an engine's statement that stand for values; in MongoDB's JSON, those that are texts."""
    if engine == MONGODB:
        return _places_in(json.loads(text))
    return _no_places(engine).sub(" ", text).count("?")


def without_texts(text: str, engine: str = ANY) -> str:
    """Give an engine's statement with a blank for each text, quoted name and comment in it."""
    return _no_places(engine).sub(" ", text)


def numbered(text: str, beginning: str, engine: str) -> str:
    """Give an engine's statement with ``beginning`` and a number, from 1, for each ``?`` that stands for a value."""
    count = 0

    def number(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] != "?":
            return found[0]
        count += 1
        return f"{beginning}{count}"

    return re.sub(rf"{_no_places(engine).pattern} | \?", number, text, flags=_FLAGS)


def _no_places(engine: str) -> re.Pattern[str]:
    return _NO_PLACES.get(engine, _STANDARD)


def _places_in(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_places_in, value.values() if isinstance(value, dict) else value))
    return int(value == "?")


def _check_command(text: str) -> None:
    try:
        command = json.loads(text)
    except ValueError as error:
        why = str(error)[:1].lower() + str(error)[1:]
        raise wrong(f"{show(text)} is not JSON: {why}", _COMMAND, key=MONGODB) from None
    if not isinstance(command, dict) or not command:
        raise wrong(f"{show(text)} is not a command", _COMMAND, key=MONGODB)


def _read_sql(value: Any) -> Sql:
    if isinstance(value, str):
        value = {ANY: value}
    if not isinstance(value, dict):
        raise wrong(f"{show(value)} is not a statement", 'give its text, or texts by engine, as in `{ any = "…" }`')
    for engine, text in value.items():
        if engine not in (*ENGINES, ANY):
            raise wrong("unknown engine", nearest(engine, (*ENGINES, ANY)), key=engine)
        if not isinstance(text, str) or not text.strip():
            raise wrong(f"{show(text)} is not a statement", "give its text", key=engine)
        if engine == MONGODB:
            _check_command(text)
    if not value:
        raise wrong("there is no text", 'give one, as in `{ any = "…" }`')
    return Sql(tuple((engine, text.strip().removesuffix(";").rstrip()) for engine, text in value.items()))


SqlText = Annotated[Sql, PlainValidator(_read_sql)]
