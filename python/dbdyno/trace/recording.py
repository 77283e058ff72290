"""The statements of a trace in the order of their starts, to replay them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdyno.base.errors import InputError
from dbdyno.trace.header import Header
from dbdyno.trace.reading import open_trace

ENDS_UNIT, ENDS_SESSION = 1, 2

_READS = frozenset(
    ("abort", "begin", "close", "commit", "declare", "desc", "describe", "end", "explain", "fetch", "move", "release",
     "rollback", "savepoint", "select", "set", "show", "start", "table", "use", "values", "with")
)  # fmt: skip
_CHANGES = re.compile(r"\b(?:delete|insert|merge|update)\b", re.IGNORECASE)

# Smaller segments contain too few executions of each statement.
_SMALLEST_SEGMENT = 20


@dataclass(frozen=True)
class Executions:
    """Executions in the order of the recording. ``seconds``: NaN if unknown; ``rows``: -1 if unknown.

    ``error``: 0 if it succeeded, otherwise the number of the code.
    """

    seconds: NDArray[np.float32]
    rows: NDArray[np.int32]
    error: NDArray[np.int16]


class ErrorCodes:
    """The codes of errors, by number."""

    def __init__(self) -> None:
        self.codes: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def number(self, code: str | None) -> int:
        """Return the number of a code; 0 for success."""
        number = self._numbers.get(code)
        if number is None:
            number = self._numbers[code] = len(self.codes)
            self.codes.append(code)
        return number


@dataclass(frozen=True)
class Recording:
    """A trace's statements that can be replayed, in the order of their starts. Times are microseconds since the first.

    A unit is a transaction, or a statement outside of one. ``unit_end_us``: of a unit's first statement, otherwise -1.
    ``flags``: :data:`ENDS_UNIT`, :data:`ENDS_SESSION`. ``left_out``: statements that the trace doesn't have, by
    fingerprint. ``row``: the statement's number in the trace. ``statement``: a number in ``texts``.
    """

    path: Path
    header: Header
    texts: Sequence[str]
    codes: ErrorCodes
    row: NDArray[np.int64]
    session: NDArray[np.int32]
    start_us: NDArray[np.int64]
    unit_end_us: NDArray[np.int64]
    flags: NDArray[np.int8]
    statement: NDArray[np.int32]
    recorded: Executions
    left_out: Counter[str]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        return len(np.unique(self.session))

    @property
    def most_sessions(self) -> int:
        """The most sessions at the same time. A session lasts from its first to its last statement."""
        steps = np.zeros(len(self) + 1, dtype=np.int64)
        steps[np.unique(self.session, return_index=True)[1]] += 1
        steps[np.flatnonzero(self.flags & ENDS_SESSION) + 1] -= 1
        return int(np.cumsum(steps).max())

    @property
    def seconds(self) -> float:
        """The time between the first and the last start."""
        return float(self.start_us[-1]) / 1e6

    @property
    def writing(self) -> str | None:
        """The first statement that may write; ``None``: all statements are known to read."""
        for number in np.unique(self.statement):
            text = self.texts[int(number)]
            if may_write(text):
                return text
        return None

    def segments(self, most: int) -> list[tuple[int, int]]:
        """Divide it into at most ``most`` parts of about equal size. Few transactions are open at their ends.

        Return the first statement of each part, and the end of the part, exclusive.
        """
        count = max(1, min(most, len(self) // _SMALLEST_SEGMENT))
        begins = (self.unit_end_us >= 0).astype(np.int64)
        ends = ((self.flags & ENDS_UNIT) != 0).astype(np.int64)
        # The units that are open before each statement.
        is_open = np.cumsum(begins - ends) - (begins - ends)
        reach = len(self) // count // 4
        cuts = [0]
        for number in range(1, count):
            ideal = number * len(self) // count
            low = max(cuts[-1] + 1, ideal - reach)
            near = is_open[low : ideal + reach + 1]
            fewest = np.flatnonzero(near == near.min()) + low
            cuts.append(int(fewest[np.argmin(np.abs(fewest - ideal))]))
        return list(zip(cuts, [*cuts[1:], len(self)], strict=True))

    def lines(self) -> Iterator[str]:
        """Yield the statements as lines of a replay's input, in order. Raises InputError.

        It holds the statements in memory that began during the longest one.
        """
        positions = np.full(int(self.row.max()) + 1, -1, dtype=np.int64)
        positions[self.row] = np.arange(len(self))
        waiting: dict[int, str] = {}
        following, row = 0, 0
        for batch in open_trace(self.path).batches:
            for text, prepared in zip(batch.sent, batch.prepared, strict=True):
                if row < len(positions) and positions[row] >= 0:
                    waiting[int(positions[row])] = f"{json.dumps(text)},{prepared or 'null'}"
                row += 1
                while following in waiting:
                    end = int(self.unit_end_us[following])
                    yield (
                        f"[{self.session[following]},{self.start_us[following]},{'null' if end < 0 else end},"
                        f"{self.flags[following]},{waiting.pop(following)}]\n"
                    )
                    following += 1


def may_write(statement: str) -> bool:
    """Whether a fingerprint isn't known to read only."""
    first = re.split(r"\W", statement.lstrip("("), maxsplit=1)[0].lower()
    return first not in _READS or (first in ("with", "explain") and _CHANGES.search(statement) is not None)


def read_recording(path: Path) -> Recording:
    """Read a trace to replay it; about 60 bytes of memory per statement. Raises InputError, ExtraMissing."""
    trace = open_trace(path)
    header = trace.header
    if not header.ordered:
        hint = "record them as a proxy or from a log, or make a workload with `dbdyno distil`"
        raise InputError(str(path), "the trace has totals, not statements in their order", hint)
    if header.values != "kept":
        hint = "record with `--values keep`, or make a workload of it with `dbdyno distil`"
        raise InputError(str(path), "the trace contains no values, so its statements can't be replayed", hint)
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in _TYPES}
    left_out: Counter[str] = Counter()
    codes = ErrorCodes()
    for batch in trace.batches:
        has_text = [text is not None for text in batch.sent]
        left_out.update(trace.texts[number] for number, has in zip(batch.statement, has_text, strict=True) if not has)
        found: Mapping[str, Sequence[Any]] = {
            "has_text": has_text,
            "session": batch.session,
            "transaction": [-1 if each is None else each for each in batch.transaction],
            "statement": batch.statement,
            "start": [-1 if each is None else each for each in batch.start],
            "duration": [-1 if each is None else each for each in batch.duration_ns],
            "rows": [-1 if each is None else min(each, 2**31 - 1) for each in batch.rows],
            "error": [codes.number(each) for each in batch.error],
        }
        for name, values in found.items():
            columns[name].append(np.array(values, dtype=_TYPES[name]))
    # Parts are dropped as soon as they are joined, because columns are large.
    arrays = {name: np.concatenate([np.array([], of), *columns.pop(name)]) for name, of in _TYPES.items()}
    if not arrays["has_text"].any():
        hint = "record it again with `--values keep`"
        raise InputError(str(path), "none of its statements can be replayed", hint)
    return _ordered(path, header, (trace.texts, codes, left_out), arrays)


_TYPES: Mapping[str, Any] = {
    "has_text": np.bool_,
    "session": np.int32,
    "transaction": np.int64,
    "statement": np.int32,
    "start": np.int64,
    "duration": np.int64,
    "rows": np.int32,
    "error": np.int16,
}


def _ordered(
    path: Path,
    header: Header,
    names: tuple[Sequence[str], ErrorCodes, Counter[str]],
    arrays: dict[str, NDArray[Any]],
) -> Recording:
    row = np.flatnonzero(arrays.pop("has_text"))
    start = _starts(arrays["session"][row], arrays.pop("start")[row])
    order = np.argsort(start, kind="stable")
    row, start = row[order], start[order]
    del order
    start -= start[0]

    def column(name: str) -> NDArray[Any]:
        return arrays.pop(name)[row]

    session, duration = column("session"), column("duration")
    flags = np.zeros(len(row), dtype=np.int8)
    flags[_last(session)] |= ENDS_SESSION
    unit_end = _unit_ends(column("transaction"), start + np.maximum(duration, 0) // 1000, flags)
    seconds = np.where(duration >= 0, duration / 1e9, np.nan).astype(np.float32)
    texts, codes, left_out = names
    recorded = Executions(seconds, column("rows"), column("error"))
    return Recording(
        path, header, texts, codes, row, session, start, unit_end, flags, column("statement"), recorded, left_out
    )


def _unit_ends(transaction: NDArray[np.int64], end: NDArray[np.int64], flags: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the end of each unit at its first statement, -1 elsewhere, and flag its last statement."""
    inside = np.flatnonzero(transaction >= 0)
    # Statements outside of transactions are units of their own.
    made = np.where(transaction < 0, end, -1)
    flags[transaction < 0] |= ENDS_UNIT
    inside = inside[np.argsort(transaction[inside], kind="stable")]
    if len(inside):
        numbers = transaction[inside]
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        made[inside[first]] = np.maximum.reduceat(end[inside], first)
        flags[inside[np.append(first[1:], len(inside)) - 1]] |= ENDS_UNIT
    return made


def _starts(session: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return starts that never go back within a session. An unknown start is replaced by the previous statement's."""
    known = np.maximum.accumulate(np.where(start >= 0, np.arange(len(start)), -1))
    start = np.where(known >= 0, start[known], start.max(initial=0))
    # Each session gets a range of numbers of its own, above the ranges of earlier sessions.
    low = start.min()
    width = int(start.max() - low) + 1
    by_session = np.argsort(session, kind="stable")
    offsets = session[by_session].astype(np.int64) * width
    made = start.copy()
    made[by_session] = np.maximum.accumulate(start[by_session] - low + offsets) - offsets + low
    return made


def _last(keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return the last index of each key."""
    _, first = np.unique(keys[::-1], return_index=True)
    return len(keys) - 1 - first
