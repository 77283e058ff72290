"""The data that a cell's trials used: growth, size on disk, timed statements, and the memory limit."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.model.events.surroundings import After
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result.cell import Cell, Growth, JsonObject, StoredObject
from dbdyno.model.result.reading import mean, ratio


def cell_growth(trials: Sequence[ReadTrial], windows: int) -> Growth | None:
    """Return the size of the growing table in the cell's trials and the cost of filling it; None without one.

    ``windows``: trials per size of the table.
    """
    growing = [trial.growing for trial in trials if trial.growing is not None]
    if not growing:
        return None
    steps = [step for each in growing for step in each.filled]
    rows, seconds = sum(step.rows for step in steps), sum(step.seconds for step in steps if step.rows)
    return Growth(
        rows=mean(each.rows for each in growing) or 0.0,
        end_rows=_rows_at_end(trials),
        filled_rows=rows,
        fill_s=seconds,
        fill_rows_per_s=rows / seconds if rows and seconds else None,
        windows=windows,
    )


def _rows_at_end(trials: Sequence[ReadTrial]) -> float:
    last = next(trial for trial in reversed(trials) if trial.growing is not None)
    rows = 0.0 if last.growing is None else float(last.growing.rows)
    return rows + last.result.rows_changed_in_all() if isinstance(last.result, TrialResult) else rows


def cell_space(trials: Sequence[ReadTrial]) -> list[StoredObject]:
    """Return the tables and indexes as last measured."""
    after = _last(trials)
    return [] if after is None else [StoredObject(**each.model_dump()) for each in after.space]


def tree(cell: Cell) -> StoredObject | None:
    """Return the B-tree that receives new keys: the largest index, or the table without one; None if unknown."""
    indexes = [stored_object for stored_object in cell.space if stored_object.kind == "index"]
    return max(indexes or cell.space, key=lambda stored_object: stored_object.bytes, default=None)


def device_calls(cell: Cell, what: Literal["reads", "writes", "flushes"]) -> float | None:
    """Return the device reads, writes or flushes per transaction, as counted by the kernel; None if unknown."""
    disk, rounds = cell.disk, cell.rounds
    per_s = {"reads": disk.reads_per_s, "writes": disk.writes_per_s, "flushes": disk.flushes_per_s}
    return ratio(per_s[what], mean(round_.transactions_per_s for round_ in rounds))


def cell_timed(trials: Sequence[ReadTrial]) -> dict[str, float]:
    """Return the mean seconds of each statement timed after a trial, by name."""
    seconds: dict[str, list[float]] = {}
    for trial in trials:
        for timed_step in trial.after.timed if trial.after is not None else ():
            seconds.setdefault(timed_step.name, []).append(timed_step.seconds)
    return {name: fmean(values) for name, values in seconds.items()}


def unmeasured_data(trials: Sequence[ReadTrial]) -> dict[str, str]:
    """Return the reasons why data could not be inspected or timed, by what failed."""
    after = _last(trials)
    return {} if after is None else after.failed


def memory_limit(cell: Cell) -> float | None:
    """Return the memory limit in effect in bytes; None if no limit was set or it could not be applied."""
    limit = cell.memory_limit
    return None if limit is None or limit["refused"] is not None else float(limit["bytes"])


def cell_memory_limit(trials: Sequence[ReadTrial]) -> JsonObject | None:
    """Return the requested memory limit: ``bytes``, ``means`` and, if it could not be applied, why (``refused``)."""
    limits = [trial.limited for trial in trials if trial.limited is not None]
    if not limits:
        return None
    refused = next((limit for limit in limits if limit.refused is not None), limits[-1])
    return refused.model_dump()


def _last(trials: Sequence[ReadTrial]) -> After | None:
    return next((trial.after for trial in reversed(trials) if trial.after is not None), None)
