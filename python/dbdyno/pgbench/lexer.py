"""The commands of a pgbench script: where each SQL statement and each backslash command begins and ends."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbdyno.definition.expression import NAME
from dbdyno.engines.postgresql.quoting import PARTS
from dbdyno.errors import InputError

# Tokens that hold no end of a statement and no command. The order matters.
_WHOLE = re.compile(
    rf"""(?P<blank>\s+ | --[^\n]*)
    | (?P<quoted>{PARTS})
    | (?P<word>[A-Za-z_\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*)
    | ::+""",
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(f":({NAME})")
# A colon behind another one begins no variable.
_QUOTED_VARIABLE = re.compile(f"(?<!:):({NAME})")
_COMMAND = re.compile(r"\\(?P<name>(?:(?!\\\r?\n)\S)*)(?P<arguments>(?:\\\r?\n|[^\n])*)")
_CONTINUATION = re.compile(r"\\\r?\n")
_OPENED = {"'": "a string", '"': "a quoted name", "/*": "a comment", "$": "a dollar-quoted string"}
_DOLLAR_TAG = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
_ROUTINE = re.compile(r"create (?:or replace )?(?:function|procedure)", re.IGNORECASE)
# Words and the blanks between them.
_LONGEST_ROUTINE = 7


@dataclass(frozen=True)
class Variable:
    """A ``:name`` in a statement. ``glued``: it follows a letter or a digit, so it is part of a longer name."""

    name: str
    line: int
    glued: bool


@dataclass(frozen=True)
class Quoted:
    """A string or a quoted name that contains a ``:name``; ``line``: where it begins."""

    text: str
    line: int

    def __str__(self) -> str:
        """Return the text as it is written."""
        return self.text

    @property
    def variables(self) -> list[str]:
        """Names that would be variables outside quotes."""
        return _QUOTED_VARIABLE.findall(self.text)

    def replaced(self, values: dict[str, str]) -> str:
        """Return the text with values instead of those variables that have one."""
        return _QUOTED_VARIABLE.sub(lambda found: values.get(found[1], found[0]), self.text)


@dataclass(frozen=True)
class Sql:
    """A statement: its text, cut at its variables, and the line it begins in.

    ``words``: the text without comments, with one blank for all white space between tokens.
    """

    line: int
    pieces: tuple[str | Variable | Quoted, ...]
    words: str


@dataclass(frozen=True)
class Meta:
    """A backslash command: its name in small letters, without the backslash, and the rest of its line."""

    line: int
    name: str
    arguments: str


def commands(text: str, place: str) -> Iterator[Sql | Meta]:
    """Cut a script into commands. Raises InputError with the line of an unclosed quote and of a ``?``."""
    yield from _Cutter(text, place).commands()


class _Cutter:
    def __init__(self, text: str, place: str) -> None:
        self._text = text
        self._place = place
        self._at = 0
        # A place in the text and its line, from which later ones are counted.
        self._counted = (0, 1)
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[str | Variable | Quoted] = []
        self._words: list[str] = []
        # White space and comments that belong to the statement if it goes on behind them.
        self._between: list[str] = []
        self._begun: int | None = None
        # Open parentheses, and open blocks in the body of a function.
        self._depth = self._blocks = 0
        self._routine = False

    def commands(self) -> Iterator[Sql | Meta]:
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if found := _WHOLE.match(text, self._at):
                self._whole(found)
                self._at = found.end()
            elif character == "\\":
                yield from self._statement()
                yield self._command()
            elif character == ";" and not self._depth and not self._blocks:
                yield from self._statement()
                self._at += 1
            elif found := _VARIABLE.match(text, self._at):
                before = text[self._at - 1] if self._at else ""
                glued = before.isalnum() or before in ("_", "$")
                self._add(Variable(found[1], self._line(), glued), found[0])
                self._at = found.end()
            else:
                self._character(character)
        yield from self._statement()

    def _whole(self, found: re.Match[str]) -> None:
        text = found[0]
        if found["blank"] is not None or text.startswith("/*"):
            # A comment such as `/*+ … */` before a statement may be a hint.
            if self._begun is not None or self._between or text.startswith("/*"):
                self._between.append(text)
            return
        quoted = Quoted(text, self._line()) if found["quoted"] is not None else None
        self._add(quoted if quoted is not None and quoted.variables else text, text)
        if found["word"] is not None:
            self._word(text.lower())

    def _word(self, word: str) -> None:
        """Count the blocks of a function's body, in which a semicolon ends no statement."""
        if word in ("function", "procedure"):
            self._routine |= _ROUTINE.fullmatch("".join(self._words[:_LONGEST_ROUTINE])) is not None
        elif self._routine and (word == "begin" or (word == "case" and self._blocks)):
            self._blocks += 1
        elif word == "end" and self._blocks:
            self._blocks -= 1

    def _character(self, character: str) -> None:
        opened = next((what for begin, what in _OPENED.items() if self._text.startswith(begin, self._at)), None)
        # A dollar sign alone opens nothing: a parameter's number follows.
        if opened and (character != "$" or _DOLLAR_TAG.match(self._text, self._at)):
            raise InputError(self._here(), f"{opened} is not closed", "close it")
        if character == "?":
            hint = "write a function or another operator instead"
            raise InputError(self._here(), "a `?` stands for a value that is bound, and none is given", hint)
        self._depth = max(self._depth + {"(": 1, ")": -1}.get(character, 0), 0)
        self._add(character, character)
        self._at += 1

    def _add(self, piece: str | Variable | Quoted, words: str) -> None:
        if self._begun is None:
            self._begun = self._line()
        if self._between:
            self._pieces += self._between
            self._words += [" "] if self._words else []
            self._between = []
        self._pieces.append(piece)
        self._words.append(words)

    def _statement(self) -> Iterator[Sql]:
        if self._begun is not None:
            yield Sql(self._begun, tuple(_joined(self._pieces)), "".join(self._words))
        self._clear()

    def _command(self) -> Meta:
        found = _COMMAND.match(self._text, self._at)
        assert found is not None  # noqa: S101 - it begins with the backslash that led here
        if found["name"].startswith(";"):
            raise InputError(self._here(), r"statements joined by `\;` cannot be run", "end each with `;`")
        if not found["name"]:
            raise InputError(self._here(), "a backslash begins no command here", r"as in `\set x 1`")
        line = self._line()
        self._at = found.end()
        return Meta(line, found["name"].lower(), _CONTINUATION.sub(" ", found["arguments"]).strip())

    def _line(self) -> int:
        at, line = self._counted
        self._counted = (self._at, line + self._text.count("\n", at, self._at))
        return self._counted[1]

    def _here(self) -> str:
        return f"{self._place}: line {self._line()}"


def _joined(pieces: Iterable[str | Variable | Quoted]) -> Iterator[str | Variable | Quoted]:
    """Join strings that follow each other."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if texts:
            yield "".join(texts)
            texts = []
        yield piece
    if texts:
        yield "".join(texts)
