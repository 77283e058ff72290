"""What follows from what the workers of trials said and what the laboratory saw around them.

The store keeps both as they were. A trial's document is built from what is derived here, each time that it is looked
at, so that a better rule holds for old runs too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from dbdyno.document.reading import JsonObject, number, objects, part, text
from dbdyno.engines.classes import POWER_SAFE, PROCESS_SAFE
from dbdyno.results.histograms import HistogramError
from dbdyno.results.merging import merge_intervals, merge_results
from dbdyno.store.records import TrialRecord


def derived(trials: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Give trials, in their order, each with one result for all that it is built from.

    That is: the workers of its clients as one, what was counted and loaded around it, the class of durability that its
    place allows, and of the machine's processors what was not used by the trials that it was interleaved with.
    """
    made = [_with_surroundings(_as_one(each)) for each in trials]
    together: dict[str, list[JsonObject]] = {}
    for each in made:
        group = text(each.around, "together")
        if group is not None and each.result is not None:
            together.setdefault(group, []).append(each.result)
    used = {group: _used_s(results) for group, results in together.items()}
    return [
        replace(each, result=_without_others(each.result, used[group]))
        if each.result is not None and (group := text(each.around, "together")) is not None
        else each
        for each in made
    ]


def _as_one(trial: TrialRecord) -> TrialRecord:
    """Put together what the workers of a trial said whose clients are processes."""
    if not trial.parts:
        return trial
    try:
        result = merge_results([part(each, "result") for each in trial.parts])
        intervals: dict[int, list[JsonObject]] = {}
        for each in chain.from_iterable(objects(of.get("intervals")) for of in trial.parts):
            intervals.setdefault(each["index"], []).append(each)
        merged = [merge_intervals(intervals[index]) for index in sorted(intervals)]
    except (HistogramError, KeyError, TypeError, ValueError) as error:
        words = f"what its processes said cannot be put together: {error}"
        return replace(trial, status="failed", error=words, error_kind="unreadable")
    return replace(trial, result=result, intervals=merged)


def _with_surroundings(trial: TrialRecord) -> TrialRecord:
    result = trial.result
    if result is None:
        return trial
    more = {name: trial.around[name] for name in ("loaded", "counted") if part(trial.around, name)}
    interleaving = part(trial.plan, "task", "interleaving")
    if interleaving and part(result, "interleaving"):
        more["interleaving"] = part(result, "interleaving") | interleaving
    durability = part(result, "engine", "durability")
    in_memory = text(trial.around, "in_memory")
    if in_memory and durability.get("class") == POWER_SAFE:
        # Engines know nothing of where their data lie, and no setting can keep these.
        because = f"the data lie in memory, on {in_memory}, whatever the settings: {durability.get('because')}"
        more["engine"] = result["engine"] | {"durability": durability | {"class": PROCESS_SAFE, "because": because}}
    return replace(trial, result=result | more) if more else trial


def _used_s(results: Sequence[JsonObject]) -> float:
    """Add up the seconds of processors that trials used in their own windows."""
    return sum(
        (number(part(each, "cpu"), "process_percent") or 0.0)
        / 100
        * (number(each, "watched_s") or number(each, "elapsed_s") or 0.0)
        for each in results
    )


def _without_others(result: JsonObject, used_s: float) -> JsonObject:
    """Take what interleaved trials used from what a result says of the whole machine (``machine_percent``).

    ``used_s``: what all of them used, this one included, in seconds of processors.
    """
    cpu = part(result, "cpu")
    real_s, own = number(part(result, "interleaving"), "real_s") or 0.0, number(cpu, "process_percent")
    machine = number(cpu, "machine_percent")
    if own is None or machine is None:
        return result
    others = machine - (100 * used_s / real_s if real_s > 0 else 0.0)
    return result | {"cpu": cpu | {"machine_percent": own + max(0.0, others)}}
