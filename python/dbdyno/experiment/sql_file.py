"""A file of SQL statements: its encoding, its statements as they are written, and the directives in its comments."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from pathlib import Path

from dbdyno.base.errors import InputError, reason
from dbdyno.engines.lookup import known_engine
from dbdyno.engines.sql_lexer import Kind, Token, UnterminatedError, significant, tokenize

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_NAME = r"[^\W\d]\w*"
_NAME_DIRECTIVE = re.compile(r"--\s*name\s*[:=]\s*(\S.*)", re.IGNORECASE)
_VALUES_DIRECTIVE = re.compile(rf"--\s*:({_NAME})\s*=\s*(\S.*)")

# The mysql client: the command that changes the delimiter, and the commands that end one statement.
_DELIMITER = re.compile(r"delimiter[ \t]+(\S+)[^\n]*", re.IGNORECASE)
_MYSQL_ENDS = ("\\G", "\\g")

# sqlcmd's batch separator, optionally with a number of executions.
_GO = re.compile(r"go(?:\s+\d+)?(?:\s*--.*)?", re.IGNORECASE)

_WHITE_SPACE = " \t\r\n\f\v"

# First characters of client commands, and the clients.
_CLIENTS = {"\\": "psql or mysql", ".": "the sqlite3 or duckdb shell"}


@dataclass(frozen=True)
class Statement:
    """A statement of a file, unchanged. ``line``: its first line. ``values``: parameter values in the comments."""

    text: str
    line: int
    name: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)


def read_sql_file(path: str) -> str:
    """Read a file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark, and remove the mark. Raises InputError."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, f"cannot read the file: {reason(error)}", "name a file of SQL statements") from error
    mark, encoding = next((each for each in _BYTE_ORDER_MARKS if content.startswith(each[0])), (b"", "utf-8"))
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        problem = f"byte 0x{content[at]:02x} is not valid {encoding.upper()}"
        other = "utf-16le" if b"\0" in content else "latin1"
        hint = f"convert the file, e.g. with `iconv -f {other} -t utf-8`"
        raise InputError(f"{path}, line {content.count(10, 0, at) + 1}", problem, hint) from None
    if "\0" in text:
        hint = "remove it, or save the file as UTF-8"
        place = f"{path}, line {_line(text, text.index(chr(0)))}"
        raise InputError(place, "the file contains a NUL character", hint)
    return text


def split_statements(text: str, place: str, engine: str) -> Iterator[Statement]:
    """Split a file into statements with the lexical rules of an engine. Statements are not changed.

    White space and line comments before a statement are not part of it, nor is the semicolon after it. A comment
    ``-- name: NAME`` names the statement; ``-- :parameter = VALUES`` applies to all following ones. ``place``: the
    file, for errors. Raises InputError for an unclosed string or comment, and for a client command.
    """
    yield from _Splitter(text, place, engine).statements()


class _Splitter:
    """Collects the tokens of one statement after the other."""

    def __init__(self, text: str, place: str, engine: str) -> None:
        self._text = text
        self._place = place
        self._syntax = known_engine(engine).syntax
        self._delimiter = ";"
        self._tokens: list[Token] = []
        self._values: dict[str, str] = {}

    def statements(self) -> Iterator[Statement]:
        at: int | None = 0
        while at is not None:
            at = self._next_end(at)
            made = self._statement(at_end=at is None)
            if made is not None:
                yield made

    def _next_end(self, start: int) -> int | None:
        """Collect the tokens of a statement; return the index after its delimiter, or None at the end of the file."""
        self._tokens = []
        depth, parentheses, words, begun = 0, 0, [""], False
        try:
            for token in tokenize(self._text, self._syntax, start):
                is_inside = depth > 0 or parentheses > 0
                behind = None if is_inside and self._delimiter == ";" else self._behind_delimiter(token)
                is_sql = token.kind not in (Kind.SPACE, Kind.COMMENT)
                if behind is None and is_sql and not begun:
                    behind = self._behind_client_command(token)
                if behind is not None:
                    return behind
                begun = begun or is_sql
                if token.kind is Kind.WORD and self._text[token.start - 1 : token.start] != ".":
                    words.append(token.text.lower())
                    depth += _block_step(words, depth)
                elif token.text in ("(", ")") and self._syntax.dollar_quotes:
                    # Like psql, for rules with several statements.
                    parentheses = max(parentheses + (1 if token.text == "(" else -1), 0)
                self._tokens.append(token)
        except UnterminatedError as error:
            raise InputError(self._at(error.start), f"`{error.opening}` is not closed", "close it") from None
        return None

    def _behind_delimiter(self, token: Token) -> int | None:
        """Return the index after a delimiter that begins in this token, or None."""
        ends = (self._delimiter, *(_MYSQL_ENDS if self._syntax.delimiter_command else ()))
        if token.kind in (Kind.SPACE, Kind.COMMENT, Kind.STRING, Kind.NAME):
            return None
        # A delimiter such as `$$` may be inside a word: `end$$`.
        for end in ends:
            at = self._text.find(end, token.start, max(token.end, token.start + len(end)))
            if at >= 0:
                if at > token.start:
                    self._tokens.append(replace(token, text=token.text[: at - token.start]))
                return at + len(end)
        return None

    def _behind_client_command(self, token: Token) -> int | None:
        """Return the index after mysql's `DELIMITER` command; raise InputError for another client command."""
        line_end = self._text.find("\n", token.start)
        line = self._text[token.start : None if line_end < 0 else line_end].strip()
        delimiter = _DELIMITER.match(self._text, token.start) if self._syntax.delimiter_command else None
        if delimiter is not None:
            self._delimiter = delimiter[1]
            return delimiter.end()
        client = _CLIENTS.get(token.text)
        if client is not None and len(line) > 1 and not line[1].isspace():
            problem = f"`{line}` is a command of {client}, not SQL"
            raise InputError(self._at(token.start), problem, "remove it; end each statement with `;`")
        if _GO.fullmatch(line):
            raise InputError(
                self._at(token.start), "`GO` is a command of sqlcmd, not SQL", "end each statement with `;`"
            )
        return None

    def _statement(self, *, at_end: bool) -> Statement | None:
        name = None
        for token in self._tokens:
            if token.kind is not Kind.COMMENT:
                continue
            if named := _NAME_DIRECTIVE.fullmatch(token.text.rstrip()):
                name = named[1]
            elif valued := _VALUES_DIRECTIVE.fullmatch(token.text.rstrip()):
                self._values[valued[1]] = valued[2]
        tokens = list(dropwhile(_is_before_statement, self._tokens))
        first = next(iter(significant(tokens)), None)
        if first is None:
            return None
        if at_end:
            tokens = _without_last_comments(tokens)
        text = "".join(each.text for each in tokens).rstrip(_WHITE_SPACE)
        self._refuse_backslash(tokens)
        return Statement(text, _line(self._text, first.start), name, dict(self._values))

    def _refuse_backslash(self, tokens: Sequence[Token]) -> None:
        found = next((each for each in tokens if each.text == "\\"), None)
        if found is not None:
            command = self._text[found.start :].partition("\n")[0].strip()
            problem = f"`{command}` is a command of psql or mysql, not SQL"
            raise InputError(self._at(found.start), problem, "end the statement with `;` instead")

    def _at(self, index: int) -> str:
        return f"{self._place}, line {_line(self._text, index)}"


def _is_before_statement(token: Token) -> bool:
    is_line_comment = token.kind is Kind.COMMENT and not token.text.startswith("/*")
    return token.kind is Kind.SPACE or is_line_comment


def _without_last_comments(tokens: Sequence[Token]) -> list[Token]:
    """Remove comments at the end of a file that begin below the statement's last line."""
    last = max(index for index, each in enumerate(tokens) if each.kind not in (Kind.SPACE, Kind.COMMENT))
    kept = list(tokens[: last + 1])
    for each in tokens[last + 1 :]:
        if each.kind is Kind.SPACE and "\n" in each.text:
            break
        kept.append(each)
    return kept


def _block_step(words: Sequence[str], depth: int) -> int:
    """Return how a word changes the depth of blocks, inside which a semicolon doesn't end the statement."""
    word = words[-1]
    if depth > 0:
        return {"begin": 1, "case": 1, "end": -1}.get(word, 0)
    in_trigger = word == "begin" and words[1] == "create" and "trigger" in words[2:4]
    in_function = words[-2:] == ["begin", "atomic"]
    return 1 if in_trigger or in_function else 0


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
