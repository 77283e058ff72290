"""SQL cut into tokens, by the rules of each engine: strings, quoted names, comments, words, numbers and operators."""

import enum
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass


class Kind(enum.Enum):
    """What a token is."""

    SPACE = enum.auto()
    COMMENT = enum.auto()
    STRING = enum.auto()
    # A name in quotes, backticks or brackets.
    NAME = enum.auto()
    WORD = enum.auto()
    NUMBER = enum.auto()
    # `?`, `?1`, `:name`, `$1`, `$name`, `@name`, `%s` or `%(name)s`; whether it stands for a value, its neighbors say.
    PLACEHOLDER = enum.auto()
    OPERATOR = enum.auto()
    SEMICOLON = enum.auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a statement. ``start``: its first character's index in the text."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Return the index behind the last character."""
        return self.start + len(self.text)


class UnterminatedError(ValueError):
    """A string, a quoted name or a comment has no end. ``opening``: how it begins; ``start``: where, an index."""

    def __init__(self, opening: str, start: int) -> None:
        super().__init__(f"`{opening}` is not closed")
        self.opening = opening
        self.start = start


@dataclass(frozen=True, kw_only=True)
class Syntax:
    """The lexical rules in which engines differ.

    ``backslashes``: they escape in every string; ``escape_strings``: in `E'…'`. ``dashes_need_space``: `--` begins a
    comment only before white space. ``open_comment``: a block comment may lack its end. ``munches``: an operator is as
    many operator characters as follow each other. ``variables``: `@name` is a variable of the session.
    """

    backslashes: bool = False
    escape_strings: bool = False
    dollar_quotes: bool = False
    double_quoted_strings: bool = False
    backticks: bool = True
    brackets: bool = True
    hash_comments: bool = False
    dashes_need_space: bool = False
    nested_comments: bool = False
    open_comment: bool = False
    munches: bool = False
    variables: bool = False


STANDARD = Syntax(open_comment=True)
"""SQLite's rules, which are also those of statements that are translated."""

_BARE_WORD = r"[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*"
_NUMBER = r"(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?[\w$]*"
_PLACEHOLDER = r"\?\d* | (?<![:\w]):[A-Za-z_]\w* | %s\b | %\(\w+\)s\b"
_DOLLAR_TAG = r"\$(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?\$"
_OPERATOR_CHARACTERS = r"+\-*/<>=~!@\#%^&|`?"


def tokenize(text: str, syntax: Syntax = STANDARD) -> list[Token]:
    """Cut a text into tokens, which together are the text. Raises UnterminatedError."""
    pattern = _pattern(syntax)
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        # Every character begins a token, if only as an operator.
        assert match is not None
        kind = match.lastgroup
        end = match.end()
        if kind == "nested":
            kind, end = "COMMENT", _nested_comment_end(text, at)
        elif kind == "unclosed":
            raise UnterminatedError(match[0], at)
        found.append(Token(Kind[kind or "OPERATOR"], text[at:end], at))
        at = end
    return found


def significant(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens other than white space and comments."""
    return [each for each in tokens if each.kind not in (Kind.SPACE, Kind.COMMENT)]


@functools.cache
def _pattern(syntax: Syntax) -> re.Pattern[str]:
    escaped = r"'(?:[^'\\]|\\.|'')*'"
    plain = r"'(?:[^']|'')*'"
    strings = [escaped if syntax.backslashes else plain]
    names = []
    if syntax.double_quoted_strings:
        strings.append(r'"(?:[^"\\]|\\.|"")*"' if syntax.backslashes else r'"(?:[^"]|"")*"')
    else:
        names.append(r'"(?:[^"]|"")*"')
    if syntax.escape_strings:
        strings.insert(0, rf"[eE]{escaped}")
    if syntax.dollar_quotes:
        strings.append(rf"(?P<tag>{_DOLLAR_TAG}).*?(?P=tag)")
    opening = ["'", '"', r"/\*"]
    if syntax.backticks:
        names.append(r"`(?:[^`]|``)*`")
        opening.append("`")
    if syntax.brackets:
        names.append(r"\[[^\]]*\]")
        opening.append(r"\[")
    if syntax.dollar_quotes:
        opening.append(_DOLLAR_TAG)
    line = r"--(?=[\x00-\x20]|\Z)[^\n]*" if syntax.dashes_need_space else r"--[^\n]*"
    comments = [line, *([r"\#[^\n]*"] if syntax.hash_comments else [])]
    if not syntax.nested_comments:
        comments.append(r"/\*.*?(?:\*/|\Z)" if syntax.open_comment else r"/\*.*?\*/")
    placeholders = [_PLACEHOLDER]
    # `@@name` is a variable of the server, and `$` within a word part of it.
    placeholders += [r"(?<![\w$])\$\w+", r"(?<!@)@[A-Za-z_]\w*"]
    operator = r"::|:=|."
    if syntax.munches:
        # A comment ends an operator.
        run = rf"(?:(?!--|/\*)[{_OPERATOR_CHARACTERS}])+"
        placeholders = [r"(?<![:\w]):[A-Za-z_]\w*", r"(?<![\w$])\$\w+", r"%s\b | %\(\w+\)s\b"]
        operator = rf"::|:=|{run}|."
    parts = [
        r"(?P<SPACE>\s+)",
        rf"(?P<COMMENT>{' | '.join(comments)})",
        *([r"(?P<nested>/\*)"] if syntax.nested_comments else []),
        rf"(?P<STRING>{' | '.join(strings)})",
        rf"(?P<NAME>{' | '.join(names)})",
        rf"(?P<unclosed>{' | '.join(opening)})",
        rf"(?P<NUMBER>{_NUMBER})",
        rf"(?P<WORD>{_BARE_WORD})",
        rf"(?P<PLACEHOLDER>{' | '.join(placeholders)})",
        r"(?P<SEMICOLON>;)",
        rf"(?P<OPERATOR>{operator})",
    ]
    return re.compile(" | ".join(parts), re.VERBOSE | re.DOTALL)


def _nested_comment_end(text: str, start: int) -> int:
    """Return the index behind a comment that may contain others. Raises UnterminatedError."""
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise UnterminatedError("/*", start)
