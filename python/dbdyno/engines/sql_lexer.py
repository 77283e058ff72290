"""Split SQL into tokens by each engine's rules: strings, quoted names, comments, words, numbers and operators."""

import enum
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


class Kind(enum.Enum):
    """The kind of a token."""

    SPACE = enum.auto()
    COMMENT = enum.auto()
    STRING = enum.auto()
    # A name in quotes, backticks or brackets.
    NAME = enum.auto()
    WORD = enum.auto()
    NUMBER = enum.auto()
    # `?`, `?1`, `:name`, `$1`, `@name`, `%s` or `%(name)s`. Its neighbors decide whether it represents a value.
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
        """Return the index after the last character."""
        return self.start + len(self.text)


class UnterminatedError(ValueError):
    """A string, quoted name or comment is not closed. ``opening``: its first characters; ``start``: its index."""

    def __init__(self, opening: str, start: int) -> None:
        super().__init__(f"`{opening}` is not closed")
        self.opening = opening
        self.start = start


@dataclass(frozen=True, kw_only=True)
class Syntax:
    r"""The lexical rules in which engines differ.

    ``backslashes``: they escape in every string; ``escape_strings``: in `E'…'`. ``dashes_need_space``: `--` begins a
    comment only before white space. ``open_comment``: a block comment needn't be closed. ``at_names``: `@name` is a
    parameter or a variable, rather than an operator before a name; ``dollar_names``: `$1` and `$name` are parameters.
    ``question_operators``: `?`, `?|` and `?&` are operators between two operands. ``returns_end_lines``: a carriage
    return ends a line comment. ``executable_comments``: the content of `/*! … */` is code. ``session_variables``:
    `@name` is one. ``delimiter_command``: the engine's client knows `DELIMITER` and `\G`.
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
    at_names: bool = True
    dollar_names: bool = True
    question_operators: bool = False
    returns_end_lines: bool = False
    executable_comments: bool = False
    session_variables: bool = False
    delimiter_command: bool = False


STANDARD = Syntax(open_comment=True)
"""SQLite's rules, which are also those of statements that are translated."""

_BARE_WORD = r"[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*"
_NUMBER = r"(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?[\w$]*"
_DOLLAR_TAG = r"\$(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?\$"

# Words that can't end an operand, so that a `?` or `%s` after them represents a value.
_BEFORE_OPERANDS = frozenset(
    (
        "all", "and", "any", "as", "between", "both", "by", "case", "distinct", "else", "escape", "except", "fetch",
        "first", "following", "for", "from", "glob", "groups", "having", "ilike", "in", "intersect", "interval",
        "into", "is", "leading", "left", "like", "limit", "match", "next", "not", "of", "offset", "on", "or", "placing",
        "preceding", "range", "regexp", "returning", "right", "rlike", "rows", "select", "set", "similar", "some",
        "symmetric", "then", "to", "trailing", "union", "using", "when", "where", "with", "zone",
    )
)  # fmt: skip


def tokenize(text: str, syntax: Syntax = STANDARD, start: int = 0) -> Iterator[Token]:
    """Split a string into tokens from index ``start`` on, without gaps. Raises UnterminatedError."""
    pattern = _pattern(syntax)
    in_code = False
    while match := pattern.match(text, start):
        kind, end = match.lastgroup or "OPERATOR", match.end()
        if in_code and text.startswith("*/", start):
            kind, end, in_code = "OPERATOR", start + 2, False
        in_code = in_code or kind == "code"
        if kind == "nested":
            kind, end = "COMMENT", _nested_comment_end(text, start)
        elif kind == "unclosed":
            raise UnterminatedError(match[0], start)
        elif kind in ("code", "jsonpath"):
            kind = "OPERATOR"
        yield Token(Kind[kind], text[start:end], start)
        start = end


def significant(tokens: Iterable[Token]) -> list[Token]:
    """Return the tokens other than white space and comments."""
    return [token for token in tokens if token.kind not in (Kind.SPACE, Kind.COMMENT)]


def placeholders(text: str, syntax: Syntax = STANDARD) -> list[Token]:
    """Return the tokens of a statement that represent values. Raises UnterminatedError.

    After an operand, `?` and `%s` are operators, and `:b` is part of a slice or a struct, e.g. `a[1:b]`.
    """
    tokens: list[Token] = []
    before: Token | None = None
    brackets = 0
    for token in significant(tokenize(text, syntax)):
        if token.kind is Kind.OPERATOR:
            brackets += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.text, 0)
        is_value = token.kind is Kind.PLACEHOLDER and _is_value(token, before, syntax, in_brackets=brackets > 0)
        if is_value:
            tokens.append(token)
        before = token if is_value or token.kind is not Kind.PLACEHOLDER else replace(token, kind=Kind.OPERATOR)
    return tokens


def _is_value(token: Token, before: Token | None, syntax: Syntax, *, in_brackets: bool) -> bool:
    if token.text[0] == ":":
        # DuckDB has `"alias":expression`.
        is_glued = before is not None and before.end == token.start and before.kind in (Kind.NAME, Kind.STRING)
        # `a[:b]` has a parameter, and `a[:1]` a slice's upper bound.
        is_slice = syntax.dollar_quotes and in_brackets and (_ends_operand(before) or token.text[1].isdigit())
        return not (is_glued or is_slice)
    may_be_operator = syntax.question_operators if token.text == "?" else token.text[0] == "%"
    return not (may_be_operator and _ends_operand(before))


def _ends_operand(token: Token | None) -> bool:
    if token is None:
        return False
    if token.kind is Kind.WORD:
        return token.text.lower() not in _BEFORE_OPERANDS
    if token.kind is Kind.OPERATOR:
        return token.text in (")", "]")
    return token.kind in (Kind.STRING, Kind.NAME, Kind.NUMBER, Kind.PLACEHOLDER)


@functools.cache
def _pattern(syntax: Syntax) -> re.Pattern[str]:
    escaped = r"'(?:[^'\\]|\\.|'')*'"
    strings = [escaped if syntax.backslashes else r"'(?:[^']|'')*'"]
    names, openings = [], ["'", '"', r"/\*"]
    if syntax.double_quoted_strings:
        strings.append(r'"(?:[^"\\]|\\.|"")*"' if syntax.backslashes else r'"(?:[^"]|"")*"')
    else:
        names.append(r'"(?:[^"]|"")*"')
    if syntax.escape_strings:
        # A string that continues on the next line keeps its escape rules.
        between = r"[ \t\f\v]*(?:--[^\r\n]*)?[\r\n](?:[ \t\r\n\f\v]|--[^\r\n]*[\r\n])*"
        strings.insert(0, rf"[eE]{escaped}(?:{between}{escaped})*")
    if syntax.dollar_quotes:
        strings.append(rf"(?P<tag>{_DOLLAR_TAG}).*?(?P=tag)")
        openings.append(_DOLLAR_TAG)
    if syntax.backticks:
        names.append(r"`(?:[^`]|``)*`")
        openings.append("`")
    if syntax.brackets:
        # SQLite doesn't support escaped brackets and reports an error.
        names.append(r"\[(?:[^\]]|\]\])*\]")
        openings.append(r"\[")
    line = r"[^\r\n]*" if syntax.returns_end_lines else r"[^\n]*"
    comments = [(r"--(?=[\x00-\x20\x7f]|\Z)" if syntax.dashes_need_space else "--") + line]
    if syntax.hash_comments:
        comments.append(rf"\#{line}")
    if not syntax.nested_comments:
        comments.append(r"/\*.*?(?:\*/|\Z)" if syntax.open_comment else r"/\*.*?\*/")
    # A name directly after a word or a colon belongs to it, e.g. in `a::text`.
    values = [r"\?\d*", r"(?<![\w:]):\w+", r"%s\b", r"%\(\w+\)s\b"]
    if syntax.dollar_names:
        values.append(r"\$\w+")
    if syntax.at_names:
        # After a name, it is part of an account, e.g. `root@localhost`.
        values.append(r"(?<![\w@`'\"])@[\w$][\w.$]*")
    groups = [
        # Engines treat other Unicode white space as letters.
        ("SPACE", [r"[ \t\r\n\f\v]+"]),
        ("code", [r"/\*M?!\d*"] if syntax.executable_comments else []),
        ("COMMENT", comments),
        ("nested", [r"/\*"] if syntax.nested_comments else []),
        ("STRING", strings),
        ("NAME", names),
        ("unclosed", openings),
        ("NUMBER", [_NUMBER]),
        ("WORD", [_BARE_WORD]),
        ("jsonpath", [r"@\?"] if syntax.question_operators else []),
        ("PLACEHOLDER", values),
        ("SEMICOLON", [";"]),
        # MariaDB also accepts `\N` for null.
        ("OPERATOR", [r"::|:=|->>|->|\\N\b|."]),
    ]
    parts = [f"(?P<{name}>{' | '.join(alternatives)})" for name, alternatives in groups if alternatives]
    return re.compile(" | ".join(parts), re.VERBOSE | re.DOTALL)


def _nested_comment_end(text: str, start: int) -> int:
    """Return the index after a comment that may contain nested comments. Raises UnterminatedError."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise UnterminatedError("/*", start)
