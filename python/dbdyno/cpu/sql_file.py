"""Reads a file of SQL statements and converts it to a task that runs them once in order."""

import re
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from dbdyno.base.errors import InputError, reason


class SqlStatement(NamedTuple):
    """A statement and its first line."""

    line: int
    text: str


def read_statements(path: Path) -> list[SqlStatement]:
    """Read the statements of a file. Raises InputError if it cannot be read or isn't SQL."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    return split_statements(text, str(path))


def split_statements(text: str, location: str) -> list[SqlStatement]:
    """Split a text into statements, including their semicolons. Raises InputError.

    Uses SQLite's ``sqlite3_complete``, which handles strings, comments and triggers.
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
            problem = f"`{bare.split()[0]}` is a SQLite shell command, not SQL"
            raise InputError(f"{location}: line {line}", problem, "keep only SQL statements in the file")
        statements.append(SqlStatement(line, bare.rstrip()))
    if not statements:
        raise InputError(location, "the file contains no statements", "write SQL statements that end with `;`")
    return statements


def _without_comments(text: str) -> str:
    """Remove leading whitespace and comments."""
    return re.sub(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*", "", text, flags=re.DOTALL)


def kind_of(sql: str) -> str:
    """Return the kind of a statement: its first word in lower case; for `with`, also the main verb."""
    words = re.findall(r"[a-z]+", _without_comments(sql).lower())
    if not words:
        return "other"
    if words[0] == "with":
        return next((f"with … {word}" for word in words if word in ("insert", "update", "delete")), "with … select")
    return str(words[0])


def sql_task(statements: list[SqlStatement]) -> dict[str, Any]:
    """Return a trial's task without target: one transaction that runs each statement once."""
    return {
        "kind": "trial",
        "clients": 1,
        "warmup": {"transactions": 0},
        "window": {"transactions": 1},
        "connect": "once",
        # Parse each statement just before it runs, because earlier statements may create its tables.
        "prepare": "never",
        "statements": [{"name": f"line {statement.line}", "sql": statement.text} for statement in statements],
        "transactions": [
            {"name": "file", "steps": [{"do": "execute", "statement": index} for index in range(len(statements))]}
        ],
    }
