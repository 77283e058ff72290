"""Merge the results of several worker processes that ran parts of one trial concurrently."""

from collections.abc import Sequence
from typing import Any, TypeVar, get_args

from dbdyno.analysis.measured.histograms import Histogram, merge
from dbdyno.analysis.measured.operations import merge_operations
from dbdyno.analysis.measured.stages import merge_stages
from dbdyno.model.events.accounting import EndedBy, FailedByCode, Few, Rate, Warmup, Whole
from dbdyno.model.events.base import Part
from dbdyno.model.events.changes import Calls, ChangedCalls
from dbdyno.model.events.latency import NoTimes, Summary, Times
from dbdyno.model.events.machine import CpuShare
from dbdyno.model.events.observations import Observed
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.result.convert import to_json

_Value = TypeVar("_Value")

# Counts and client time, which are added.
_SUMMED = (
    "accounting",
    "completed",
    "besides",
    "cycles",
    "transactions",
    "statements",
    "work",
    "scheduling",
    "process_io",
    "time",
    "io",
    "memory",
)

_KINDS = tuple(ChangedCalls.model_fields)

# Reasons for the end of a window in the worker's order; the last one that occurs counts.
_ENDINGS: tuple[EndedBy, ...] = get_args(EndedBy)


def merge_results(results: Sequence[TrialResult], hosts: Sequence[str] | None = None) -> TrialResult:
    """Merge the results of a trial's processes, whose windows began at the same time.

    ``hosts``: the machine of each process, by default one for all. Counts, seconds and histograms are added. Values
    about the shared machine, server and engine come from the process with the longest window. CPUs and their use are
    added over machines. CPU percentages are the sum over processes, relative to the longest window. One process samples
    the server's waits. Server counters use the largest increase that a process saw. For changed calls, one process
    counts the server's calls, and client calls are added.
    Raises HistogramError, and ValueError without results.
    """
    witness = max(results, key=lambda result: result.elapsed_s)
    histograms: dict[str, str] = {}
    latency_ms: dict[str, Summary] = {}
    at_least = _merged(results, "at_least")
    answers = "response" if any("response" in result.histograms for result in results) else "service"
    for name in sorted({name for result in results for name in result.histograms}):
        total = _merged(results, name)
        if total is not None:
            histograms[name] = total.encode()
            latency_ms[name] = _summary(total, at_least if name == answers else None)
    return witness.model_copy(
        update={
            **{name: _sum([getattr(result, name) for result in results]) for name in _SUMMED},
            "rate": _rate(results, witness),
            "failures": {
                kind: message for trial_result in reversed(results) for kind, message in trial_result.failures.items()
            },
            "failed_by_code": _failed_by_code(results),
            "next_use": max(result.next_use for result in results),
            "ended_by": max((result.ended_by for result in results), key=_ENDINGS.index),
            "warmup": Warmup(seconds=max(result.warmup.seconds for result in results)),
            "stages": merge_stages([result.stages for result in results]),
            # Only one process runs the work beside the clients.
            "beside": next((result.beside for result in results if result.beside), []),
            "histograms": histograms,
            "operations": merge_operations([result.operations for result in results]),
            "latency_ms": latency_ms,
            "cpu": _cpu(results, witness, [""] * len(results) if hosts is None else hosts),
            "observed": _observed([observed for result in results if (observed := result.observed) is not None]),
            # Only one process reads the row estimates of plans.
            "engine": next((result.engine for result in results if result.engine.estimates), witness.engine),
            "changes": _changes([result.changes for result in results if result.changes is not None]),
            "waits": next((result.waits for result in results if result.waits is not None), None),
        }
    )


def _failed_by_code(results: Sequence[TrialResult]) -> list[FailedByCode]:
    """Add up failures by code, keeping the first message of each."""
    found: dict[tuple[str, str], FailedByCode] = {}
    for failure in (each for result in results for each in result.failed_by_code):
        key = failure.kind, failure.code
        known = found.get(key)
        found[key] = failure if known is None else known.model_copy(update={"count": known.count + failure.count})
    return list(found.values())


def _merged(results: Sequence[TrialResult], name: str) -> Histogram | None:
    return merge(result.histograms[name] for result in results if name in result.histograms)


def _summary(histogram: Histogram, at_least: Histogram | None) -> NoTimes | Times:
    return Times.model_validate(to_json(histogram.latency_ms(at_least))) if histogram.count else NoTimes(count=0)


def _rate(results: Sequence[TrialResult], witness: TrialResult) -> Rate:
    """Add the parts of the rate; if only some processes ended by a count, divide all by the longest window."""
    rate = _sum([result.rate for result in results])
    if len({result.ended_by in ("transactions", "statements", "rows") for result in results}) > 1:
        ok = sum(result.accounting.ok for result in results)
        none = Few(clients=0, completed=0, seconds=0.0, within=0.0, window_s=0.0)
        whole = Whole(completed=ok, seconds=witness.elapsed_s)
        return rate.model_copy(update={"many_per_s": 0.0, "few": none, "whole": whole})
    longest = max(result.rate.whole.seconds for result in results)
    return rate.model_copy(update={"whole": Whole(completed=rate.whole.completed, seconds=longest)})


def merge_intervals(intervals: Sequence[Interval], hosts: Sequence[str] | None = None) -> Interval:
    """Merge one interval of a trial's timeline over its processes; ``hosts``: the machine of each.

    Latency percentiles cannot be merged, so ``service_ms`` is None for several processes.
    """
    first = intervals[0]
    seen = dict(reversed(list(zip(hosts or [""] * len(intervals), intervals, strict=True))))
    return first.model_copy(
        update={
            "start_s": min(interval.start_s for interval in intervals),
            "end_s": max(interval.end_s for interval in intervals),
            "ok": sum(interval.ok for interval in intervals),
            "failed": sum(interval.failed for interval in intervals),
            "statements": sum(interval.statements for interval in intervals),
            "rows": sum(interval.rows for interval in intervals),
            "service_ms": first.service_ms if len(intervals) == 1 else None,
            "cpu_percent": sum(interval.cpu_percent for interval in intervals),
            "hottest_thread_percent": max(interval.hottest_thread_percent for interval in intervals),
            "machine_percent": sum(interval.machine_percent for interval in seen.values()),
        }
    )


def _changes(counted: Sequence[ChangedCalls]) -> ChangedCalls | None:
    if not counted:
        return None
    kinds = {
        name: [calls for changed_calls in counted if (calls := getattr(changed_calls, name)) is not None]
        for name in _KINDS
    }
    return ChangedCalls(**{name: _calls(calls) if calls else None for name, calls in kinds.items()})


def _calls(calls: Sequence[Calls]) -> Calls:
    own = [call.own_s for call in calls if call.own_s is not None]
    return Calls(
        calls=sum(call.calls for call in calls),
        own_s=sum(own) if own else None,
        added_s=sum(call.added_s for call in calls),
    )


def _observed(seen: Sequence[Observed]) -> Observed | None:
    """Take the maximum of each counter: all processes watched one server, and the longest-running one saw all."""
    if not seen:
        return None
    merged = Observed(
        acknowledged=sum(observed.acknowledged for observed in seen),
        counters=_greatest([observed.counters for observed in seen]),
        backlog=_greatest([observed.backlog for observed in seen]),
        backlog_before=_greatest([observed.backlog_before for observed in seen]),
    )
    errors = [observed.error for observed in seen if observed.error]
    return merged.model_copy(update={"error": errors[0]}) if errors else merged


def _greatest(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    names = sorted({name for figure in figures for name in figure})
    return {name: max(figure[name] for figure in figures if name in figure) for name in names}


def _cpu(results: Sequence[TrialResult], witness: TrialResult, hosts: Sequence[str]) -> CpuShare:
    # The process with the longest window measured most of its machine's time.
    seen = {
        host: max(
            (result for result, own in zip(results, hosts, strict=True) if own == host),
            key=lambda result: result.elapsed_s,
        )
        for host in dict.fromkeys(hosts)
    }
    longest = witness.elapsed_s
    # A process that ended earlier used no CPU in the rest of the longest window.
    share = {id(result): result.elapsed_s / longest if longest > 0 else 1.0 for result in results}
    return witness.cpu.model_copy(
        update={
            "process_percent": sum(result.cpu.process_percent * share[id(result)] for result in results),
            "user_percent": sum(result.cpu.user_percent * share[id(result)] for result in results),
            "system_percent": sum(result.cpu.system_percent * share[id(result)] for result in results),
            "hottest_thread_percent": max(result.cpu.hottest_thread_percent for result in results),
            "machine_percent": sum(result.cpu.machine_percent for result in seen.values()),
            "steal_percent": sum(result.cpu.steal_percent for result in seen.values()),
            "cores": sum(result.cpu.cores for result in seen.values()),
        }
    )


def _sum(values: Sequence[_Value]) -> _Value:
    """Add numbers, dictionaries of numbers by key, or event parts by field."""
    first: Any = values[0]
    if isinstance(first, dict):
        tables: Any = values
        names = dict.fromkeys(name for table in tables for name in table)
        total: Any = {name: _sum([table[name] for table in tables if name in table]) for name in names}
    elif isinstance(first, Part):
        fields = type(first).model_fields
        total = type(first)(**{name: _sum([getattr(value, name) for value in values]) for name in fields})
    else:
        numbers: Any = values
        total = sum(numbers)
    result: _Value = total
    return result
