"""One trial as a round of its cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.document.cell import Bottleneck, CpuPercent, Disk, Latency, RateBasis, Round
from dbdyno.document.reading import JsonObject, count, number, numbers, objects, part, ratio, text, texts
from dbdyno.engines import engine_of_product
from dbdyno.engines.engine import Timed
from dbdyno.store.records import TrialRecord

# What a trial can count as its work, and where the worker says it. A statement returns rows or changes them.
_WORK = {"statement": ("statements",), "row": ("rows_returned", "rows_changed")}

# What is told of transactions' times where nothing is known of them.
#: As in ``crates/load/src/rate.rs``.
_COVERED = 0.5

_NO_CYCLES = {"count": 0, "seconds": 0.0, "squares": 0.0}

# The engine's counts and the segments of the clients' time, by what an engine is timed at.
_TIMED: Mapping[Timed, frozenset[str]] = {
    "files": frozenset(
        {"syncs", "reads", "read_bytes", "writes", "write_bytes", "lock_calls", "sync", "read", "write"}
    ),
    "inside": frozenset({"file_lock_waits", "cache_hits", "cache_misses", "cache_spills", "file_lock_wait", "prepare"}),
    "mutexes": frozenset({"mutex_wait"}),
    # What a server computed is in no segment of its own, and what is not explained counts as waiting for it.
    "computing": frozenset({"engine", "unknown"}),
    "server": frozenset({"client", "server"}),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """What throughput counts, and how it is called."""

    unit: Literal["transaction", "statement", "row"]
    label: str
    """What it is called, in the plural, such as "lookups"."""

    @classmethod
    def of(cls, design: JsonObject) -> Measure:
        """Read ``design["measure"]``: ``unit``, by default transaction, and ``label``, by default the unit's plural."""
        measure = part(design, "measure")
        said = text(measure, "unit")
        unit: Literal["transaction", "statement", "row"] = (
            "statement" if said == "statement" else "row" if said == "row" else "transaction"
        )
        return cls(unit, (text(measure, "label") or f"{unit}s").removesuffix("/s"))


def build_round(trial: TrialRecord, measure: Measure, bottleneck: Bottleneck | None = None) -> Round:
    """Turn a trial (:func:`dbdyno.results.derived.derived`) and its bottleneck into a round of the document.

    A trial whose accounting does not balance (issued = ok + failed + skipped + in flight) is a failed one, whatever it
    said.
    """
    result = trial.result or {}
    accounting = part(result, "accounting")
    work = part(result, "work")
    failed = {kind: int(value) for kind, value in numbers(part(accounting, "failed")).items() if value}
    totals = {name: count(accounting, name) or 0 for name in ("issued", "ok", "skipped", "in_flight", "retries")}
    status: str = trial.status
    error, kind = trial.error, trial.error_kind
    settled = totals["ok"] + sum(failed.values()) + totals["skipped"] + totals["in_flight"]
    if status == "done" and not result:
        status, kind, error = "failed", "no_result", "the worker ended without a result"
    elif status == "done" and totals["issued"] != settled:
        status, kind = "failed", "accounting"
        error = f"the accounting does not balance: {totals['issued']} issued, {settled} accounted for"
    elapsed = number(result, "elapsed_s")
    completed = count(result, "completed")
    completed = totals["ok"] if completed is None else completed
    per_s, other = transactions_per_s(result) if status == "done" else (None, 1.0)
    each = ratio(_worked(work, completed, measure), completed)
    unseen = _unseen(result, trial.plan)
    return {
        "block": trial.block,
        "position": trial.position,
        "status": status,
        "error": error,
        "error_kind": kind,
        "started": trial.started,
        "issued": totals["issued"],
        "ok": totals["ok"],
        "failed": failed,
        "failures": {kind: str(message) for kind, message in part(result, "failures").items()},
        "skipped": totals["skipped"],
        "in_flight": totals["in_flight"],
        "retries": totals["retries"],
        "completed": completed,
        "elapsed_s": elapsed,
        "ended_by": text(result, "ended_by"),
        "window": _window(trial.plan),
        "throughput": None if per_s is None else per_s * (each or 0.0),
        "transactions_per_s": per_s,
        "rate": _basis(result, completed, int(_window(trial.plan)["clients"] or 1), other),
        "outlier": False,
        "instructions": _instructions(part(result, "counted"), measure),
        "rows": count(work, "rows_returned"),
        "rows_squared": number(work, "rows_returned_squared"),
        "rows_changed": count(work, "rows_changed"),
        "transactions_changing": count(work, "transactions_changing"),
        "statements": count(work, "statements"),
        "transactions": part(result, "transactions"),
        "statements_by_name": part(result, "statements"),
        "latency_ms": {name: _latency(times) for name, times in part(result, "latency_ms").items() if times},
        "cpu_percent": _cpu(part(result, "cpu"), part(result, "server", "cpu")),
        "scheduling": part(result, "scheduling"),
        "disk": _disk(part(result, "disk"), number(result, "watched_s")),
        "process_io": part(result, "process_io"),
        "io": _seen(part(result, "io"), unseen),
        "segments": _seen(part(result, "time", "segments"), unseen),
        "client_s": number(part(result, "time"), "client_s"),
        "peak_rss_bytes": count(part(result, "memory"), "peak_rss_bytes"),
        "warmup": part(result, "warmup"),
        "observed": part(result, "observed"),
        "interleaving": part(result, "interleaving"),
        "durations": trial.durations,
        "bottleneck": bottleneck,
        "intervals": objects(trial.intervals),
        "histograms": {name: code for name, code in part(result, "histograms").items() if isinstance(code, str)},
    }


def transactions_per_s(result: JsonObject) -> tuple[float | None, float]:
    """Return how many transactions a second a worker's result comes to, None where it has none, and the other estimate.

    That one is a multiple of the first, 1 where there is none. The parts are described in ``crates/load/src/rate.rs``.
    Workers before 2026-11-23 did not tell them: theirs is what ended in the window by its length.
    """
    rate = part(result, "rate")
    if not rate:
        return ratio(number(part(result, "accounting"), "ok"), number(result, "elapsed_s")), 1.0
    many, whole = number(rate, "many_per_s"), part(rate, "whole")
    taken, other = _few_per_s(part(rate, "few"), beside_many=bool(many))
    sure = [many, ratio(number(whole, "completed"), number(whole, "seconds"))]
    known = [each for each in (*sure, taken) if each is not None]
    if not known:
        return None, 1.0
    if taken is None or other is None or sum(known) <= 0:
        return sum(known), 1.0
    return sum(known), (sum(known) - taken + other) / sum(known)


def _few_per_s(few: JsonObject, *, beside_many: bool) -> tuple[float | None, float | None]:
    """Give the rate of clients with few transactions, and that by the other estimate; as ``few_per_s`` in Rust."""
    clients, spanned, length = (number(few, name) or 0.0 for name in ("clients", "seconds", "window_s"))
    whole = ratio(clients * (number(few, "completed") or 0), spanned)
    within = ratio(clients * (number(few, "within") or 0), length)
    if clients <= 1 or within is None:
        return whole, None
    return (within, whole) if beside_many or spanned < _COVERED * length else (whole, within)


def _basis(result: JsonObject, completed: int, clients: int, other: float) -> RateBasis:
    """Say what a round's throughput is told from. A count over a time may be off by what its end cuts."""
    rate, cycles = part(result, "rate"), part(result, "cycles") or _NO_CYCLES
    times = ratio(number(rate, "client_s"), number(rate, "clients"))
    cut = 0.0
    counted = part(rate, "whole").get("completed") or not rate
    if counted and text(result, "ended_by") in ("seconds", "interrupted"):
        open_loop = "response" in part(result, "latency_ms")
        cut = (1 if open_loop else clients) / max(completed, 1)
    return {
        "time_s": times or number(result, "elapsed_s") or 1.0,
        "count": count(cycles, "count") or 0,
        "seconds": number(cycles, "seconds") or 0.0,
        "squares": number(cycles, "squares") or 0.0,
        "resolution": cut,
        "other": other,
    }


def _unseen(result: JsonObject, plan: JsonObject) -> frozenset[str]:
    """Name the counts and segments that nothing looked at, where the worker says 0."""
    engine = text(part(result, "engine"), "engine")
    if engine is None:
        return frozenset()
    timed = engine_of_product(engine).timed
    unseen = frozenset(name for kind, names in _TIMED.items() if kind not in timed for name in names)
    if part(plan, "task", "record").get("io") is False:
        unseen |= _TIMED["files"]
    return unseen if part(result, "mutex") else unseen | _TIMED["mutexes"]


def _seen(source: JsonObject, unseen: frozenset[str]) -> dict[str, float | None]:
    return {name: None if name in unseen and value == 0 else value for name, value in numbers(source).items()}


def _worked(work: JsonObject, ok: int, measure: Measure) -> float | None:
    """Return how much was done of what the experiment counts, by ``ok`` transactions that succeeded."""
    if measure.unit not in _WORK:
        return ok
    parts = [value for key in _WORK[measure.unit] if (value := number(work, key)) is not None]
    return sum(parts) if parts else None


def _instructions(counted: JsonObject, measure: Measure) -> float | None:
    ok = count(part(counted, "accounting"), "ok") or 0
    return ratio(number(counted, "instructions"), _worked(part(counted, "work"), ok, measure))


def _latency(source: JsonObject) -> Latency:
    return {
        "p50": number(source, "p50"),
        "p90": number(source, "p90"),
        "p99": number(source, "p99"),
        "p99_9": number(source, "p99_9"),
        "max": number(source, "max"),
        "mean": number(source, "mean"),
        "count": count(source, "count"),
        "at_least": texts(source.get("at_least")),
    }


def _cpu(cpu: JsonObject, server: JsonObject) -> CpuPercent:
    return {
        "client": number(cpu, "process_percent"),
        "server": number(server, "process_percent"),
        "hottest_thread": number(cpu, "hottest_thread_percent"),
        "user": number(cpu, "user_percent"),
        "system": number(cpu, "system_percent"),
        "machine": number(cpu, "machine_percent"),
        "steal": number(cpu, "steal_percent"),
        "cores": count(cpu, "cores"),
    }


def _disk(disk: JsonObject, elapsed: float | None) -> Disk:
    return {
        "device": text(disk, "device"),
        "reads_per_s": ratio(number(disk, "reads"), elapsed),
        "read_bytes_per_s": ratio(number(disk, "read_bytes"), elapsed),
        "read_ms": number(disk, "read_ms"),
        "writes_per_s": ratio(number(disk, "writes"), elapsed),
        "write_bytes_per_s": ratio(number(disk, "write_bytes"), elapsed),
        "write_ms": number(disk, "write_ms"),
        "flushes_per_s": ratio(number(disk, "flushes"), elapsed),
        "flush_ms": number(disk, "flush_ms"),
        "queue_length": number(disk, "queue_length"),
    }


def _window(plan: JsonObject) -> JsonObject:
    task = part(plan, "task")
    return {**part(task, "window"), "clients": count(task, "clients")}
