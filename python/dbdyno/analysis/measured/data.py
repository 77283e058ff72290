"""The data that the trials of a cell worked on: how they grew, what they take on disk, what was timed on them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.model.events.around import After
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.result.cell import Cell, Growth, JsonObject, StoredObject
from dbdyno.model.result.reading import mean, ratio


def cell_growth(trials: Sequence[ReadTrial], windows: int) -> Growth | None:
    """Return how the growing table stood at the cell's trials, and what it took to fill it so far.

    ``windows``: trials at each size of a growth.
    """
    growing = [each.growing for each in trials if each.growing is not None]
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
    last = next(each for each in reversed(trials) if each.growing is not None)
    rows = 0.0 if last.growing is None else float(last.growing.rows)
    return rows + last.result.rows_changed_in_all() if isinstance(last.result, TrialResult) else rows


def cell_space(trials: Sequence[ReadTrial]) -> list[StoredObject]:
    """Return the tables and indexes as they were last looked at."""
    after = _last(trials)
    return [] if after is None else [StoredObject(**each.model_dump()) for each in after.space]


def tree(cell: Cell) -> StoredObject | None:
    """Return what new keys go into: the largest index, or the table where it has none of its own; none: not known."""
    indexes = [each for each in cell.space if each.kind == "index"]
    return max(indexes or cell.space, key=lambda each: each.bytes, default=None)


def asked_of_device(cell: Cell, what: Literal["reads", "writes", "flushes"]) -> float | None:
    """Return how often a transaction made the device read, write or flush, as the kernel counts."""
    disk, rounds = cell.disk, cell.rounds
    per_s = {"reads": disk.reads_per_s, "writes": disk.writes_per_s, "flushes": disk.flushes_per_s}
    return ratio(per_s[what], mean(each.transactions_per_s for each in rounds))


def cell_timed(trials: Sequence[ReadTrial]) -> dict[str, float]:
    """Return the mean seconds of each statement that was timed when a trial was over, by its name."""
    seconds: dict[str, list[float]] = {}
    for trial in trials:
        for each in trial.after.timed if trial.after is not None else ():
            seconds.setdefault(each.name, []).append(each.seconds)
    return {name: fmean(values) for name, values in seconds.items()}


def not_looked_at(trials: Sequence[ReadTrial]) -> dict[str, str]:
    """Return what of the data could not be looked at or timed, and why."""
    after = _last(trials)
    return {} if after is None else after.failed


def memory_limit(cell: Cell) -> float | None:
    """Return the bytes that a cell's memory was limited to; none where it was not, whatever was asked for."""
    limit = cell.memory_limit
    return None if limit is None or limit["refused"] is not None else float(limit["bytes"])


def cell_memory_limit(trials: Sequence[ReadTrial]) -> JsonObject | None:
    """Return the limit to memory that was asked for: ``bytes``, its ``means``, and why it was ``refused`` if it was."""
    limits = [each.limited for each in trials if each.limited is not None]
    if not limits:
        return None
    refused = next((each for each in limits if each.refused is not None), limits[-1])
    return refused.model_dump()


def _last(trials: Sequence[ReadTrial]) -> After | None:
    return next((each.after for each in reversed(trials) if each.after is not None), None)
