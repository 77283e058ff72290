"""Traces as Parquet files: written and read in row groups, so that memory is bounded."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from dbdyno.base.errors import ExtraMissing, InputError, reason
from dbdyno.trace.header import KEY, Failures, Header, Transactions, error_code, read_header
from dbdyno.trace.sent import Sent

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 65_536
_MOST_STATEMENTS = 50_000
OTHER = "(other)"

COLUMNS = (
    "session", "transaction", "statement", "start", "duration_ns", "rows", "error", "bytes", "count", "values", "sent",
    "prepared",
)  # fmt: skip


@dataclass
class Batch:
    """Statements of a trace, a list for each column.

    ``statement``: indexes of :attr:`Texts.texts`. ``start``: microseconds since 1970. ``duration_ns``, ``rows`` and
    ``bytes`` are totals of ``count`` executions. ``values``: as :class:`dbdyno.trace.values.Values` writes them.
    ``sent``, ``prepared``: the statement as it was sent, and how it was prepared, if values are kept.
    """

    session: list[int] = field(default_factory=list)
    transaction: list[int | None] = field(default_factory=list)
    statement: list[int] = field(default_factory=list)
    start: list[int | None] = field(default_factory=list)
    duration_ns: list[int | None] = field(default_factory=list)
    rows: list[int | None] = field(default_factory=list)
    error: list[str | None] = field(default_factory=list)
    bytes: list[int | None] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    values: list[Sequence[str]] = field(default_factory=list)
    sent: list[str | None] = field(default_factory=list)
    prepared: list[str | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.session)


class Execution(NamedTuple):
    """An execution of a statement, or several as totals; the fields are those of :class:`Batch`.

    ``error``: its code or class; ``size``: bytes.
    """

    start_us: int | None = None
    duration_ns: int | None = None
    rows: int | None = None
    error: str | None = None
    size: int | None = None
    values: Sequence[str] = ()
    executions: int = 1
    sent: Sent = Sent()


class Texts:
    """The distinct statements of a trace, by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a statement."""
        known = self._numbers.get(text)
        if known is not None:
            return known
        if len(self.texts) >= _MOST_STATEMENTS and text != OTHER:
            return self.number(OTHER)
        self._numbers[text] = len(self.texts)
        self.texts.append(text)
        return self._numbers[text]


def arrow() -> Any:
    """Import Arrow with Parquet. Raises ExtraMissing."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ExtraMissing("pyarrow", "parquet") from None
    return pyarrow


def schema() -> pa.Schema:
    """Return the columns of a trace."""
    pa = arrow()
    return pa.schema(
        [
            pa.field("session", pa.int32(), nullable=False),
            pa.field("transaction", pa.int64()),
            pa.field("statement", pa.string(), nullable=False),
            pa.field("start", pa.timestamp("us", "UTC")),
            pa.field("duration_ns", pa.int64()),
            pa.field("rows", pa.int64()),
            pa.field("error", pa.string()),
            pa.field("bytes", pa.int64()),
            pa.field("count", pa.int64(), nullable=False),
            pa.field("values", pa.list_(pa.string())),
            pa.field("sent", pa.string()),
            pa.field("prepared", pa.string()),
        ]
    )


class TraceWriter:
    """Writes a trace. The file appears under its name when it is complete. Raises InputError, ExtraMissing."""

    def __init__(self, path: Path, header: Header) -> None:
        self.header = header
        self._path = path
        self._partial = path.with_name(f".{path.name}.{os.getpid()}")
        self._batch = Batch()
        self._texts = Texts()
        self._sessions: dict[Any, int] = {}
        self._transactions = Transactions()
        self._failures = Failures()
        pa = arrow()
        from pyarrow import parquet

        try:
            if header.values == "kept":
                # Only the owner may read the values.
                os.close(os.open(self._partial, os.O_WRONLY | os.O_CREAT, 0o600))
            self._file = parquet.ParquetWriter(
                str(self._partial),
                schema(),
                compression="zstd",
                use_dictionary=["statement", "error", "values.list.element"],
            )
        except OSError as error:
            with contextlib.suppress(OSError):
                self._partial.unlink(missing_ok=True)
            raise InputError(str(path), reason(error), "give a file in an existing, writable directory") from error
        self._pa = pa

    def add(self, session: Any, statement: str, execution: Execution) -> None:
        """Add an execution of a statement, in the order of its session. ``session``: any key."""
        batch, header = self._batch, self.header
        statement = self._failures.text(statement, execution.error)
        number = self._sessions.setdefault(session, len(self._sessions))
        start_us, duration_ns = execution.start_us, execution.duration_ns
        batch.session.append(number)
        batch.transaction.append(self._transactions.of(number, statement) if header.ordered else None)
        batch.statement.append(self._texts.number(statement))
        batch.start.append(start_us)
        batch.duration_ns.append(duration_ns)
        batch.rows.append(execution.rows)
        batch.error.append(error_code(execution.error))
        batch.bytes.append(execution.size)
        batch.count.append(execution.executions)
        batch.values.append(execution.values)
        batch.sent.append(execution.sent.text)
        batch.prepared.append(execution.sent.prepared)
        header.statements += execution.executions
        if start_us is not None:
            end = start_us + (duration_ns or 0) // 1000
            header.begin_us = start_us if header.begin_us is None else min(header.begin_us, start_us)
            header.end_us = end if header.end_us is None else max(header.end_us, end)
        if len(batch) >= ROW_GROUP:
            self._flush()

    def add_batch(self, batch: Batch, texts: Texts) -> None:
        """Add statements of another trace, whose header has their totals."""
        self._batch, self._texts = batch, texts
        self._flush()

    def _flush(self) -> None:
        batch, pa = self._batch, self._pa
        if not len(batch):
            return
        texts = self._texts.texts
        columns = [
            [texts[each] for each in batch.statement] if name == "statement" else getattr(batch, name)
            for name in COLUMNS
        ]
        arrays = [pa.array(values, type=each.type) for values, each in zip(columns, schema(), strict=True)]
        try:
            self._file.write_batch(pa.record_batch(arrays, schema=schema()), row_group_size=ROW_GROUP)
        except OSError as error:
            raise InputError(str(self._path), reason(error), "free some space, or give another file") from error
        self._batch = Batch()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
                self.header.sessions = max(self.header.sessions, len(self._sessions))
                self._file.add_key_value_metadata({KEY: self.header.json()})
                self._file.close()
                self._partial.replace(self._path)
        except OSError as problem:
            raise InputError(str(self._path), reason(problem), "free some space, or give another file") from problem
        finally:
            with contextlib.suppress(OSError, self._pa.ArrowException):
                self._file.close()
            self._partial.unlink(missing_ok=True)


def read_parquet(path: Path) -> tuple[Header, Texts, Iterator[Batch]]:
    """Open a trace in Parquet. Raises InputError, ExtraMissing."""
    pa = arrow()
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(str(path), read_dictionary=["statement", "error"])
    except OSError as error:
        raise InputError(str(path), reason(error), "name a trace") from error
    except pa.ArrowInvalid:
        raise InputError(str(path), "not a trace", "record one with `dbdyno capture`") from None
    except KeyError:
        raise InputError(str(path), "a Parquet file, but not a trace", "record one with `dbdyno capture`") from None
    found = (file.schema_arrow.metadata or {}).get(KEY.encode()) or (file.metadata.metadata or {}).get(KEY.encode())
    if found is None:
        raise InputError(str(path), "a Parquet file, but not a trace", "record one with `dbdyno capture`")
    header = read_header(found, str(path))
    texts = Texts()
    return header, texts, _batches(file, texts, str(path))


def _batches(file: Any, texts: Texts, place: str) -> Iterator[Batch]:
    pa = arrow()
    try:
        for each in file.iter_batches(batch_size=ROW_GROUP, columns=list(COLUMNS), use_threads=False):
            yield _batch(pa, each, texts)
    except (pa.ArrowException, OSError) as error:
        raise InputError(place, "the trace is damaged", "record it again") from error


def _batch(pa: Any, made: Any, texts: Texts) -> Batch:
    numbers = [texts.number(text) for text in made.column("statement").dictionary.to_pylist()]
    statements = made.column("statement").indices.to_pylist()
    lists = made.column("values")
    if len(lists.values) == 0:
        values: list[Sequence[str]] = [()] * len(made)
    else:
        ends = lists.offsets.to_pylist()
        flat = lists.values.to_pylist()
        values = [flat[begin:end] for begin, end in pairwise(ends)]
    return Batch(
        session=made.column("session").to_pylist(),
        transaction=made.column("transaction").to_pylist(),
        statement=[numbers[each] for each in statements],
        start=made.column("start").cast(pa.int64()).to_pylist(),
        duration_ns=made.column("duration_ns").to_pylist(),
        rows=made.column("rows").to_pylist(),
        error=made.column("error").to_pylist(),
        bytes=made.column("bytes").to_pylist(),
        count=made.column("count").to_pylist(),
        values=values,
        sent=_optional(made, "sent"),
        prepared=_optional(made, "prepared"),
    )


def _optional(made: Any, name: str) -> list[str | None]:
    """Return a column that older traces don't have."""
    found: list[str | None] = made.column(name).to_pylist() if name in made.schema.names else [None] * len(made)
    return found
