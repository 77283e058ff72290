"""The stages of an open loop whose rate changes, and the work beside the clients, over all rounds of a cell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dbdyno.analysis.measured.histograms import Histogram, merge, no_latency
from dbdyno.model.events.trial import Stage, TrialResult
from dbdyno.model.plan.tasks import Open, TrialTask
from dbdyno.model.result import cell as result
from dbdyno.model.result.reading import ratio


def merge_stages(stages: Sequence[Sequence[Stage]]) -> list[Stage]:
    """Merge the stages of several processes or rounds. Raises HistogramError."""
    return [_merged(same) for same in zip(*stages, strict=False)]


def _merged(same: Iterable[Stage]) -> Stage:
    parts = list(same)
    return Stage(
        scheduled=sum(each.scheduled for each in parts),
        ok=sum(each.ok for each in parts),
        failed=sum(each.failed for each in parts),
        skipped=sum(each.skipped for each in parts),
        response=_added(each.response for each in parts),
        at_least=_added(each.at_least for each in parts),
    )


def _added(encoded: Iterable[str]) -> str:
    total = merge(encoded)
    return "" if total is None else total.encode()


def cell_stages(task: TrialTask | None, results: Sequence[TrialResult]) -> list[result.Stage]:
    """Return the stages of a cell over its rounds; empty if the rate doesn't change. Raises HistogramError.

    ``task``: the task of a trial.
    """
    planned = task.arrival.stages if task is not None and isinstance(task.arrival, Open) else ()
    merged = merge_stages([each.stages for each in results])
    found, start = [], 0.0
    for plan, each in zip(planned, merged, strict=False):
        seconds = plan.seconds * len(results)
        # Without transactions, the histograms are empty.
        known = bool(each.scheduled)
        times = Histogram(each.response).latency_ms(Histogram(each.at_least)) if known else no_latency()
        found.append(
            result.Stage(
                start_s=start,
                seconds=plan.seconds,
                rate=[plan.from_, plan.to],
                offered=each.scheduled / seconds,
                throughput=each.ok / seconds,
                failed=each.failed,
                skipped=each.skipped,
                latency_ms=times,
            )
        )
        start += plan.seconds
    return found


def cell_beside(results: Sequence[TrialResult]) -> list[result.Beside]:
    """Return the work beside the clients of a cell over its rounds."""
    found = []
    for name in dict.fromkeys(each.name for one in results for each in one.beside):
        parts = [each for one in results for each in one.beside if each.name == name]
        executions = sum(each.ok for each in parts)
        found.append(
            result.Beside(
                name=name,
                executions=executions,
                mean_s=ratio(sum(each.total_s for each in parts), executions),
                max_s=max(each.longest_s for each in parts) if executions else None,
                failed=sum(each.failed for each in parts),
                failure=next((each.failure for each in parts if each.failure is not None), None),
            )
        )
    return found


def beside_error(found: TrialResult, allowed: Collection[str]) -> str | None:
    """Return why the work beside the clients fails a trial, or None. ``allowed``: the names of what may fail."""
    for each in found.beside:
        if each.failed and each.name not in allowed:
            return f"`{each.name}` beside the load failed: {each.failure}"
    return None
