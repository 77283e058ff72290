"""Turn a trial into a round of the result document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.analysis.measured.histograms import no_latency
from dbdyno.analysis.measured.machines import machine_rounds
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.engines import engine_of_product
from dbdyno.engines.engine import Timed
from dbdyno.model.events.accounting import Accounting, Few, Rate, Work
from dbdyno.model.events.base import Part
from dbdyno.model.events.latency import NoTimes, Times
from dbdyno.model.events.machine import CpuShare
from dbdyno.model.events.observations import Io, Segments
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.surroundings import Allowed, Counting, Listeners
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.result.cell import Bottleneck, CpuPercent, Disk, Latency, Listener, RateBasis, Round
from dbdyno.model.result.cell import FailedByCode as Failed
from dbdyno.model.result.reading import JsonObject, part, ratio, text

_NOTHING = Accounting(issued=0, ok=0, failed={}, skipped=0, in_flight=0, retries=0)
_NO_STATEMENTS = Work(
    transactions=0,
    statements=0,
    rows_returned=0,
    rows_returned_squared=0.0,
    rows_changed=0,
    transactions_changing=0,
)

_NO_CPU: CpuPercent = CpuPercent(
    client=None,
    server=None,
    hottest_thread=None,
    user=None,
    system=None,
    machine=None,
    steal=None,
    cores=None,
    tiers={},
    tier_threads={},
    processors={},
)
_NO_DISK: Disk = Disk(
    device=None,
    reads_per_s=None,
    read_bytes_per_s=None,
    read_ms=None,
    writes_per_s=None,
    write_bytes_per_s=None,
    write_ms=None,
    flushes_per_s=None,
    flush_ms=None,
    queue_length=None,
)

#: Same value as in ``crates/load/src/rate.rs``.
_COVERED = 0.5

# Counters and time segments that an engine provides, by what is instrumented (Engine.timed).
_TIMED: Mapping[Timed, frozenset[str]] = {
    "files": frozenset(
        {"syncs", "reads", "read_bytes", "writes", "write_bytes", "lock_calls", "sync", "read", "write"}
    ),
    "inside": frozenset({"file_lock_waits", "cache_hits", "cache_misses", "cache_spills", "file_lock_wait", "prepare"}),
    "mutexes": frozenset({"mutex_wait"}),
    # A server's computation has no segment; unexplained time counts as waiting for the server.
    "computing": frozenset({"engine", "unknown"}),
    "server": frozenset({"client", "server"}),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """The unit of throughput and its name."""

    unit: Literal["transaction", "statement", "row"]
    label: str
    """Plural name of the unit, such as "lookups"."""
    transactions: frozenset[str] = frozenset()
    """The transactions that throughput counts; empty for all."""
    statements: frozenset[str] = frozenset()
    """The statements whose executions throughput counts instead; empty for none."""
    per: Literal["second", "minute"] = "second"
    """The unit of time of throughput."""

    @property
    def seconds(self) -> int:
        """The seconds of the unit of time."""
        return 60 if self.per == "minute" else 1

    @property
    def rate(self) -> str:
        """The unit of throughput, such as "lookups/s"."""
        return f"{self.label}/{'min' if self.per == 'minute' else 's'}"

    @classmethod
    def of(cls, design: JsonObject) -> Measure:
        """Read ``design["measure"]``: ``unit``, by default ``transaction``, and ``label``, by default its plural."""
        measure = part(design, "measure")
        said = text(measure, "unit")
        unit: Literal["transaction", "statement", "row"] = (
            "statement" if said == "statement" else "row" if said == "row" else "transaction"
        )
        transactions, statements = (
            frozenset(map(str, measure.get(key) or ())) for key in ("transactions", "statements")
        )
        label = (text(measure, "label") or f"{unit}s").removesuffix("/s")
        per: Literal["second", "minute"] = "minute" if text(measure, "per") == "minute" else "second"
        return cls(unit, label, transactions, statements, per)


def build_round(trial: ReadTrial, measure: Measure, bottleneck: Bottleneck | None = None) -> Round:
    """Build a round from a trial (see :func:`dbdyno.analysis.measured.derived.derived`) and its bottleneck.

    A trial fails if its accounting does not balance: issued = ok + failed + skipped + in flight.
    """
    result = trial.result
    # The internals of an external program are unknown.
    worker = result if isinstance(result, TrialResult) else None
    accounting = _NOTHING if result is None else result.accounting
    failed = {kind: value for kind, value in accounting.failed.items() if value}
    status: str = trial.status
    error, kind = trial.error, trial.error_kind
    settled = accounting.ok + sum(failed.values()) + accounting.skipped + accounting.in_flight
    if status == "done" and result is None:
        status, kind, error = "failed", "no_result", "the worker ended without a result"
    elif status == "done" and accounting.issued != settled:
        status, kind = "failed", "accounting"
        error = f"the accounting does not balance: {accounting.issued} issued, {settled} accounted for"
    completed = 0 if result is None else result.completed
    per_s, other = transactions_per_s(result.rate) if status == "done" and result is not None else (None, 1.0)
    work = _work(result)
    each = None if work is None else ratio(_worked(work, completed * _counted(result, measure), measure), completed)
    unseen = frozenset[str]() if worker is None else _unseen(worker, trial)
    return Round(
        block=trial.block,
        position=trial.position,
        status=status,
        error=error,
        error_kind=kind,
        error_code=None if trial.refused is None else trial.refused.code,
        started=trial.started,
        **accounting.model_dump(exclude={"failed"}),
        failed=failed,
        failures={} if worker is None else dict(worker.failures),
        failed_by_code=[] if worker is None else [Failed(**failure.model_dump()) for failure in worker.failed_by_code],
        completed=completed,
        elapsed_s=None if result is None else result.elapsed_s,
        ended_by=None if result is None else result.ended_by,
        window=_window(trial),
        throughput=None if per_s is None else per_s * measure.seconds * (each or 0.0),
        transactions_per_s=per_s,
        rate=_basis(result, 1 if trial.task is None else trial.task.clients, other),
        outlier=False,
        instructions=None
        if trial.counting is None
        else _instructions(trial.counting, measure, _counted(result, measure)),
        rows=None if work is None else work.rows_returned,
        rows_squared=None if worker is None else worker.work.rows_returned_squared,
        rows_changed=None if work is None else work.rows_changed,
        transactions_changing=None if worker is None else worker.work.transactions_changing,
        statements=None if work is None else work.statements,
        transactions={}
        if result is None
        else {name: counts.model_dump() for name, counts in result.transactions.items()},
        statements_by_name={}
        if worker is None
        else {name: counts.model_dump() for name, counts in worker.statements.items()},
        latency_ms={} if result is None else {name: _latency(times) for name, times in result.latency_ms.items()},
        cpu_percent=_cpu(result, trial.allowed),
        scheduling={} if worker is None else worker.scheduling.model_dump(),
        throttling={} if worker is None else _dumped(worker.throttling),
        server_run_queue_s=None if worker is None or worker.server is None else worker.server.run_queue_wait_s,
        disk=_disk(worker),
        flushes={} if worker is None or worker.flushes is None else worker.flushes.model_dump(),
        process_io={} if worker is None else worker.process_io.model_dump(),
        io={} if worker is None else _seen(worker.io, unseen),
        segments={} if worker is None else _seen(worker.time.segments, unseen),
        client_s=None if worker is None else worker.time.client_s,
        peak_rss_bytes=None if result is None else result.memory.peak_rss_bytes,
        warmup={} if result is None else result.warmup.model_dump(),
        observed={} if worker is None or worker.observed is None else worker.observed.model_dump(exclude_unset=True),
        lock_holders={} if worker is None or worker.lock_holders is None else worker.lock_holders.model_dump(),
        changes={} if worker is None or worker.changes is None else worker.changes.model_dump(),
        interleaving=_interleaving(worker, trial),
        competitor=None if trial.competed is None else trial.competed.took,
        durations=trial.durations,
        bottleneck=bottleneck,
        plans={},
        listeners=[] if trial.listeners is None else _listeners(trial.listeners),
        load_machines=machine_rounds(trial, [_throughput_of(result, measure) for result, _ in trial.parts]),
        lost_machines=[] if trial.load_machines is None else trial.load_machines.lost,
        intervals=[interval.model_dump() for interval in trial.intervals],
        histograms={} if result is None else result.histograms,
    )


def _listeners(listeners: Listeners) -> list[Listener]:
    return [Listener(**listener.model_dump(), somaxconn=listeners.somaxconn) for listener in listeners.sockets]


def _throughput_of(result: TrialResult, measure: Measure) -> float:
    """Return the throughput of one of several workers."""
    each = ratio(_worked(result.work, result.completed * _counted(result, measure), measure), result.completed)
    return transactions_per_s(result.rate)[0] * measure.seconds * (each or 0.0)


def transactions_per_s(rate: Rate) -> tuple[float, float]:
    """Return the transactions per second of a result, and the alternative estimate as a multiple of it.

    The multiple is 1 without an alternative. ``crates/load/src/rate.rs`` describes the parts of the rate.
    """
    taken, other = _few_per_s(rate.few, beside_many=rate.many_per_s > 0)
    known = rate.many_per_s + (ratio(rate.whole.completed, rate.whole.seconds) or 0.0) + (taken or 0.0)
    if taken is None or other is None or known <= 0:
        return known, 1.0
    return known, (known - taken + other) / known


def _few_per_s(few: Few, *, beside_many: bool) -> tuple[float | None, float | None]:
    """Return two estimates of the rate of clients with few transactions, as ``few_per_s`` in ``rate.rs``."""
    whole = ratio(few.clients * few.completed, few.seconds)
    within = ratio(few.clients * few.within, few.window_s)
    several = few.clients > 1
    if within is None or not (several or beside_many):
        return whole, None
    uncovered = few.seconds < _COVERED * few.window_s
    return (within, whole) if uncovered or (several and beside_many) else (whole, within)


def _basis(result: TrialResult | ProgramResult | None, clients: int, other: float) -> RateBasis:
    """Return the data that a round's throughput is estimated from, with the error from cutting off transactions."""
    if result is None:
        return RateBasis(time_s=1.0, count=0, seconds=0.0, squares=0.0, resolution=0.0, other=other)
    rate, cycles = result.rate, result.cycles
    cut = 0.0
    if rate.whole.completed and result.ended_by in ("seconds", "interrupted"):
        open_loop = "response" in result.latency_ms
        cut = (1 if open_loop else clients) / max(result.completed, 1)
    return RateBasis(
        time_s=ratio(rate.client_s, rate.clients) or result.elapsed_s or 1.0,
        count=cycles.count,
        seconds=cycles.seconds,
        squares=cycles.squares,
        resolution=cut,
        other=other,
    )


def _unseen(result: TrialResult, trial: ReadTrial) -> frozenset[str]:
    """Return counters and segments that were not measured, although the worker reports 0."""
    timed = engine_of_product(result.engine.engine).timed
    unseen = frozenset(name for kind, names in _TIMED.items() if kind not in timed for name in names)
    if trial.of_worker is not None and not trial.of_worker.record.io:
        unseen |= _TIMED["files"]
    return unseen if result.mutex is not None else unseen | _TIMED["mutexes"]


def _seen(source: Io | Segments, unseen: frozenset[str]) -> dict[str, float | None]:
    return {name: None if name in unseen and value == 0 else value for name, value in source}


def _work(result: TrialResult | ProgramResult | None) -> Work | None:
    """Return the work of a trial's transactions. Statements of external programs are unknown."""
    if isinstance(result, ProgramResult):
        return _NO_STATEMENTS
    return None if result is None else result.work


def _counted(result: TrialResult | ProgramResult | None, measure: Measure) -> float:
    """Return how much throughput counts per successful transaction."""
    if isinstance(result, TrialResult) and measure.statements:
        executions = sum(counts.executions for name, counts in result.statements.items() if name in measure.statements)
        return ratio(executions, result.accounting.ok) or 0.0
    if result is None or not measure.transactions:
        return 1.0
    counted = sum(counts.ok for name, counts in result.transactions.items() if name in measure.transactions)
    return ratio(counted, sum(counts.ok for counts in result.transactions.values())) or 0.0


def _worked(work: Work, ok: float, measure: Measure) -> float:
    """Return the work of ``ok`` successful transactions in the unit of throughput."""
    match measure.unit:
        case "statement":
            return work.statements
        case "row":
            # A statement returns rows or changes them.
            return work.rows_returned + work.rows_changed
    return ok


def _instructions(counting: Counting, measure: Measure, counted: float) -> float | None:
    return ratio(counting.instructions, _worked(counting.work, counting.accounting.ok * counted, measure))


def _dumped(parts: Mapping[str, Part]) -> JsonObject:
    return {name: each.model_dump() for name, each in parts.items()}


def _latency(times: NoTimes | Times) -> Latency:
    if isinstance(times, NoTimes):
        return replace(no_latency(), count=times.count)
    return Latency(**times.model_dump())


def _cpu(result: TrialResult | ProgramResult | None, allowed: Allowed | None) -> CpuPercent:
    if result is None:
        return _NO_CPU
    cpu, server = result.cpu, result.server if isinstance(result, TrialResult) else None
    tiers = result.tiers if isinstance(result, TrialResult) else []
    return CpuPercent(
        client=cpu.process_percent,
        server=None if server is None else server.cpu.process_percent,
        hottest_thread=cpu.hottest_thread_percent if isinstance(cpu, CpuShare) else None,
        user=cpu.user_percent,
        system=cpu.system_percent,
        machine=cpu.machine_percent,
        steal=cpu.steal_percent,
        cores=cpu.cores,
        tiers={tier.name: tier.cpu_percent for tier in tiers},
        tier_threads={tier.name: tier.threads[0].cpu_percent for tier in tiers if tier.threads},
        processors={} if allowed is None else _processors(allowed),
    )


def _processors(allowed: Allowed) -> dict[str, list[int]]:
    return dict(allowed.processors) | ({} if allowed.load is None else {"load": allowed.load})


def _disk(result: TrialResult | None) -> Disk:
    if result is None or result.disk is None:
        return _NO_DISK
    disk, seconds = result.disk, result.watched_s
    return Disk(
        device=disk.device,
        reads_per_s=ratio(disk.reads, seconds),
        read_bytes_per_s=ratio(disk.read_bytes, seconds),
        read_ms=disk.read_ms,
        writes_per_s=ratio(disk.writes, seconds),
        write_bytes_per_s=ratio(disk.write_bytes, seconds),
        write_ms=disk.write_ms,
        flushes_per_s=ratio(disk.flushes, seconds),
        flush_ms=disk.flush_ms,
        queue_length=disk.queue_length,
    )


def _interleaving(result: TrialResult | None, trial: ReadTrial) -> JsonObject:
    """Return the planned and the measured interleaving of a trial; empty if it was not interleaved."""
    if result is None or result.interleaving is None:
        return {}
    return result.interleaving.model_dump() | (as_json(trial.of_worker and trial.of_worker.interleaving) or {})


def _window(trial: ReadTrial) -> JsonObject:
    task = trial.task
    return {"clients": None} if task is None else {**as_json(task.window), "clients": task.clients}
