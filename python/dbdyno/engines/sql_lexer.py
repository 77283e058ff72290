"""SQL cut into tokens, by the rules of each engine: strings, quoted names, comments, words, numbers and operators."""

import enum
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


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
    r"""The lexical rules in which engines differ.

    ``backslashes``: they escape in every string; ``escape_strings``: in `E'…'`. ``dashes_need_space``: `--` begins a
    comment only before white space. ``open_comment``: a block comment may lack its end. ``at_names``: `@name` is a
    parameter or a variable, rather than an operator before a name; ``dollar_names``: `$1` and `$name` are parameters.
    ``question_operators``: `?`, `?|` and `?&` are operators between two operands. ``executable_comments``: the content
    of `/*! … */` is executed. ``session_variables``: `@name` is one. ``delimiter_command``: the engine's client knows
    `DELIMITER` and `\G`.
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
    executable_comments: bool = False
    session_variables: bool = False
    delimiter_command: bool = False


STANDARD = Syntax(open_comment=True)
"""SQLite's rules, which are also those of statements that are translated."""

_BARE_WORD = r"[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*"
_NUMBER = r"(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?[\w$]*"
_DOLLAR_TAG = r"\$(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?\$"

# Words that end no operand, so that a `?` or `%s` behind them stands for a value. The worker has the same list.
_BEFORE_OPERANDS = frozenset(
    (
        "all", "and", "any", "as", "between", "by", "case", "cross", "distinct", "do", "else", "escape", "except",
        "exists", "fetch", "filter", "following", "for", "from", "full", "glob", "group", "groups", "having", "ilike",
        "in", "inner", "intersect", "interval", "into", "is", "join", "lateral", "left", "like", "limit", "match",
        "natural", "next", "not", "nulls", "of", "offset", "on", "only", "or", "order", "outer", "over", "overlaps",
        "overlay", "partition", "placing", "preceding", "range", "regexp", "returning", "right", "rlike", "rows",
        "select", "set", "similar", "some", "symmetric", "table", "then", "to", "union", "update", "using", "values",
        "when", "where", "window", "with", "within", "xor", "zone",
    )
)  # fmt: skip


def tokenize(text: str, syntax: Syntax = STANDARD, start: int = 0) -> Iterator[Token]:
    """Cut a text, from an index on, into tokens, which together are the text. Raises UnterminatedError."""
    pattern = _pattern(syntax)
    while match := pattern.match(text, start):
        kind, end = match.lastgroup or "OPERATOR", match.end()
        if kind == "nested":
            kind, end = "COMMENT", _nested_comment_end(text, start)
        elif kind == "unclosed":
            raise UnterminatedError(match[0], start)
        elif kind == "jsonpath":
            kind = "OPERATOR"
        yield Token(Kind[kind], text[start:end], start)
        start = end


def significant(tokens: Iterable[Token]) -> list[Token]:
    """Return the tokens other than white space and comments."""
    return [each for each in tokens if each.kind not in (Kind.SPACE, Kind.COMMENT)]


def placeholders(text: str, syntax: Syntax = STANDARD) -> list[Token]:
    """Return the tokens of a statement that stand for values. Raises UnterminatedError.

    A token such as `?`, `%s` or `:b` behind an operand is an operator, or part of a slice as in `a[1:b]`.
    """
    found: list[Token] = []
    before: Token | None = None
    for token in significant(tokenize(text, syntax)):
        is_operator = _may_be_operator(token, syntax) and _ends_operand(before)
        if token.kind is Kind.PLACEHOLDER and not is_operator:
            found.append(token)
        before = replace(token, kind=Kind.OPERATOR) if is_operator else token
    return found


def value_places(text: str, syntax: Syntax = STANDARD) -> list[int]:
    """Return the index of each `?` that stands for a value. Raises UnterminatedError."""
    return [each.start for each in placeholders(text, syntax) if each.text == "?"]


def _may_be_operator(token: Token, syntax: Syntax) -> bool:
    if token.text == "?":
        return syntax.question_operators
    return token.kind is Kind.PLACEHOLDER and token.text[0] in "%:"


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
        strings.insert(0, rf"[eE]{escaped}")
    if syntax.dollar_quotes:
        strings.append(rf"(?P<tag>{_DOLLAR_TAG}).*?(?P=tag)")
        openings.append(_DOLLAR_TAG)
    if syntax.backticks:
        names.append(r"`(?:[^`]|``)*`")
        openings.append("`")
    if syntax.brackets:
        names.append(r"\[[^\]]*\]")
        openings.append(r"\[")
    comments = [r"--(?=[\x00-\x20]|\Z)[^\n]*" if syntax.dashes_need_space else r"--[^\n]*"]
    if syntax.hash_comments:
        comments.append(r"\#[^\n]*")
    if not syntax.nested_comments:
        comments.append(r"/\*.*?(?:\*/|\Z)" if syntax.open_comment else r"/\*.*?\*/")
    # A name that directly follows a word or a colon belongs to it, as in `a::text`.
    values = [r"\?\d*", r"(?<![\w:]):[A-Za-z_]\w*", r"%s\b", r"%\(\w+\)s\b"]
    if syntax.dollar_names:
        values.append(r"\$\w+")
    if syntax.at_names:
        values.append(r"(?<!@)@[A-Za-z_]\w*")
    groups = [
        ("SPACE", [r"\s+"]),
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
        # MariaDB writes null as `\N`, too.
        ("OPERATOR", [r"::|:=|->>|->|\\N\b|."]),
    ]
    parts = [f"(?P<{name}>{' | '.join(alternatives)})" for name, alternatives in groups if alternatives]
    return re.compile(" | ".join(parts), re.VERBOSE | re.DOTALL)


def _nested_comment_end(text: str, start: int) -> int:
    """Return the index behind a comment that may contain others. Raises UnterminatedError."""
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise UnterminatedError("/*", start)
