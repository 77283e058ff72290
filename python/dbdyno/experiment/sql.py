"""SQL as an experiment writes it: one text for all engines, or one for each; and how many places for values it has.

An engine can have something else in its place, such as commands in JSON.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator

from dbdyno.engines import ENGINES, known_engine
from dbdyno.engines.quoting import FLAGS
from dbdyno.experiment.mistakes import nearest, show, wrong

ANY = "any"


@dataclass(frozen=True)
class Sql:
    """A statement's text by engine; under ``any`` the one for engines not named."""

    texts: tuple[tuple[str, str], ...]

    def text_for(self, engine: str) -> str | None:
        """Give the text for an engine, or ``None`` where there is none for it."""
        texts = dict(self.texts)
        return texts.get(engine, texts.get(ANY))


def places(text: str, engine: str = ANY) -> int:
    """Count the ``?`` of an engine's statement that stand for values."""
    return known_engine(engine).places(text)


def without_texts(text: str, engine: str = ANY) -> str:
    """Give an engine's statement with a blank for each text, quoted name and comment in it."""
    return known_engine(engine).quoted.sub(" ", text)


def numbered(text: str, beginning: str, engine: str) -> str:
    """Give an engine's statement with ``beginning`` and a number, from 1, for each ``?`` that stands for a value."""
    count = 0

    def number(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] != "?":
            return found[0]
        count += 1
        return f"{beginning}{count}"

    return re.sub(rf"{known_engine(engine).quoted.pattern} | \?", number, text, flags=FLAGS)


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
        refused = known_engine(engine).check_statement(text)
        if refused is not None:
            raise wrong(f"{show(text)} {refused[0]}", refused[1], key=engine)
    if not value:
        raise wrong("there is no text", 'give one, as in `{ any = "…" }`')
    return Sql(tuple((engine, text.strip().removesuffix(";").rstrip()) for engine, text in value.items()))


SqlText = Annotated[Sql, PlainValidator(_read_sql)]
