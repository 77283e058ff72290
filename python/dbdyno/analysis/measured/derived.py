"""Derive trials from the stored events of workers and the events recorded around them.

The store keeps raw events. They are interpreted each time a document is built, so that improved rules apply to old runs
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.measured.histograms import HistogramError
from dbdyno.analysis.measured.merged_results import merge_intervals, merge_results
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.engines.durability_classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.model.events.base import Part
from dbdyno.model.events.facts import Facts
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.reading import InvalidEvent, read_interval, read_part, read_result
from dbdyno.model.events.surroundings import (
    After,
    Allowed,
    Competed,
    Counting,
    Growing,
    Limited,
    Listeners,
    Loading,
    LoadMachines,
    Refused,
)
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.plan.reading import read_task
from dbdyno.model.result.reading import JsonObject, text
from dbdyno.store.records import TrialRecord

# Events recorded around a trial, by field of ReadTrial: the name in the store, and the type.
_PARTS: Mapping[str, tuple[str, type[Part]]] = {
    "loading": ("loaded", Loading),
    "refused": ("refused", Refused),
    "counting": ("counted", Counting),
    "growing": ("growing", Growing),
    "after": ("after", After),
    "limited": ("memory_limit", Limited),
    "allowed": ("allowed", Allowed),
    "listeners": ("listeners", Listeners),
    "competed": ("competed", Competed),
    "load_machines": ("load_machines", LoadMachines),
}


def derived(trials: Iterable[TrialRecord]) -> list[ReadTrial]:
    """Read trials, in order, each with one merged result.

    The results of several workers are merged, and the events around the trial are read. The durability class is lowered
    if the data is in memory. The machine's CPU use excludes interleaved trials. A trial with invalid stored data counts
    as failed.
    """
    made = [_read(trial) for trial in trials]
    together: dict[str, list[TrialResult]] = {}
    for trial in made:
        if trial.together is not None and isinstance(trial.result, TrialResult):
            together.setdefault(trial.together, []).append(trial.result)
    used = {group: _used_s(results) for group, results in together.items()}
    return [
        replace(trial, result=_without_others(trial.result, used[trial.together]))
        if trial.together is not None and isinstance(trial.result, TrialResult)
        else trial
        for trial in made
    ]


def _read(trial: TrialRecord) -> ReadTrial:
    read = ReadTrial(
        cell=trial.cell,
        block=trial.block,
        position=trial.position,
        status=trial.status,
        task=read_task(trial.plan),
        started=trial.started,
        durations=trial.durations,
        error=trial.error,
        error_kind=trial.error_kind,
        together=text(trial.around, "together"),
    )
    try:
        if trial.parts:
            parts = _parts_of(trial.parts)
            return replace(read, parts=parts, **_around(trial, *_as_one(parts, _hosts(trial, len(parts)))))
        result = None if trial.result is None else read_result(trial.result)
        return replace(read, **_around(trial, result, [read_interval(interval) for interval in trial.intervals]))
    except InvalidEvent as error:
        words = f"its stored data is invalid: {error}"
    except (HistogramError, ValueError) as error:
        words = f"the results of its processes cannot be merged: {error}"
    # Keep the error of a failed trial.
    return read if read.status == "failed" else replace(read, status="failed", error=words, error_kind="unreadable")


def _parts_of(stored: Sequence[JsonObject]) -> list[tuple[TrialResult, list[Interval]]]:
    """Read the results and intervals of each worker of a trial."""
    parts: list[tuple[TrialResult, list[Interval]]] = []
    for number, each in enumerate(stored):
        words, intervals = each.get("result"), each.get("intervals")
        if not isinstance(words, dict) or not isinstance(intervals, list):
            raise InvalidEvent(f"`parts.{number}`: `result` or `intervals` is missing")
        result = read_result(words)
        if not isinstance(result, TrialResult):
            raise InvalidEvent(f"`parts.{number}.result.event`: expected 'result'")
        parts.append((result, [read_interval(interval) for interval in intervals]))
    return parts


def _as_one(
    parts: Sequence[tuple[TrialResult, list[Interval]]], hosts: Sequence[str]
) -> tuple[TrialResult, list[Interval]]:
    """Merge the results and intervals of workers. ``hosts``: the machine of each."""
    intervals: dict[int, list[tuple[Interval, str]]] = {}
    for (_, own), host in zip(parts, hosts, strict=True):
        for interval in own:
            intervals.setdefault(interval.index, []).append((interval, host))
    merged = [merge_intervals(*map(list, zip(*intervals[index], strict=True))) for index in sorted(intervals)]
    return merge_results([result for result, _ in parts], hosts), merged


def _hosts(trial: TrialRecord, parts: int) -> list[str]:
    """Return the machine of each worker: its boot id with several load machines, otherwise an empty string."""
    stored = trial.around.get("load_machines")
    machines = [] if stored is None else read_part(LoadMachines, stored, "load_machines").machines
    return [machine.boot for machine in machines] if len(machines) == parts else [""] * parts


def _around(trial: TrialRecord, result: TrialResult | ProgramResult | None, intervals: list[Interval]) -> JsonObject:
    """Combine a trial's result with the events around it; return fields of a :class:`ReadTrial`."""
    around = trial.around
    in_memory = text(around, "in_memory")
    if around.get("behind") and isinstance(result, TrialResult):
        # Clients spoke to a service; the database behind it decides durability.
        result = result.model_copy(update={"engine": read_part(Facts, around["behind"], "behind")})
    if around.get("allowed") and isinstance(result, TrialResult):
        # A worker pinned to CPUs doesn't see the other CPUs.
        cores = read_part(Allowed, around["allowed"], "allowed").cores
        result = result.model_copy(update={"cpu": result.cpu.model_copy(update={"cores": cores})})
    if in_memory and isinstance(result, TrialResult):
        result = _kept_in_memory(result, in_memory)
    return {
        "result": result,
        "intervals": intervals,
        **{
            field: read_part(kind, around[name], name)
            for field, (name, kind) in _PARTS.items()
            if around.get(name) is not None and around[name] != {}
        },
    }


def _kept_in_memory(result: TrialResult, file_system: str) -> TrialResult:
    """Lower the durability class to process-safe, because data in memory is lost on power failure."""
    durability = result.engine.durability
    if durability.durability_class != POWER_SAFE:
        return result
    because = f"the data is in memory ({file_system}), regardless of the settings: {durability.because}"
    lowered = durability.model_copy(update={"durability_class": PROCESS_SAFE, "because": because})
    return result.model_copy(update={"engine": result.engine.model_copy(update={"durability": lowered})})


def _used_s(results: Sequence[TrialResult]) -> float:
    """Return the CPU seconds that trials used in their windows."""
    return sum(result.cpu.process_percent / 100 * (result.watched_s or result.elapsed_s) for result in results)


def _without_others(result: TrialResult, used_s: float) -> TrialResult:
    """Subtract the CPU time of interleaved trials from a result's ``machine_percent``.

    ``used_s``: CPU seconds used by all of them, including this one.
    """
    own, machine = result.cpu.process_percent, result.cpu.machine_percent
    real_s = 0.0 if result.interleaving is None else result.interleaving.real_s
    others = machine - (100 * used_s / real_s if real_s > 0 else 0.0)
    cpu = result.cpu.model_copy(update={"machine_percent": own + max(0.0, others)})
    return result.model_copy(update={"cpu": cpu})
