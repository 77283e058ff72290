"""The journal: a trace as an application writes it. It needs only the standard library, and survives a killed process.

It is a sequence of gzip members, each of JSON lines. Several processes may append to one journal. A member begins with
an object, the header of the process. Lists follow: ``["text", number, statement]`` and, for each execution,
``[session, text, start_us, duration_ns, rows, error, bytes, values]``. A ninth element says whether a transaction was
open afterwards, if the server said so. If values are kept, a tenth element is the statement as it was sent, and an
eleventh one how it was prepared.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, reason
from dbdyno.trace.header import Header, Transactions, error_code, read_header
from dbdyno.trace.parquet import ROW_GROUP, Batch, Texts

MAGIC = b"\x1f\x8b"
SUFFIX = ".journal"
_PARQUET = b"PAR1"
_CHUNK = 1 << 16
_HINT = "record it again"


def journal_of(output: Path) -> Path:
    """Return the journal of a recording, which becomes the trace ``output`` when it ends."""
    return output.with_name(f"{output.name}{SUFFIX}")


def read_journal(path: Path) -> tuple[Header, Texts, Iterator[Batch]]:
    """Open a journal; the totals of its header are computed first. Raises InputError."""
    _check(path)
    header = Header("", "")
    sessions = set()
    first = True
    for member in _members(path):
        own = read_header(json.dumps(member[0]["header"]), str(path))
        if first:
            header.engine, header.source, header.values, first = own.engine, own.source, own.values, False
        elif (own.engine, own.values) != (header.engine, header.values):
            problem = "its processes recorded different engines, or some kept values"
            raise InputError(str(path), problem, "record each to a file of its own")
        header.dropped += own.dropped
        header.bound += own.bound
        header.inline += own.inline
        header.parsed += own.parsed
        for each in member[1:]:
            if each[0] == "text":
                continue
            header.statements += 1
            sessions.add((member[0]["process"], each[0]))
            start, end = each[2], each[2] + (each[3] or 0) // 1000
            header.begin_us = start if header.begin_us is None else min(header.begin_us, start)
            header.end_us = end if header.end_us is None else max(header.end_us, end)
    if first:
        raise InputError(str(path), "the journal is empty", _HINT)
    header.sessions = len(sessions)
    texts = Texts()
    return header, texts, _batches(path, texts)


def _batches(path: Path, texts: Texts) -> Iterator[Batch]:
    sessions: dict[tuple[str, int], int] = {}
    transactions = Transactions()
    batch = Batch()
    for member in _members(path):
        process = member[0]["process"]
        own: dict[int, int] = {}
        for each in member[1:]:
            if each[0] == "text":
                own[each[1]] = texts.number(each[2])
                continue
            session, text, start, duration, rows, error, size, values, *further = each
            number = sessions.setdefault((process, session), len(sessions))
            batch.session.append(number)
            batch.transaction.append(transactions.of(number, texts.texts[own[text]], *further[:1]))
            batch.statement.append(own[text])
            batch.start.append(start)
            batch.duration_ns.append(duration)
            batch.rows.append(rows)
            batch.error.append(error_code(error))
            batch.bytes.append(size)
            batch.count.append(1)
            batch.values.append(values)
            sent, prepared = (*further[1:], None, None)[:2]
            batch.sent.append(sent)
            batch.prepared.append(prepared)
        if len(batch) >= ROW_GROUP:
            yield batch
            batch = Batch()
    if len(batch):
        yield batch


def _check(path: Path) -> None:
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_PARQUET))
    except OSError as error:
        raise InputError(str(path), reason(error), "name a trace") from error
    if beginning == _PARQUET:
        raise InputError(str(path), "a trace in Parquet, not a journal", "use it as it is")
    if beginning and not beginning.startswith(MAGIC):
        raise InputError(str(path), "not a journal", "name a journal that a recording has left")


def _members(path: Path) -> Iterator[list[Any]]:
    """Yield the lines of each member. An incomplete last member is left out: its process was killed."""
    try:
        with path.open("rb") as file:
            unpacker, content, data = zlib.decompressobj(31), bytearray(), file.read(_CHUNK)
            while data:
                content += unpacker.decompress(data)
                data = unpacker.unused_data
                if unpacker.eof:
                    yield [json.loads(each) for each in content.splitlines()]
                    unpacker, content = zlib.decompressobj(31), bytearray()
                data = data or file.read(_CHUNK)
    except OSError as error:
        raise InputError(str(path), reason(error), "name a trace") from error
    except (zlib.error, ValueError) as error:
        raise InputError(str(path), "the journal is damaged", _HINT) from error


def packed(header: Header, process: str, lines: list[Any]) -> bytes:
    """Return a member of a journal."""
    first = {"header": json.loads(header.json()), "process": process}
    text = "\n".join(json.dumps(each, separators=(",", ":")) for each in [first, *lines])
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(text.encode()) + packer.flush()
