"""Findings about SQLite's file lock."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.base.numbers import milliseconds
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.steps import Begin, Commit, Execute, Rollback, Step, flat, rewritten_steps
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.result.cell import Cell, Round
from dbdyno.model.result.finding import Kind, Measured
from dbdyno.model.result.reading import number, text
from dbdyno.model.result.shape import Finding

UPGRADING = Kind(
    "locked while upgrading",
    ("failed", "statements", "busy_timeout"),
    "Transactions that read first and then write failed, because another client had written in between.",
    "Begin transactions that write with `BEGIN IMMEDIATE`.",
)
IMPATIENT = Kind(
    "locked without waiting",
    ("failed", "busy_timeout"),
    "Transactions failed because the database file was locked and no `busy_timeout` was set.",
    "Set `busy_timeout`, for instance to 5000.",
)
OVERTAKEN = Kind(
    "overtaken while waiting",
    ("waits", "wait_ms", "max_ms", "p99_ms"),
    "A few clients waited for the file lock much longer than p99 shows, because others overtook them.",
    "Let one connection write for all clients.",
)
KINDS = (UPGRADING, IMPATIENT, OVERTAKEN)

# Lock waits that are on average this many times as long as p99 are hidden from p99.
_HIDDEN = 10.0


def lock_findings(cells: Iterable[Measured]) -> list[Finding]:
    """Report transactions that failed because the file was locked, and how to avoid that. ``cells``: SQLite cells.

    Names a cell that differs only in the cure and had no failures, if one was measured.
    """
    measured = [each for each in cells if _done(each.cell)]
    locked = [each for each in measured if each.cell.failed.get("locked", 0) > 0]
    waits = {cell.id: ms for cell, _, _ in locked if (ms := text(cell.system.settings, "busy_timeout"))}
    upgrading = [each for each in locked if _upgrades(each.task) and each.cell.id in waits]
    impatient = [cell for cell, _, _ in locked if waits.get(cell.id) == "0"]
    findings = []
    if upgrading:
        words = (
            "A plain BEGIN does not lock. A transaction that reads first and then writes cannot wait: once another "
            "client has written, SQLite rejects it immediately, regardless of busy_timeout. BEGIN IMMEDIATE takes the "
            "lock at the start and waits for it"
        )
        ids = [each.cell.id for each in upgrading]
        cured = {each.cell.id: other.id for each in upgrading if (other := _cured(each, measured)) is not None}
        pairs = "; ".join(f"{after} versus {before}" for before, after in cured.items())
        words += f". With only this change, no transaction failed: {pairs}." if cured else "."
        observed = {
            "failed": _failed(each.cell for each in upgrading),
            "statements": {each.cell.id: _upgrades(each.task) for each in upgrading},
            "busy_timeout": {each: waits[each] for each in ids},
            "cured": cured,
        }
        findings.append(UPGRADING.found(words, ids, observed))
    if impatient:
        words = "Without a busy_timeout, a client fails immediately if the file is locked. busy_timeout=5000 waits."
        observed = {"failed": _failed(impatient), "busy_timeout": 0}
        findings.append(IMPATIENT.found(words, [cell.id for cell in impatient], observed))
    overtaken = {cell.id: of for cell, _, _ in measured if (of := _waits(cell)) is not None}
    if overtaken:
        findings.append(_overtaken(overtaken))
    return findings


@dataclass(frozen=True)
class _Waits:
    """Number of waits for the lock, mean time of a wait, and transaction times (milliseconds)."""

    count: int
    mean_ms: float
    most_ms: float
    p99_ms: float


def _waits(cell: Cell) -> _Waits | None:
    """Return the lock waits of a cell if they are so rare and long that p99 hides them."""
    times = cell.latency_ms.get("service") or cell.latency_ms.get("response")
    rounds = [round_ for round_ in _done(cell) if round_.io]
    count = sum(int(number(round_.io, "file_lock_waits") or 0) for round_ in rounds)
    seconds = sum(number(round_.segments, "file_lock_wait") or 0.0 for round_ in rounds)
    if not times or not count or times.p99 is None or times.max is None:
        return None
    mean_ms = seconds * 1e3 / count
    return _Waits(count, mean_ms, times.max, times.p99) if mean_ms > _HIDDEN * times.p99 else None


def _overtaken(cells: Mapping[str, _Waits]) -> Finding:
    worst = max(cells.values(), key=lambda waits: waits.most_ms)
    words = (
        f"Clients waited {worst.count:,} times for the file lock, {milliseconds(worst.mean_ms)} ms each on average. "
        f"The slowest transaction took {milliseconds(worst.most_ms)} ms: p99 ({milliseconds(worst.p99_ms)} ms) does "
        "not show these waits. A client that finds the file locked sleeps and retries (busy_timeout), and others "
        "overtake it. A single connection that writes for all clients makes them wait in order."
    )
    observed = {
        "waits": {cell: waits.count for cell, waits in cells.items()},
        "wait_ms": {cell: waits.mean_ms for cell, waits in cells.items()},
        "max_ms": {cell: waits.most_ms for cell, waits in cells.items()},
        "p99_ms": {cell: waits.p99_ms for cell, waits in cells.items()},
    }
    return OVERTAKEN.found(words, list(cells), observed)


def _failed(cells: Iterable[Cell]) -> dict[str, int]:
    return {cell.id: cell.failed["locked"] for cell in cells}


def _cured(one: Measured, measured: Sequence[Measured]) -> Cell | None:
    """Return a cell that differs only in taking the lock at the start of all transactions, and had no failures."""
    alike = _but_for_begin(one)
    for other in measured:
        fails = any(round_.failed for round_ in _done(other.cell))
        if other.task.begins == {"immediate"} and not fails and _but_for_begin(other) == alike:
            return other.cell
    return None


def _but_for_begin(one: Measured) -> str:
    """Return a cell's task as text, except for the BEGIN mode of its transactions and the path of its file."""
    target = {key: value for key, value in one.task.target.items() if key != "path"}
    transactions = [
        replace(transaction, steps=rewritten_steps(transaction.steps, _plain_begin))
        for transaction in one.task.transactions
    ]
    task = replace(one.task, target=target, transactions=transactions, interleaving=None)
    return json.dumps([as_json(task), one.data, one.cell.system.name], sort_keys=True, default=repr)


def _done(cell: Cell) -> list[Round]:
    return [round_ for round_ in cell.rounds if round_.status == "done"]


def _plain_begin(step: Step) -> Iterator[Step]:
    yield Begin() if isinstance(step, Begin) else step


def _upgrades(task: TrialTask) -> list[str]:
    """Return a read and a later write of a transaction that begins without a lock, or an empty list."""
    for transaction in task.transactions:
        inside, read = False, ""
        for step in flat(transaction.steps):
            match step:
                case Begin():
                    inside, read = step.mode == "deferred", ""
                case Commit() | Rollback():
                    inside = False
                case Execute() if inside:
                    statement = task.statements[step.statement].sql
                    if statement.lstrip().lower().startswith("select"):
                        read = read or statement
                    elif read:
                        return [read, statement]
    return []
