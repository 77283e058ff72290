"""What follows from what the workers of trials said and what the laboratory saw around them.

The store keeps both as they were. A trial's document is built from what is derived here, each time that it is looked
at, so that a better rule holds for old runs too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.measured.histograms import HistogramError
from dbdyno.analysis.measured.merging import merge_intervals, merge_results
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.engines.classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.model.events.around import (
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
from dbdyno.model.events.base import Part
from dbdyno.model.events.facts import Facts
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.reading import NotAnEvent, read_interval, read_part, read_result
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.result.reading import JsonObject, text
from dbdyno.store.records import TrialRecord

# What lies around a trial, by the field that it is read into: its name in the store, and what it is.
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
    """Give trials, in their order, each with one result for all that it is built from.

    That is: the workers of its clients as one, what was counted and loaded around it, the class of durability that its
    place allows, and of the machine's processors what was not used by the trials that it was interleaved with. A trial
    of which something is not as it is written is a failed one.
    """
    made = [_read(each) for each in trials]
    together: dict[str, list[TrialResult]] = {}
    for each in made:
        if each.together is not None and isinstance(each.result, TrialResult):
            together.setdefault(each.together, []).append(each.result)
    used = {group: _used_s(results) for group, results in together.items()}
    return [
        replace(each, result=_without_others(each.result, used[each.together]))
        if each.together is not None and isinstance(each.result, TrialResult)
        else each
        for each in made
    ]


def _read(trial: TrialRecord) -> ReadTrial:
    """Read what is stored of a trial."""
    read = ReadTrial(
        cell=trial.cell,
        block=trial.block,
        position=trial.position,
        status=trial.status,
        plan=trial.plan,
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
        return replace(read, **_around(trial, result, [read_interval(each) for each in trial.intervals]))
    except NotAnEvent as error:
        words = f"what is stored of it is not what a worker writes: {error}"
    except (HistogramError, ValueError) as error:
        words = f"what its processes said cannot be put together: {error}"
    # One that came to nothing has said why.
    return read if read.status == "failed" else replace(read, status="failed", error=words, error_kind="unreadable")


def _parts_of(said: Sequence[JsonObject]) -> list[tuple[TrialResult, list[Interval]]]:
    """Read what the workers of a trial said whose clients are divided among several."""
    parts: list[tuple[TrialResult, list[Interval]]] = []
    for number, each in enumerate(said):
        words, told = each.get("result"), each.get("intervals")
        if not isinstance(words, dict) or not isinstance(told, list):
            raise NotAnEvent(f"`parts.{number}`: it should have a `result` and `intervals`")
        result = read_result(words)
        if not isinstance(result, TrialResult):
            raise NotAnEvent(f"`parts.{number}.result.event`: it should be 'result'")
        parts.append((result, [read_interval(interval) for interval in told]))
    return parts


def _as_one(
    parts: Sequence[tuple[TrialResult, list[Interval]]], hosts: Sequence[str]
) -> tuple[TrialResult, list[Interval]]:
    """Put together what they said. ``hosts``: on which machine each was."""
    intervals: dict[int, list[tuple[Interval, str]]] = {}
    for (_, told), host in zip(parts, hosts, strict=True):
        for interval in told:
            intervals.setdefault(interval.index, []).append((interval, host))
    merged = [merge_intervals(*map(list, zip(*intervals[index], strict=True))) for index in sorted(intervals)]
    return merge_results([result for result, _ in parts], hosts), merged


def _hosts(trial: TrialRecord, parts: int) -> list[str]:
    """Give the machine of each part of a trial: the same for all, unless its load came from several."""
    told = trial.around.get("load_machines")
    machines = [] if told is None else read_part(LoadMachines, told, "load_machines").machines
    return [each.boot for each in machines] if len(machines) == parts else [""] * parts


def _around(trial: TrialRecord, result: TrialResult | ProgramResult | None, intervals: list[Interval]) -> JsonObject:
    """Give what a trial's own words and what lay around it come to, as fields of a :class:`ReadTrial`."""
    around = trial.around
    in_memory = text(around, "in_memory")
    if around.get("behind") and isinstance(result, TrialResult):
        # What clients spoke to is no database, and what lies behind it is what a commit survives by.
        result = result.model_copy(update={"engine": read_part(Facts, around["behind"], "behind")})
    if around.get("allowed") and isinstance(result, TrialResult):
        # Workers that are kept to some processors know of no others.
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
    """Lower the class of durability: engines know nothing of where their data lie, and no setting can keep these."""
    durability = result.engine.durability
    if durability.durability_class != POWER_SAFE:
        return result
    because = f"the data lie in memory, on {file_system}, whatever the settings: {durability.because}"
    lowered = durability.model_copy(update={"durability_class": PROCESS_SAFE, "because": because})
    return result.model_copy(update={"engine": result.engine.model_copy(update={"durability": lowered})})


def _used_s(results: Sequence[TrialResult]) -> float:
    """Add up the seconds of processors that trials used in their own windows."""
    return sum(each.cpu.process_percent / 100 * (each.watched_s or each.elapsed_s) for each in results)


def _without_others(result: TrialResult, used_s: float) -> TrialResult:
    """Take what interleaved trials used from what a result says of the whole machine (``machine_percent``).

    ``used_s``: what all of them used, this one included, in seconds of processors.
    """
    own, machine = result.cpu.process_percent, result.cpu.machine_percent
    real_s = 0.0 if result.interleaving is None else result.interleaving.real_s
    others = machine - (100 * used_s / real_s if real_s > 0 else 0.0)
    cpu = result.cpu.model_copy(update={"machine_percent": own + max(0.0, others)})
    return result.model_copy(update={"cpu": cpu})
