"""Read the general log and the slow query log of MySQL and MariaDB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TextIO

from dbdyno.base.errors import InputError
from dbdyno.engines.statement_log import Logged, StatementLog, first_lines, read_time, without_line_ends

FORMS = ("general", "slow")

_SECOND_US = 1_000_000
_FIRST_LINES = 500
_HINT = "name the file of `general_log_file`, or of `slow_query_log_file`"

_GENERAL = re.compile(
    r"(?:(?P<new>\d{4}-\d\d-\d\dT\S+)|(?P<old>\d{6} [ \d]\d:\d\d:\d\d)|\t)"
    r"\t *(?P<id>\d+) (?P<verb>[A-Z][a-zA-Z ]*?)(?:\t(?P<text>.*)|\s*)$"
)
_EXECUTIONS = frozenset(("Query", "Execute"))
_OLD_TIME = re.compile(r"(\d\d)(\d\d)(\d\d) +(\d{1,2}):(\d\d):(\d\d)")

_TIME = re.compile(r"# Time: (.*)")
_SESSION = re.compile(r"(?:\bId:|# Thread_id:) *(\d+)")
_FIELD = re.compile(r"(\w+): (\S+)")
_SET_TIMESTAMP = re.compile(r"SET timestamp=(\d+)(?:\.(\d+))?;", re.IGNORECASE)
_USE = re.compile(r"use [^;]*;", re.IGNORECASE)


def read_log(file: TextIO, location: str, form: str | None) -> StatementLog:
    """Read a log. ``form``: one of :data:`FORMS`, recognized if None. Raises InputError."""
    lines = first_lines(file, _FIRST_LINES)
    form = form or _form(lines, location)
    if form not in FORMS:
        raise InputError("--log-format", f"MySQL has no log of the form `{form}`", f"give {' or '.join(FORMS)}")
    is_precise = any(re.match(r"(?:# Time: )?\d{4}-\d\d-\d\dT", line) for line in lines)
    entries = (_general if form == "general" else _slow)(without_line_ends(file))
    return StatementLog(f"MySQL {form} log", 1 if is_precise else _SECOND_US, entries)


def _form(lines: list[str], location: str) -> str:
    for line in lines:
        if line.startswith(("# Query_time:", "# User@Host:")):
            return "slow"
        if _GENERAL.match(line.rstrip("\r\n")):
            return "general"
    raise InputError(location, "not a MySQL or MariaDB log", _HINT)


def _general(lines: Iterator[str]) -> Iterator[Logged]:
    entry: Logged | None = None
    at: int | None = None
    for line in lines:
        match = _GENERAL.match(line)
        if match is None:
            if entry is not None:
                entry.text += f"\n{line}"
            continue
        if entry is not None:
            yield entry
        at = read_time(match["new"]) if match["new"] else _old_time(match["old"]) if match["old"] else at
        is_execution = match["verb"] in _EXECUTIONS and match["text"]
        entry = Logged(match["id"], match["text"], at) if is_execution else None
    if entry is not None:
        yield entry


def _old_time(text: str) -> int | None:
    match = _OLD_TIME.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = match.groups()
    return read_time(f"20{year}-{month}-{day} {hour:0>2}:{minute}:{second}")


def _slow(lines: Iterator[str]) -> Iterator[Logged]:
    end: int | None = None
    session, fields, text = "", dict[str, str](), list[str]()
    stamp: int | None = None
    for line in chain(lines, ["# User@Host: end"]):
        if not line.startswith("#"):
            stamped = _SET_TIMESTAMP.match(line)
            if stamped is not None and not text:
                stamp = int(stamped[1]) * _SECOND_US + int((stamped[2] or "0").ljust(6, "0")[:6])
            elif "Query_time" in fields and (text or not _USE.fullmatch(line)):
                text.append(line)
            continue
        if text:
            yield _slow_entry(session, fields, "\n".join(text), end, stamp)
            fields, text, stamp = {}, [], None
        timed = _TIME.match(line)
        if timed is not None:
            end = read_time(timed[1]) or _old_time(timed[1])
            continue
        named = _SESSION.search(line)
        session = named[1] if named is not None else session
        if not line.startswith(("# User@Host:", "# administrator command:")):
            fields.update(_FIELD.findall(line))


def _slow_entry(session: str, fields: dict[str, str], text: str, end: int | None, stamp: int | None) -> Logged:
    duration_us = round(float(fields["Query_time"]) * _SECOND_US)
    is_precise = end is not None and end % _SECOND_US != 0
    start = end - duration_us if end is not None and is_precise else stamp if stamp is not None else end
    rows = int(fields.get("Rows_sent", 0)) or int(fields.get("Rows_affected", 0))
    size = fields.get("Bytes_sent", "")
    code = fields.get("Errno", fields.get("Last_errno", "0"))
    return Logged(
        session,
        text.rstrip().removesuffix(";"),
        start,
        duration_us * 1000,
        rows,
        error=code if code != "0" else None,
        size=int(size) if size.isdigit() else None,
    )
