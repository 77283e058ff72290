"""Write a journal. The recorder's thread imports this when it first writes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno.engines.lookup import engine_named
from dbdyno.trace.bound_values import bound_values
from dbdyno.trace.fingerprint import UNREADABLE, Fingerprints
from dbdyno.trace.header import Failures, Header
from dbdyno.trace.journal import packed
from dbdyno.trace.recorded import Recorded
from dbdyno.trace.sent import SentStatements
from dbdyno.trace.values import Values, trace_key


class JournalWriter:
    """Appends the statements of a process to a journal, as fingerprints with written values."""

    def __init__(
        self, path: Path, engine: str, *, keep: bool, source: str = "the application", trace: Path | None = None
    ) -> None:
        """``source``: what it is recorded from. ``trace``: the trace that the journal becomes, whose key it uses."""
        name = engine_named(engine) or engine
        self._values = Values(None if keep else trace_key(trace or path))
        self._fingerprints = Fingerprints(name)
        self._sent = SentStatements(name) if keep else None
        self._header = Header(name, source, self._values.kept)
        self._path = path
        self._failures = Failures()

    def write(self, batch: Sequence[Recorded], dropped: int, process: str) -> None:
        """Append a member. Raises OSError, also if only a part of it was written."""
        lines: list[Any] = []
        numbers: dict[str, int] = {}
        self._header.bound = self._header.inline = self._header.parsed = 0
        for each in batch:
            made = UNREADABLE if each.text is None else self._fingerprints.of(each.text)
            text = self._failures.text(made.text, each.error)
            if text not in numbers:
                numbers[text] = len(numbers)
                lines.append(["text", numbers[text], text])
            values = bound_values(made, self._values, each.parameters)
            if each.parameters and each.once is not None:
                self._header.bound += 1
                self._header.parsed += not each.once
            elif values:
                self._header.inline += 1
            times = each.start_ns // 1000, each.duration_ns
            line = [each.session, numbers[text], *times, each.rows, each.error, each.size, values]
            if self._sent is not None:
                lines.append([*line, each.open, *self._sent.of(made, each)])
            else:
                lines.append(line if each.open is None else [*line, each.open])
        self._header.dropped = dropped
        content = packed(self._header, process, lines)
        # One write() appends the member as a whole, whichever other processes append to the journal, too.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if os.write(descriptor, content) < len(content):
                os.truncate(self._path, size)
                raise OSError("no space left")
        finally:
            os.close(descriptor)
