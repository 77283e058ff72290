"""What engines read from their own logs of statements, and from their statistics of statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TextIO

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\s*(?:(Z)|([+-])(\d\d):?(\d\d)?|[A-Za-z]\w*)?"
)


@dataclass
class Logged:
    """A statement from a log.

    ``session``: distinguishes sessions; ``start_us``: microseconds since 1970, and ``duration_ns``: null if the log
    doesn't contain them; ``error``: the code; ``parameters``: by number from 1, as text, ``None`` for null. ``once``:
    true if it was parsed once for several executions, false if for this one, ``None`` if it was sent as text.
    """

    session: str
    text: str
    start_us: int | None = None
    duration_ns: int | None = None
    rows: int | None = None
    error: str | None = None
    size: int | None = None
    parameters: Sequence[str | None] | None = None
    once: bool | None = None


@dataclass(frozen=True)
class StatementLog:
    """An open log. ``form``: its name; ``resolution_us``: of its times; ``entries``: can be read once."""

    form: str
    resolution_us: int
    entries: Iterator[Logged]


def read_time(text: str) -> int | None:
    """Return a time of a log in microseconds since 1970; a zone's name is taken for UTC. ``None``: it isn't a time."""
    match = _TIME.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    micro = int((match[7] or "0").ljust(6, "0"))
    zone: timezone = UTC
    if match[9]:
        offset = timedelta(hours=int(match[10]), minutes=int(match[11] or 0))
        zone = timezone(offset if match[9] == "+" else -offset)
    try:
        at = datetime(year, month, day, hour, minute, second, micro, zone)
    except ValueError:
        return None
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def first_lines(file: TextIO, most: int) -> list[str]:
    """Return the first lines of a file, which is then read from its beginning again."""
    found = [line for _, line in zip(range(most), file, strict=False)]
    file.seek(0)
    return found


def without_line_ends(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without their ends."""
    for line in lines:
        yield line.rstrip("\r\n")
