"""Read PostgreSQL's log: csvlog, jsonlog, or stderr with a known `log_line_prefix`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from dbdyno.base.errors import InputError
from dbdyno.engines.statement_log import Logged, StatementLog, first_lines, read_time, without_line_ends

FORMS = ("csvlog", "jsonlog", "stderr")
PREFIX = "%m [%p] "

_RESOLUTION_US = 1000
_COLUMNS = (
    "timestamp", "user", "dbname", "pid", "remote", "session_id", "line_num", "ps", "session_start", "vxid", "txid",
    "error_severity", "state_code", "message", "detail", "hint", "internal_query", "internal_position", "context",
    "statement",
)  # fmt: skip
_MIN_COLUMNS = 23
_PREFIX_LINES = 200
_MAX_FIELD_LENGTH = 1 << 27

_DURATION = re.compile(r"duration: (\d+(?:\.\d+)?) ms(?:  (.*))?", re.DOTALL)
_STATEMENT = re.compile(r"(statement|parse|bind|execute|execute fetch from)(?: ([^:]*))?: (.*)", re.DOTALL)
_UNNAMED = "<unnamed>"
_PARAMETER = re.compile(r"\$(\d+) = (?:'((?:[^']|'')*)'|(NULL))(?:, |$)")
_PARAMETERS = re.compile(r"parameters: ", re.IGNORECASE)
_LINE = re.compile(
    r"(LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|DETAIL|HINT|QUERY|CONTEXT|STATEMENT|LOCATION):  "
)
_FAILED = frozenset(("ERROR", "FATAL", "PANIC"))

_WHERE = "set `log_min_duration_statement = 0`, and `log_destination` to csvlog, jsonlog or stderr"

# What each escape of `log_line_prefix` is in a log.
_ESCAPES: Mapping[str, str] = {
    "a": r".*?", "u": r".*?", "d": r".*?", "r": r".*?", "h": r".*?", "b": r".*?", "P": r"\d*", "i": r".*?",
    "t": r"(?P<timestamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+)",
    "m": r"(?P<timestamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \S+)",
    "n": r"(?P<epoch>\d+\.\d+)", "p": r"(?P<pid>\d+)", "c": r"(?P<session_id>[0-9a-f]+\.[0-9a-f]+)", "l": r"\d+",
    "s": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+", "v": r"\S*", "x": r"\d+", "e": r"(?P<state_code>[0-9A-Z]{5})",
    "Q": r"-?\d+", "L": r".*?",
}  # fmt: skip


@dataclass(frozen=True)
class _Record:
    """A message of the log."""

    session: str
    at_us: int | None
    severity: str
    message: str
    detail: str
    statement: str
    code: str


def read_log(file: TextIO, location: str, form: str | None, prefix: str | None) -> StatementLog:
    """Read a log. ``form``: one of :data:`FORMS`, recognized if None. Raises InputError."""
    form = form or _form(file, location)
    if prefix is not None and form != "stderr":
        raise InputError("--log-line-prefix", f"a {form} has no prefix", "leave it out")
    if form == "stderr":
        pattern = _checked_pattern(file, location, PREFIX if prefix is None else prefix)
    readers: Mapping[str, Callable[[], Iterator[_Record]]] = {
        "csvlog": lambda: _csv_records(file, location),
        "jsonlog": lambda: _json_records(file, location),
        "stderr": lambda: _line_records(file, pattern),
    }
    if form not in readers:
        raise InputError("--log-format", f"PostgreSQL has no log of the form `{form}`", f"give {', '.join(FORMS)}")
    return StatementLog(f"PostgreSQL {form}", _RESOLUTION_US, _entries(readers[form]()))


def _form(file: TextIO, location: str) -> str:
    lines = first_lines(file, 1)
    if not lines:
        raise InputError(location, "the log is empty", _WHERE)
    if lines[0].startswith("{"):
        return "jsonlog"
    is_csv = re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [^,\s]+,", lines[0]) is not None
    return "csvlog" if is_csv else "stderr"


def _csv_records(file: TextIO, location: str) -> Iterator[_Record]:
    csv.field_size_limit(_MAX_FIELD_LENGTH)
    reader = csv.reader(file)
    try:
        for row in reader:
            if len(row) < _MIN_COLUMNS:
                # The last line of a log that is still being written.
                if next(reader, None) is None:
                    return
                problem = f"{len(row)} columns; a csvlog has at least {_MIN_COLUMNS}"
                raise InputError(f"{location}, line {reader.line_num}", problem, "give `--log-format`")
            yield _of_fields(dict(zip(_COLUMNS, row, strict=False)))
    except csv.Error as error:
        raise InputError(
            f"{location}, line {reader.line_num}", f"not a csvlog: {error}", "give `--log-format`"
        ) from None


def _json_records(file: TextIO, location: str) -> Iterator[_Record]:
    for number, line in enumerate(file, 1):
        try:
            fields = json.loads(line)
        except ValueError:
            if not line.endswith("\n"):
                return
            raise InputError(f"{location}, line {number}", "not JSON", "give `--log-format`") from None
        yield _of_fields({name: str(value) for name, value in fields.items()})


def _of_fields(fields: Mapping[str, str]) -> _Record:
    return _Record(
        fields.get("session_id") or fields.get("pid", ""),
        read_time(fields.get("timestamp", "")),
        fields.get("error_severity", ""),
        fields.get("message", ""),
        fields.get("detail", ""),
        fields.get("statement", ""),
        fields.get("state_code", ""),
    )


def _checked_pattern(file: TextIO, location: str, prefix: str) -> re.Pattern[str]:
    """Return a pattern for the beginning of a line. Raises InputError if no line begins so."""
    pattern = _prefix_pattern(prefix)
    if not any(pattern.match(line) for line in first_lines(file, _PREFIX_LINES)):
        problem = f"no line begins with the prefix `{prefix}`"
        raise InputError(location, problem, "give the server's setting: `--log-line-prefix '%m [%p] '`")
    return pattern


def _line_records(file: TextIO, pattern: re.Pattern[str]) -> Iterator[_Record]:
    current: _Record | None = None
    part = "message"
    for line in without_line_ends(file):
        match = pattern.match(line)
        if match is None:
            if current is not None and part != "other":
                text = line.removeprefix("\t")
                current = _with(current, part, f"{getattr(current, part)}\n{text}")
            continue
        kind, text = match["kind"], line[match.end() :]
        part = {"DETAIL": "detail", "STATEMENT": "statement"}.get(kind, "other")
        session = _group(match, "session_id") or _group(match, "pid")
        if kind in ("DETAIL", "STATEMENT", "HINT", "QUERY", "CONTEXT", "LOCATION"):
            if current is not None and part != "other" and current.session == session:
                current = _with(current, part, text)
            continue
        if current is not None:
            yield current
        part = "message"
        epoch = _group(match, "epoch")
        at = round(float(epoch) * 1e6) if epoch else read_time(_group(match, "timestamp"))
        current = _Record(session, at, kind, text, "", "", _group(match, "state_code"))
    if current is not None:
        yield current


def _with(record: _Record, part: str, text: str) -> _Record:
    if part == "detail":
        return replace(record, detail=text)
    return replace(record, message=text) if part == "message" else replace(record, statement=text)


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def _prefix_pattern(prefix: str) -> re.Pattern[str]:
    """Return a pattern for the beginning of a line. Raises InputError."""
    made, optional = "", 0
    for match in re.finditer(r"%(-?\d*)(.)|([^%]+|%)", prefix):
        escape = match[2]
        if escape is None:
            made += re.escape(match[3])
        elif escape == "q":
            made, optional = made + "(?:", optional + 1
        elif escape == "%":
            made += "%"
        elif escape in _ESCAPES:
            pattern = _ESCAPES[escape]
            named = re.match(r"\(\?P<(\w+)>", pattern)
            if named is not None and f"(?P<{named[1]}>" in made:
                pattern = pattern.replace(f"?P<{named[1]}>", "?:")
            made += f" *{pattern} *" if match[1] else pattern
        else:
            raise InputError("--log-line-prefix", f"`%{escape}` is unknown", "give the setting `log_line_prefix`")
    if "(?P<pid>" not in made and "(?P<session_id>" not in made:
        raise InputError("--log-line-prefix", "it doesn't name the session", "use a log whose prefix has `%c` or `%p`")
    return re.compile(made + ")?" * optional + _LINE.pattern.replace("(", "(?P<kind>", 1))


def _entries(records: Iterator[_Record]) -> Iterator[Logged]:
    """Combine the messages about one statement."""
    waiting: dict[str, Logged] = {}
    # Parsing and binding are part of the execution that follows.
    before_ns: dict[str, int] = {}
    for record in records:
        session = record.session
        if record.severity in _FAILED:
            known = waiting.pop(session, None)
            if known is not None or record.statement:
                made = known or Logged(session, record.statement, record.at_us)
                made.error = record.code or record.severity.lower()
                if record.at_us is not None and made.start_us is not None and known is not None:
                    made.duration_ns = max(record.at_us - made.start_us, 0) * 1000
                before_ns.pop(session, None)
                yield made
            continue
        timed = _DURATION.fullmatch(record.message)
        words = record.message if timed is None else timed[2] or ""
        match = _STATEMENT.fullmatch(words)
        duration = None if timed is None else round(float(timed[1]) * 1e6)
        if match is None:
            if duration is not None and not words and session in waiting:
                yield _timed(waiting.pop(session), record.at_us, duration)
            continue
        if match[1] in ("parse", "bind"):
            before_ns[session] = before_ns.get(session, 0) + (duration or 0)
            continue
        once = None if match[2] is None else not match[2].startswith(_UNNAMED)
        entry = Logged(session, match[3], record.at_us, parameters=_parameters(record.detail), once=once)
        if duration is not None:
            waiting.pop(session, None)
            yield _timed(entry, record.at_us, duration + before_ns.pop(session, 0))
            continue
        if session in waiting:
            yield waiting.pop(session)
        waiting[session] = entry
    yield from waiting.values()


def _timed(entry: Logged, end_us: int | None, duration_ns: int) -> Logged:
    entry.duration_ns = duration_ns
    entry.start_us = None if end_us is None else end_us - duration_ns // 1000
    return entry


def _parameters(detail: str) -> Sequence[str | None] | None:
    begin = _PARAMETERS.match(detail)
    if begin is None:
        return None
    found = {int(match[1]): None if match[3] else match[2].replace("''", "'") for match in _PARAMETER.finditer(detail)}
    return [found.get(number) for number in range(1, max(found, default=0) + 1)]
