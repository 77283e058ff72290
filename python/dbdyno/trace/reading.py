"""Open a trace in either of its forms: Parquet, or the journal of an application."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import InputError, reason
from dbdyno.trace.header import Header
from dbdyno.trace.journal import MAGIC, journal_of, read_journal
from dbdyno.trace.parquet import Batch, Texts, read_parquet


@dataclass(frozen=True)
class Trace:
    """An open trace. Its statements can be read once, in bounded memory."""

    path: Path
    header: Header
    statements: Texts
    batches: Iterator[Batch]

    @property
    def texts(self) -> Sequence[str]:
        """The distinct statements that were read so far, by number."""
        return self.statements.texts


def open_trace(path: Path) -> Trace:
    """Open a trace. Raises InputError, ExtraMissing if it is in Parquet and that can't be read."""
    try:
        with path.open("rb") as file:
            beginning = file.read(4)
    except OSError as error:
        hint = "record one with `dbdyno capture`"
        journal = journal_of(path)
        if journal.exists():
            hint = f"if its recording was killed, run `dbdyno trace convert {journal} -o {path}`"
        raise InputError(str(path), f"cannot read the trace: {reason(error)}", hint) from error
    opened = read_journal(path) if beginning.startswith(MAGIC) else read_parquet(path)
    return Trace(path, *opened)
