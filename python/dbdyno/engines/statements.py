"""Statements as engines read them: where values go, and what is no place for one."""

import re
from collections.abc import Sequence

from dbdyno.definition.sql import ANY
from dbdyno.engines.known import engine_names, known_engine
from dbdyno.engines.quoting import FLAGS


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


class Statements:
    """What definitions ask while they are read (:class:`dbdyno.definition.engines.Engines`)."""

    @property
    def names(self) -> Sequence[str]:
        """The names that an experiment may use."""
        return engine_names()

    def places(self, text: str, engine: str) -> int:
        """Count the ``?`` of an engine's statement that stand for values."""
        return places(text, engine)

    def check_statement(self, text: str, engine: str) -> tuple[str, str] | None:
        """Ask the engine; under ``any`` every text may be one."""
        return known_engine(engine).check_statement(text)
