"""How engines parse statements: the placeholders for values, and the end of a statement."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.engines.lookup import all_engines, engine_aliases, engine_named, engine_names, known_engine
from dbdyno.engines.sql_lexer import Kind, UnterminatedError, significant, tokenize
from dbdyno.model.experiment.sql import ANY
from dbdyno.model.experiment.validation import nearest

_DOLLAR = re.compile(r"\$[1-9][0-9]{0,4}")
_WHITE_SPACE = " \t\r\n\f\v"


def places(text: str, engine: str = ANY) -> list[int]:
    """Return the index of each ``?`` placeholder in an engine's statement; none if a string isn't closed."""
    return [token.start for token in known_engine(engine).placeholders(text) if token.text == "?"]


@dataclass(frozen=True)
class Bound:
    """A statement with ``?`` placeholders at the indices ``places``; ``order``: the value's index for each placeholder.

    A statement that is not SQL has no placeholders.
    """

    text: str
    places: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def byte_places(self) -> list[int]:
        """The placeholders' byte offsets in the UTF-8 text, as in a plan."""
        return [len(self.text[:position].encode()) for position in self.places]


def bind(text: str, engine: str, count: int) -> Bound | None:
    """Find the placeholders of ``count`` values in an engine's statement; None if their number differs.

    Placeholders are ``?``, or `$1`, `$2` and so on if the engine also has an operator `?`. Without values, each `?` is
    an operator.
    """
    known = known_engine(engine)
    if not known.syntax.question_operators:
        return Bound(text, tuple(places(text, engine)), tuple(range(count))) if known.places(text) == count else None
    if count == 0:
        return Bound(text, (), ())
    tokens = known.placeholders(text)
    dollars = [token for token in tokens if _DOLLAR.fullmatch(token.text)]
    wanted = dollars or [token for token in tokens if token.text == "?"]
    order = [int(dollar.text[1:]) - 1 for dollar in dollars] or list(range(len(wanted)))
    if set(order) != set(range(count)):
        return None
    pieces, bound, start, length = [], [], 0, 0
    for token in wanted:
        pieces += [text[start : token.start], "?"]
        length += token.start - start + 1
        bound.append(length - 1)
        start = token.end
    return Bound("".join([*pieces, text[start:]]), tuple(bound), tuple(order))


def numbered(text: str, beginning: str, engine: str) -> str:
    """Replace each ``?`` placeholder of an engine's statement by ``beginning`` and a number, counted from 1."""
    pieces, start = [], 0
    for number, position in enumerate(places(text, engine), 1):
        pieces.append(f"{text[start:position]}{beginning}{number}")
        start = position + 1
    return "".join([*pieces, text[start:]])


def without_end(text: str, engine: str = ANY) -> str:
    """Return a statement without surrounding white space and trailing semicolons."""
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
    """Implements :class:`dbdyno.model.experiment.engines.Engines`, which experiment definitions use for validation."""

    @property
    def names(self) -> Sequence[str]:
        """The names that an experiment may use."""
        return engine_names()

    def nearest(self, name: str, others: Sequence[str] = ()) -> str:
        """Return the hint for an unknown engine; a URL's alias isn't a name in an experiment."""
        if name.lower() in engine_aliases():
            return f"use `{engine_named(name)}`, also for `{name.lower()}:` systems"
        return nearest(name, (*engine_names(), *others))

    def places(self, text: str, engine: str) -> Sequence[int]:
        """Return the possible numbers of placeholders in a statement; several for ``any``, as engines may differ."""
        known = known_engine(engine)
        if known.syntax.question_operators:
            dollars = {token.text for token in known.placeholders(text) if _DOLLAR.fullmatch(token.text)}
            return [len(dollars) or known.places(text), 0]
        if engine != ANY:
            return [known.places(text)]
        # A common statement may use one engine's syntax; compiling it applies that engine's rules.
        readers = [each for each in all_engines() if each.check_statement(text) is None]
        return list(dict.fromkeys(reader.places(text) for reader in readers))

    def without_end(self, text: str, engine: str) -> str:
        """Return a statement without surrounding white space and trailing semicolons."""
        return without_end(text, engine)

    def check_statement(self, text: str, engine: str) -> tuple[str, str] | None:
        """Return why a string isn't a statement of the engine, and a hint; ``None`` if it may be one."""
        return known_engine(engine).check_statement(text)
