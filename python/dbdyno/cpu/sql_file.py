"""A plain file of SQL statements, run in order and once, as the worker's task."""

import re
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from dbdyno.base.errors import InputError, reason


class SqlStatement(NamedTuple):
    """One statement, and the line it begins on."""

    line: int
    text: str


def read_statements(path: Path) -> list[SqlStatement]:
    """Read a file's statements. Raises InputError where it cannot be read, or holds what is no SQL."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(str(path), f"it cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    return split_statements(text, str(path))


def split_statements(text: str, place: str) -> list[SqlStatement]:
    """Split a text into its statements, each with the semicolon that ends it. Raises InputError.

    Where one ends is SQLite's own ``sqlite3_complete``, which knows of strings, comments and triggers.
    """
    statements = []
    begin = end = 0
    while end < len(text):
        end = (text.find(";", end) + 1) or len(text)
        piece = text[begin:end]
        if end < len(text) and not sqlite3.complete_statement(piece):
            continue
        bare = _without_comments(piece)
        line = text.count("\n", 0, begin + len(piece) - len(bare)) + 1
        begin = end
        if not bare.strip("; \t\r\n"):
            continue
        if bare.startswith("."):
            problem = f"`{bare.split()[0]}` is a command of SQLite's shell, and no SQL"
            raise InputError(f"{place}: line {line}", problem, "leave only SQL statements in the file")
        statements.append(SqlStatement(line, bare.rstrip()))
    if not statements:
        raise InputError(place, "there is no statement in it", "write SQL statements that end with `;`")
    return statements


def _without_comments(text: str) -> str:
    """Take off the space and the comments that a statement begins with."""
    return re.sub(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*", "", text, flags=re.DOTALL)


def kind_of(sql: str) -> str:
    """Give the kind of a statement: its first word in lower case, or `with` with the word that it leads to."""
    words = re.findall(r"[a-z]+", _without_comments(sql).lower())
    if not words:
        return "other"
    if words[0] == "with":
        return next((f"with … {word}" for word in words if word in ("insert", "update", "delete")), "with … select")
    return str(words[0])


def sql_task(statements: list[SqlStatement]) -> dict[str, Any]:
    """Give the statements as a trial's task without its target: one transaction that runs each of them once."""
    return {
        "kind": "trial",
        "clients": 1,
        "warmup": {"transactions": 0},
        "window": {"transactions": 1},
        "connect": "once",
        # Each is parsed when its turn comes, as the tables it names may be made by those before it.
        "prepare": "never",
        "statements": [{"name": f"line {each.line}", "sql": each.text} for each in statements],
        "transactions": [
            {"name": "file", "steps": [{"do": "execute", "statement": index} for index in range(len(statements))]}
        ],
    }
