"""Split a pgbench script into SQL statements and backslash commands."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.engines.lookup import engine_of
from dbdyno.engines.sql_lexer import Kind, Token, UnterminatedError, tokenize
from dbdyno.model.experiment.expression import NAME

POSTGRESQL = "postgresql"
"""The engine whose SQL dialect the scripts use."""

# A colon after another one doesn't begin a variable (`::` is a cast).
_VARIABLE = re.compile(f"(?<!:):({NAME})")
_COMMAND = re.compile(r"\\(?P<name>(?:(?!\\\r?\n)\S)*)(?P<arguments>(?:\\\r?\n|[^\n])*)")
_CONTINUATION = re.compile(r"\\\r?\n")
_OPENED = {"'": "a string", '"': "a quoted name", "/": "a comment", "$": "a dollar-quoted string"}
_ROUTINE = re.compile(r"create (?:or replace )?(?:function|procedure)", re.IGNORECASE)
# Maximum number of words and spaces of `create or replace function`.
_MAX_ROUTINE_WORDS = 7


@dataclass(frozen=True)
class Variable:
    """A ``:name`` in a statement. ``glued``: it follows a letter or a digit, so it is part of a longer name."""

    name: str
    line: int
    glued: bool


@dataclass(frozen=True)
class Quoted:
    """A string or a quoted name that contains a ``:name``. ``line``: its first line."""

    text: str
    line: int

    def __str__(self) -> str:
        """Return the unchanged text."""
        return self.text

    @property
    def variables(self) -> list[str]:
        """The names after colons, which would be variables outside quotes."""
        return _VARIABLE.findall(self.text)

    def replaced(self, values: dict[str, str]) -> str:
        """Replace the variables in ``values`` by their values."""
        return _VARIABLE.sub(lambda match: values.get(match[1], match[0]), self.text)


@dataclass(frozen=True)
class Sql:
    """A statement: its text, split at variables, and its first line.

    ``words``: the text without comments, with single spaces instead of other white space.
    """

    line: int
    pieces: tuple[str | Variable | Quoted, ...]
    words: str


@dataclass(frozen=True)
class Meta:
    """A backslash command: its name in lower case without the backslash, and the rest of its line."""

    line: int
    name: str
    arguments: str


def commands(text: str, location: str) -> Iterator[Sql | Meta]:
    """Split a script into commands. Raises InputError with the line of an unclosed quote."""
    yield from _Lexer(text, location).commands()


class _Lexer:
    def __init__(self, text: str, location: str) -> None:
        self._text = text
        self._location = location
        self._syntax = engine_of(POSTGRESQL).syntax
        self._at = 0
        # An index in the text and its line; later lines are counted from there.
        self._counted = (0, 1)
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[str | Variable | Quoted] = []
        self._words: list[str] = []
        # White space and comments that belong to the statement if more tokens follow.
        self._between: list[str] = []
        self._begun: int | None = None
        # Open parentheses, and open blocks in the body of a function.
        self._depth = self._blocks = 0
        self._routine = False

    def commands(self) -> Iterator[Sql | Meta]:
        text = self._text
        while self._at < len(text):
            if text[self._at] == "\\":
                yield from self._statement()
                yield self._command()
            elif text[self._at] == ";" and not self._depth and not self._blocks:
                yield from self._statement()
                self._at += 1
            elif match := _VARIABLE.match(text, self._at):
                before = text[self._at - 1] if self._at else ""
                glued = before.isalnum() or before in ("_", "$")
                self._add(Variable(match[1], self._line(), glued), match[0])
                self._at = match.end()
            else:
                token = self._token()
                self._take(token)
                self._at = token.end
        yield from self._statement()

    def _token(self) -> Token:
        try:
            return next(tokenize(self._text, self._syntax, self._at))
        except UnterminatedError as error:
            raise InputError(self._here(), f"{_OPENED[error.opening[0]]} is not closed", "close it") from None

    def _take(self, token: Token) -> None:
        text = token.text
        if token.kind in (Kind.SPACE, Kind.COMMENT):
            # A comment such as `/*+ … */` before a statement may be a hint.
            if self._begun is not None or self._between or text.startswith("/*"):
                self._between.append(text)
            return
        quoted = Quoted(text, self._line()) if token.kind in (Kind.STRING, Kind.NAME) else None
        self._add(quoted if quoted is not None and quoted.variables else text, text)
        if token.kind is Kind.WORD:
            self._word(text.lower())
        self._depth = max(self._depth + {"(": 1, ")": -1}.get(text, 0), 0)

    def _word(self, word: str) -> None:
        """Count nested blocks in a function's body, where a semicolon doesn't end the statement."""
        if word in ("function", "procedure"):
            self._routine |= _ROUTINE.fullmatch("".join(self._words[:_MAX_ROUTINE_WORDS])) is not None
        elif self._routine and (word == "begin" or (word == "case" and self._blocks)):
            self._blocks += 1
        elif word == "end" and self._blocks:
            self._blocks -= 1

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
        match = _COMMAND.match(self._text, self._at)
        assert match is not None  # noqa: S101 - it begins with the backslash that led here
        if match["name"].startswith(";"):
            raise InputError(self._here(), r"statements joined by `\;` are not supported", "end each with `;`")
        if not match["name"]:
            raise InputError(self._here(), "missing command after the backslash", r"write one, such as `\set x 1`")
        line = self._line()
        self._at = match.end()
        return Meta(line, match["name"].lower(), _CONTINUATION.sub(" ", match["arguments"]).strip())

    def _line(self) -> int:
        at, line = self._counted
        self._counted = (self._at, line + self._text.count("\n", at, self._at))
        return self._counted[1]

    def _here(self) -> str:
        return f"{self._location}: line {self._line()}"


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
