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
        scheduled=sum(stage.scheduled for stage in parts),
        ok=sum(stage.ok for stage in parts),
        failed=sum(stage.failed for stage in parts),
        skipped=sum(stage.skipped for stage in parts),
        response=_added(stage.response for stage in parts),
        at_least=_added(stage.at_least for stage in parts),
    )


def _added(encoded: Iterable[str]) -> str:
    total = merge(encoded)
    return "" if total is None else total.encode()


def cell_stages(task: TrialTask | None, results: Sequence[TrialResult]) -> list[result.Stage]:
    """Return the stages of a cell over its rounds; empty if the rate doesn't change. Raises HistogramError.

    ``task``: the task of a trial.
    """
    planned = task.arrival.stages if task is not None and isinstance(task.arrival, Open) else ()
    merged = merge_stages([trial_result.stages for trial_result in results])
    stages, start = [], 0.0
    for plan, stage in zip(planned, merged, strict=False):
        seconds = plan.seconds * len(results)
        # Without transactions, the histograms are empty.
        known = bool(stage.scheduled)
        times = Histogram(stage.response).latency_ms(Histogram(stage.at_least)) if known else no_latency()
        stages.append(
            result.Stage(
                start_s=start,
                seconds=plan.seconds,
                rate=[plan.from_, plan.to],
                offered=stage.scheduled / seconds,
                throughput=stage.ok / seconds,
                failed=stage.failed,
                skipped=stage.skipped,
                latency_ms=times,
            )
        )
        start += plan.seconds
    return stages


def cell_beside(results: Sequence[TrialResult]) -> list[result.Beside]:
    """Return the work beside the clients of a cell over its rounds."""
    found = []
    for name in dict.fromkeys(beside.name for one in results for beside in one.beside):
        parts = [beside for one in results for beside in one.beside if beside.name == name]
        executions = sum(beside.ok for beside in parts)
        found.append(
            result.Beside(
                name=name,
                executions=executions,
                mean_s=ratio(sum(beside.total_s for beside in parts), executions),
                max_s=max(beside.longest_s for beside in parts) if executions else None,
                failed=sum(beside.failed for beside in parts),
                failure=next((beside.failure for beside in parts if beside.failure is not None), None),
            )
        )
    return found


def beside_error(found: TrialResult, allowed: Collection[str]) -> str | None:
    """Return why the work beside the clients fails a trial, or None. ``allowed``: the names of what may fail."""
    for beside in found.beside:
        if beside.failed and beside.name not in allowed:
            return f"`{beside.name}` beside the load failed: {beside.failure}"
    return None
