"""A file of SQL statements: its encoding, its statements as they are written, and the directives in its comments."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import dropwhile
from pathlib import Path
from typing import Literal

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
# Directives of workloads, which apply to what follows them.
_FLOW_DIRECTIVE = re.compile(r"--\s*(?:(transaction|request|weight|think|into|set)\s*:\s*(\S.*)?|(end))", re.IGNORECASE)
# What looks like a directive, and the known ones.
_LIKE_DIRECTIVE = re.compile(r"--\s*([a-z]+)\s*:.*", re.IGNORECASE)
_KNOWN_DIRECTIVES = ("name", "transaction", "request", "weight", "think", "into", "set")
SET_FACTORS = ("prepare", "connect")
"""Factors of a mix whose levels a file may give: how its application uses connections."""

# Similarity from which a word is a misspelled directive.
_NEAR = 0.8
_WEIGHT = re.compile(r"\d{1,9}(?:\.\d{1,9})?")

# The mysql client: the command that changes the delimiter, and the commands that end one statement.
_DELIMITER = re.compile(r"delimiter[ \t]+(\S+)[^\n]*", re.IGNORECASE)
_MYSQL_ENDS = ("\\G", "\\g")

# sqlcmd's batch separator, optionally with a number of executions.
_GO = re.compile(r"go(?:\s+\d+)?(?:\s*--.*)?", re.IGNORECASE)

_Place = Literal["above", "behind", "head"]

_WHITE_SPACE = " \t\r\n\f\v"

# First characters of client commands, and the clients.
_CLIENTS = {"\\": "psql or mysql", ".": "the sqlite3 or duckdb shell"}


@dataclass(frozen=True)
class Pause:
    """A pause of a client, ``-- think: TIME``. ``line``: of the comment; ``comments``: further ones above it."""

    words: str
    line: int
    comments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """The statements of ``-- transaction: NAME`` or ``-- request: NAME``; ``line``, ``comments``: as in :class:`Pause`.

    ``is_request``: its statements are in autocommit mode, unless the file has `begin` and `commit`.
    """

    name: str
    line: int
    is_request: bool = False
    comments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A statement of a file, unchanged. ``line``: its first line. ``values``: parameter values in the comments.

    ``block``: the transaction that it is in. ``weight``: its own, or its block's. ``before``, ``after``: pauses; only
    the last statement of a block has some after it. ``into``: parameters that get the columns of its first row.
    ``comments``: other comments above it; ``head``: the first statement has those about the file. ``levels``: of the
    file's factors, which the first statement has, too.
    """

    text: str
    line: int
    name: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    block: Block | None = None
    weight: float = 1.0
    before: tuple[Pause, ...] = ()
    after: tuple[Pause, ...] = ()
    into: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)


def read_sql_file(path: str) -> str:
    """Read a file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark, and remove the mark. Raises InputError."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(path, f"cannot read the file: {reason(error)}", "name an SQL file") from error
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
        location = f"{path}, line {_line(text, text.index(chr(0)))}"
        raise InputError(location, "the file contains a NUL character", hint)
    return text


def split_statements(text: str, location: str, engine: str) -> Iterator[Statement]:
    """Split a file into statements with the lexical rules of an engine. Statements are not changed.

    White space and line comments before a statement are not part of it, nor is the semicolon after it. A comment
    ``-- name: NAME`` names the statement; ``-- :parameter = VALUES`` applies to all following ones.
    ``-- transaction: NAME`` begins a transaction, and ``-- request: NAME`` a request. Both end at the next such
    comment, at ``-- end`` or with the file. ``-- weight: NUMBER`` and ``-- think: TIME`` apply to the next statement,
    transaction or request, ``-- into: PARAMETERS`` to the next statement. ``location``: the file, for errors. Raises
    InputError for an unclosed string or comment, a client command, and a misplaced or wrong directive.
    """
    yield from _Splitter(text, location, engine).statements()


class _Splitter:
    """Collects the tokens of one statement after the other."""

    def __init__(self, text: str, location: str, engine: str) -> None:
        self._text = text
        self._location = location
        self._syntax = known_engine(engine).syntax
        self._delimiter = ";"
        self._tokens: list[Token] = []
        self._values: dict[str, str] = {}
        self._flow = _Flow(location)

    def statements(self) -> Iterator[Statement]:
        at: int | None = 0
        while at is not None:
            at = self._next_end(at)
            made = self._statement(at_end=at is None)
            if made is not None:
                self._flow.add(made)
            for token in self._directives(behind=True):
                self._flow.read(token.text, _line(self._text, token.start))
        yield from self._flow.finished()

    def _directives(self, *, behind: bool) -> Iterator[Token]:
        """Yield the directives of workloads before the collected statement, or ``behind`` it. Raises InputError."""
        sql = [index for index, each in enumerate(self._tokens) if each.kind not in (Kind.SPACE, Kind.COMMENT)]
        first, last = (sql[0], sql[-1]) if sql else (len(self._tokens), len(self._tokens))
        for index, token in enumerate(self._tokens):
            if token.kind is Kind.COMMENT and not behind:
                self._check_spelling(token)
            if token.kind is not Kind.COMMENT or not _FLOW_DIRECTIVE.fullmatch(token.text.rstrip()):
                continue
            if first < index < last and "end" not in token.text.lower():
                problem = f"`{token.text.rstrip()}` is inside of a statement"
                raise InputError(self._at(token.start), problem, "write it above, or end the statement with `;`")
            if (index > last) == behind:
                yield token

    def _check_spelling(self, comment: Token) -> None:
        """Raise InputError for a comment that is nearly a directive, such as ``-- wieght: 5``."""
        match = _LIKE_DIRECTIVE.fullmatch(comment.text.rstrip())
        word = "" if match is None else match[1].lower()
        if not word or word in _KNOWN_DIRECTIVES:
            return
        near = get_close_matches(word, _KNOWN_DIRECTIVES, 1, _NEAR)
        if near:
            hint = f"did you mean `-- {near[0]}:`? Leave out the colon for a comment"
            raise InputError(self._at(comment.start), f"`-- {word}:` is not a directive", hint)

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
        self._read_comments(self._tokens[: len(self._tokens) - len(tokens)])
        first = next(iter(significant(tokens)), None)
        if first is None:
            return None
        if at_end:
            tokens = _without_last_comments(tokens)
        text = "".join(each.text for each in tokens).rstrip(_WHITE_SPACE)
        self._refuse_backslash(tokens)
        return Statement(text, _line(self._text, first.start), name, dict(self._values))

    def _read_comments(self, above: Sequence[Token]) -> None:
        """Read the directives and other comments above a statement."""
        directives = {each.start for each in self._directives(behind=False)}
        head = [] if self._flow.has_read else _head(above)
        is_behind = self._flow.has_read
        for index, token in enumerate(self._tokens):
            is_behind = is_behind and "\n" not in token.text
            if token.start in directives:
                self._flow.read(token.text, _line(self._text, token.start))
            elif index < len(above) and token.kind is Kind.COMMENT and not _is_directive(token):
                place: _Place = "behind" if is_behind else "head" if token in head else "above"
                self._flow.note(token.text.lstrip("-#").strip(), place)

    def _refuse_backslash(self, tokens: Sequence[Token]) -> None:
        found = next((token for token in tokens if token.text == "\\"), None)
        if found is not None:
            command = self._text[found.start :].partition("\n")[0].strip()
            problem = f"`{command}` is a command of psql or mysql, not SQL"
            raise InputError(self._at(found.start), problem, "end the statement with `;` instead")

    def _at(self, index: int) -> str:
        return f"{self._location}, line {_line(self._text, index)}"


class _Flow:
    """Assigns statements to transactions, with their weights and pauses."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._statements: list[Statement] = []
        self._names: dict[str, int] = {}
        self._block: Block | None = None
        self._has_statements = False
        self._block_weight = 1.0
        # Directives that apply to what follows.
        self._weight: tuple[float, int] | None = None
        self._pauses: list[Pause] = []
        self._into: tuple[tuple[str, ...], int] | None = None
        self._comments: list[str] = []
        self._head: list[str] = []
        self._levels: dict[str, str] = {}

    @property
    def has_read(self) -> bool:
        """Whether a statement has been read."""
        return bool(self._statements)

    def note(self, comment: str, place: _Place) -> None:
        """Keep a comment that is not a directive: above what follows, behind a statement, or in the file's head."""
        if place == "behind":
            last = self._statements[-1]
            self._statements[-1] = replace(last, comments=(*last.comments, comment))
        else:
            (self._head if place == "head" else self._comments).append(comment)

    def _noted(self) -> tuple[str, ...]:
        comments, self._comments = tuple(self._comments), []
        return comments

    def read(self, comment: str, line: int) -> None:
        """Read a directive. Raises InputError."""
        match = _FLOW_DIRECTIVE.fullmatch(comment.rstrip())
        assert match is not None  # noqa: S101 - the caller has matched it
        kind, words = (match[1] or match[3]).lower(), (match[2] or "").strip()
        match kind:
            case "transaction" | "request":
                self._begin(words, line, kind)
            case "end" if self._block is not None:
                self._refuse_weight()
                self._end()
            case "weight":
                if not _WEIGHT.fullmatch(words):
                    raise self._wrong(line, f"`{words}` is not a weight", "write a number, such as `-- weight: 20`")
                self._refuse_weight()
                self._weight = float(words), line
            case "think":
                self._pauses.append(Pause(words, line, self._noted()))
            case "set":
                self._levels |= self._read_levels(words, line)
            case "into":
                self._into = self._read_into(words, line), line

    def add(self, statement: Statement) -> None:
        """Add the next statement. Raises InputError for a weight inside of a transaction."""
        weight, pauses = 1.0, tuple(self._pauses)
        if self._block is None:
            weight = 1.0 if self._weight is None else self._weight[0]
        elif self._has_statements and self._weight is not None:
            problem = f"a weight inside of the transaction `{self._block.name}`"
            raise self._wrong(self._weight[1], problem, "write it above the transaction, or end that with `-- end`")
        elif not self._has_statements:
            self._block_weight = 1.0 if self._weight is None else self._weight[0]
        if self._block is not None:
            weight = self._block_weight
        into = self._into[0] if self._into is not None else ()
        head = () if self._statements else tuple(self._head)
        made = replace(statement, block=self._block, weight=weight, before=pauses, into=into)
        levels = {} if self._statements else self._levels
        self._statements.append(replace(made, comments=self._noted(), head=head, levels=levels))
        self._has_statements = True
        self._weight, self._pauses, self._into = None, [], None

    def _read_levels(self, words: str, line: int) -> dict[str, str]:
        """Read levels of factors. Raises InputError."""
        if self._statements:
            raise self._wrong(line, "`-- set:` applies to the whole file", "write it above the first statement")
        levels: dict[str, str] = {}
        for each in words.split(","):
            name, _, level = (part.strip() for part in each.partition("="))
            if name not in SET_FACTORS or not level:
                known = ", ".join(f"`{factor}`" for factor in SET_FACTORS)
                hint = f"write a level of {known}, such as `-- set: connect=per-transaction`"
                raise self._wrong(line, f"`{each.strip()}` is not a level", hint)
            levels[name] = level
        return levels

    def _read_into(self, words: str, line: int) -> tuple[str, ...]:
        """Read the names of parameters. Raises InputError."""
        if self._block is None:
            problem = "outside of a transaction, no later statement uses the result"
            raise self._wrong(line, problem, "write it inside of a transaction (`-- transaction: NAME`)")
        names = tuple(each.strip().removeprefix(":") for each in words.split(","))
        if not all(re.fullmatch(_NAME, each) for each in names) or len(set(names)) < len(names):
            problem = f"`{words}` is not a list of different parameters"
            raise self._wrong(line, problem, "write names, such as `-- into: id, name`")
        return names

    def finished(self) -> list[Statement]:
        """Return all statements. Raises InputError for a directive without one."""
        if self._block is not None:
            self._end()
        self._refuse_weight()
        if self._pauses:
            hint = "write it above a statement, or inside of a transaction"
            raise self._wrong(self._pauses[0].line, "no statement follows the pause", hint)
        return self._statements

    def _begin(self, name: str, line: int, kind: str) -> None:
        if not name:
            raise self._wrong(line, f"the name of the {kind} is missing", f"write one, such as `-- {kind}: checkout`")
        if name in self._names:
            problem = f"another one is named `{name}`, in line {self._names[name]}"
            raise self._wrong(line, problem, "give each a name of its own")
        if self._block is not None:
            self._end()
        self._names[name] = line
        self._block, self._has_statements = Block(name, line, kind == "request", self._noted()), False

    def _end(self) -> None:
        """End the open transaction; pauses below its last statement belong to it."""
        if self._into is not None:
            hint = "write it directly above the statement whose result it names"
            raise self._wrong(self._into[1], "no statement of the transaction follows `-- into:`", hint)
        block, self._block = self._block, None
        assert block is not None  # noqa: S101 - the callers have checked it
        if not self._has_statements:
            problem = f"the {'request' if block.is_request else 'transaction'} `{block.name}` is empty"
            raise self._wrong(block.line, problem, "write some below it, or remove it")
        self._statements[-1] = replace(self._statements[-1], after=tuple(self._pauses))
        self._pauses = []

    def _refuse_weight(self) -> None:
        """Raise InputError for a weight to which nothing belongs."""
        if self._weight is not None:
            problem = "no statement or transaction follows the weight"
            raise self._wrong(self._weight[1], problem, "write it directly above one")

    def _wrong(self, line: int, problem: str, hint: str) -> InputError:
        return InputError(f"{self._location}, line {line}", problem, hint)


def _is_directive(comment: Token) -> bool:
    forms = (_NAME_DIRECTIVE, _VALUES_DIRECTIVE, _FLOW_DIRECTIVE)
    return any(form.fullmatch(comment.text.rstrip()) for form in forms)


def _head(above: Sequence[Token]) -> Sequence[Token]:
    """Return the comments about a file: all above the last empty line before the first directive or statement."""
    first = next((at for at, each in enumerate(above) if each.kind is Kind.COMMENT and _is_directive(each)), len(above))
    empty = [at for at, each in enumerate(above[:first]) if each.kind is Kind.SPACE and each.text.count("\n") > 1]
    return [each for each in above[: empty[-1]] if each.kind is Kind.COMMENT] if empty else []


def _is_before_statement(token: Token) -> bool:
    is_line_comment = token.kind is Kind.COMMENT and not token.text.startswith("/*")
    return token.kind is Kind.SPACE or is_line_comment


def _without_last_comments(tokens: Sequence[Token]) -> list[Token]:
    """Remove comments at the end of a file that begin below the statement's last line."""
    last = max(index for index, token in enumerate(tokens) if token.kind not in (Kind.SPACE, Kind.COMMENT))
    kept = list(tokens[: last + 1])
    for token in tokens[last + 1 :]:
        if token.kind is Kind.SPACE and "\n" in token.text:
            break
        kept.append(token)
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
