"""Statements as their engines read them: where values go, and where a statement ends."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.engines.known import all_engines, engine_names, known_engine
from dbdyno.engines.sql_lexer import Kind, UnterminatedError, significant, tokenize
from dbdyno.model.experiment.sql import ANY

_DOLLAR = re.compile(r"\$[1-9][0-9]{0,4}")
_WHITE_SPACE = " \t\r\n\f\v"


def places(text: str, engine: str = ANY) -> list[int]:
    """Return the index of each ``?`` of an engine's statement that stands for a value; none in an unclosed string."""
    return [each.start for each in known_engine(engine).placeholders(text) if each.text == "?"]


@dataclass(frozen=True)
class Bound:
    """A statement with ``?`` at each of ``places``, which are indices; ``order``: which value goes to each of them.

    A statement that is not SQL has no places.
    """

    text: str
    places: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def byte_places(self) -> list[int]:
        """The places as offsets in the UTF-8 text, as a plan has them."""
        return [len(self.text[:place].encode()) for place in self.places]


def bind(text: str, engine: str, count: int) -> Bound | None:
    """Find the places of ``count`` values in an engine's statement; None if it does not have as many.

    They are ``?``, or `$1`, `$2` and so on if `?` is an operator of the engine too. Without values, each `?` is an
    operator.
    """
    known = known_engine(engine)
    if not known.syntax.question_operators:
        return Bound(text, tuple(places(text, engine)), tuple(range(count))) if known.places(text) == count else None
    if count == 0:
        return Bound(text, (), ())
    tokens = known.placeholders(text)
    dollars = [each for each in tokens if _DOLLAR.fullmatch(each.text)]
    wanted = dollars or [each for each in tokens if each.text == "?"]
    order = [int(each.text[1:]) - 1 for each in dollars] or list(range(len(wanted)))
    if set(order) != set(range(count)):
        return None
    pieces, bound, start, length = [], [], 0, 0
    for each in wanted:
        pieces += [text[start : each.start], "?"]
        length += each.start - start + 1
        bound.append(length - 1)
        start = each.end
    return Bound("".join([*pieces, text[start:]]), tuple(bound), tuple(order))


def numbered(text: str, beginning: str, engine: str) -> str:
    """Return an engine's statement with ``beginning`` and a number, from 1, for each ``?`` that stands for a value."""
    pieces, start = [], 0
    for number, place in enumerate(places(text, engine), 1):
        pieces.append(f"{text[start:place]}{beginning}{number}")
        start = place + 1
    return "".join([*pieces, text[start:]])


def without_end(text: str, engine: str = ANY) -> str:
    """Return a statement without the semicolons and the white space around it."""
    text = text.strip(_WHITE_SPACE)
    try:
        tokens = significant(tokenize(text, known_engine(engine).syntax))
    except UnterminatedError:
        return text
    while tokens and tokens[-1].kind is Kind.SEMICOLON:
        end = tokens.pop()
        text = (text[: end.start] + text[end.end :]).rstrip(_WHITE_SPACE)
    return text


class Statements:
    """What definitions ask while they are read (:class:`dbdyno.model.experiment.engines.Engines`)."""

    @property
    def names(self) -> Sequence[str]:
        """The names that an experiment may use."""
        return engine_names()

    def places(self, text: str, engine: str) -> Sequence[int]:
        """Count the ``?`` of an engine's statement that stand for values; under ``any`` as each engine may read it."""
        known = known_engine(engine)
        if known.syntax.question_operators:
            dollars = {each.text for each in known.placeholders(text) if _DOLLAR.fullmatch(each.text)}
            return [len(dollars) or known.places(text), 0]
        if engine != ANY:
            return [known.places(text)]
        # A statement for all engines may be one engine's own, which compiling reads by that engine's rules.
        readers = [each for each in all_engines() if each.check_statement(text) is None]
        return list(dict.fromkeys(each.places(text) for each in readers))

    def without_end(self, text: str, engine: str) -> str:
        """Return a statement without the semicolons and the white space around it."""
        return without_end(text, engine)

    def check_statement(self, text: str, engine: str) -> tuple[str, str] | None:
        """Ask the engine; under ``any`` every text may be one."""
        return known_engine(engine).check_statement(text)
