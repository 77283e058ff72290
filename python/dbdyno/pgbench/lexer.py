"""The commands of a pgbench script: where each SQL statement and each backslash command begins and ends."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.definition.expression import NAME
from dbdyno.engines.postgresql.quoting import PARTS
from dbdyno.errors import InputError

# What is taken as a whole, so that nothing in it is a variable, an end or a command. The order matters.
_WHOLE = re.compile(
    rf"""(?P<comment>--[^\n]*)
    | {PARTS}
    | ::
    | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(f":({NAME})")
_COMMAND = re.compile(r"\\(?P<name>[A-Za-z]*)(?P<arguments>(?:\\\r?\n|[^\n])*)")
_OPENED = {"'": "a text", '"': "a quoted name", "/*": "a comment", "$": "a text in dollar signs"}


@dataclass(frozen=True)
class Variable:
    """A ``:name`` in a statement. ``glued``: it follows a letter or a digit, so that it is a part of a longer name."""

    name: str
    line: int
    glued: bool


@dataclass(frozen=True)
class Sql:
    """A statement: its text, cut at its variables, and the line it begins in."""

    line: int
    pieces: tuple[str | Variable, ...]


@dataclass(frozen=True)
class Meta:
    """A backslash command, its name without the backslash; ``arguments``: the rest of its line."""

    line: int
    name: str
    arguments: str


def commands(text: str, place: str) -> Iterator[Sql | Meta]:
    """Cut a script into commands. Raises InputError with the line for what is not closed and for ``?``."""
    yield from _Cutter(text, place).commands()


class _Cutter:
    def __init__(self, text: str, place: str) -> None:
        self._text = text
        self._place = place
        self._at = 0
        self._pieces: list[str | Variable] = []
        self._begun: int | None = None
        self._depth = 0

    def commands(self) -> Iterator[Sql | Meta]:
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if found := _WHOLE.match(text, self._at):
                blank = found["comment"] is not None or found["space"] is not None
                self._add(" " if blank else found[0], blank=blank or found[0].startswith("/*"))
                self._at = found.end()
            elif character == "\\":
                yield from self._statement()
                yield self._command()
            elif character == ";" and self._depth <= 0:
                yield from self._statement()
                self._at += 1
            elif found := _VARIABLE.match(text, self._at):
                before = text[self._at - 1] if self._at else ""
                self._add(Variable(found[1], self._line(self._at), before.isalnum() or before in ("_", "$")))
                self._at = found.end()
            else:
                self._character(character)
        yield from self._statement()

    def _character(self, character: str) -> None:
        opened = next((what for begin, what in _OPENED.items() if self._text.startswith(begin, self._at)), None)
        # A dollar sign alone is none: it stands before the number of a parameter.
        if opened and (character != "$" or re.match(r"\$(?:[A-Za-z_]\w*)?\$", self._text[self._at :])):
            raise InputError(self._here(self._at), f"{opened} is not closed", "close it")
        if character == "?":
            hint = "write a function or another operator in its place"
            raise InputError(self._here(self._at), "a `?` stands for a value that is bound, and none is given", hint)
        self._depth += {"(": 1, ")": -1}.get(character, 0)
        self._add(character)
        self._at += 1

    def _add(self, piece: str | Variable, *, blank: bool = False) -> None:
        if self._begun is None:
            if blank:
                return
            self._begun = self._line(self._at)
        last = self._pieces[-1] if self._pieces else None
        if isinstance(piece, str) and isinstance(last, str):
            if piece != " " or not last.endswith(" "):
                self._pieces[-1] = last + piece
        else:
            self._pieces.append(piece)

    def _statement(self) -> Iterator[Sql]:
        if self._begun is not None:
            if isinstance(self._pieces[-1], str):
                self._pieces[-1] = self._pieces[-1].rstrip()
            yield Sql(self._begun, tuple(self._pieces))
        self._pieces, self._begun, self._depth = [], None, 0

    def _command(self) -> Meta:
        found = _COMMAND.match(self._text, self._at)
        assert found is not None  # noqa: S101 - it begins with the backslash that led here
        line = self._line(self._at)
        if not found["name"]:
            after = self._text[self._at + 1 : self._at + 2]
            if after == ";":
                raise InputError(self._here(self._at), r"statements joined by `\;` cannot be run", "end each with `;`")
            raise InputError(self._here(self._at), "a backslash begins no command here", r"as in `\set x 1`")
        self._at = found.end()
        return Meta(line, found["name"], re.sub(r"\\\r?\n", " ", found["arguments"]).strip())

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1

    def _here(self, at: int) -> str:
        return f"{self._place}: line {self._line(at)}"
