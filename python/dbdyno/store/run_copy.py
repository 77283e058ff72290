"""Copy runs from one store to another. Copying again adds only new trials.

Two stores have the same run if its id and its unchanging columns are equal. Trials are only ever appended to a run, so
the target has the first trials of the run, or all, and gets the remaining ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from dbdyno.base.errors import StoreError
from dbdyno.store.process import is_gone
from dbdyno.store.store import BASELINE, NOISE, Store
from dbdyno.store.tables import META, RUNS, TRIALS
from dbdyno.store.upsert import insert_into
from dbdyno.store.value_checks import check_row

Outcome = Literal["copied", "added to", "unchanged", "not copied"]

# The columns that never change. They distinguish runs that got the same id in different stores. A resumed run keeps
# the command of its first process.
_IDENTITY = ("id", "experiment", "definition", "seed", "command", "version", "started")
# The columns that change while a run is running and when it ends.
_CHANGES = ("design", "options", "host", "device", "ceiling", "observations", "status", "ended")
# The columns that identify a trial within its run.
_TRIAL_KEY = (TRIALS.c.cell, TRIALS.c.block, TRIALS.c.position, TRIALS.c.status, TRIALS.c.started)
# Number of trials in memory at a time, because a trial may have several megabytes.
_BATCH_SIZE = 8


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The result of copying a run. ``trials``: number of copied trials. ``why``: why the run was not copied."""

    run: str
    experiment: str
    outcome: Outcome
    trials: int = 0
    why: str = ""


def copy_runs(source: Store, target: Store, names: Sequence[str] = ()) -> Iterator[CopyResult]:
    """Copy the named runs, by default all, oldest first. Yields a result per run.

    Each run is copied in one transaction. If all runs are copied, baselines and noise that are missing in the target
    are copied as well. Raises InputError for an unknown name before it copies anything, and StoreError if a store
    can't be read or written.
    """
    ids = [source.run(name).id for name in names] or [run.id for run in reversed(source.runs())]
    for each in dict.fromkeys(ids):
        yield copy_run(source, target, each)
    if not names:
        _copy_baselines_and_noise(source, target)


def copy_run(source: Store, target: Store, run_id: str) -> CopyResult:
    """Copy a run, or its missing trials and changes, in one transaction. Raises StoreError."""
    with source.reading() as reader, target.writing() as writer:
        with source.errors():
            found = reader.execute(select(RUNS).where(RUNS.c.id == run_id)).mappings().one_or_none()
            if found is None:
                raise StoreError(f"store {source.location}: run {run_id} doesn't exist")
            run = _current_row(found)
        # Triggers delete the summary on every change, so it is written last.
        summary = run.pop("summary")
        into = insert_into(RUNS, is_file=target.is_file).values(run)
        # This first statement makes a concurrent copy of the same run wait until this transaction ends.
        into = into.on_conflict_do_nothing(index_elements=[RUNS.c.id]).execution_options(preserve_rowcount=True)
        is_new = writer.execute(into).rowcount == 1
        existing = check_row(writer.execute(select(RUNS).where(RUNS.c.id == run_id).with_for_update()).mappings().one())
        name: str = run["experiment"]
        if any(existing[each] != run[each] for each in _IDENTITY):
            return CopyResult(run_id, name, "not copied", why="the target contains another run with this id")
        with source.errors():
            source_keys = _trial_keys(reader, run_id)
        target_keys = _trial_keys(writer, run_id)
        more = source_keys[len(target_keys) :]
        if source_keys[: len(target_keys)] != target_keys[: len(source_keys)]:
            return CopyResult(run_id, name, "not copied", why="its trials differ from the trials in the target")
        for row in _trials_from(source, reader, run_id, len(target_keys)) if more else ():
            writer.execute(insert(TRIALS).values(row))
        changes = {} if is_new else {each: run[each] for each in _CHANGES if run[each] != existing[each]}
        is_changed = bool(changes) and (
            bool(more) or (len(target_keys) == len(source_keys) and _is_newer(run, existing))
        )
        change = update(RUNS).where(RUNS.c.id == run_id)
        if is_changed:
            writer.execute(change.values(changes))
        if is_new or is_changed or more:
            writer.execute(change.values(summary=summary))
        outcome: Outcome = "copied" if is_new else "added to" if is_changed or more else "unchanged"
        return CopyResult(run_id, name, outcome, len(more))


def _current_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a run's row with status ``interrupted`` if its process was killed, which other machines can't detect."""
    run = check_row(row)
    if run["status"] == "running" and is_gone(run["options"].get("process")):
        run["status"] = "interrupted"
    return run


def _is_newer(run: Mapping[Any, Any], existing: Mapping[Any, Any]) -> bool:
    """Whether a run is more recent than its copy in the target, which has the same trials."""
    if run["ended"] is not None and existing["ended"] is not None:
        return bool(run["ended"] > existing["ended"])
    # If another process has resumed the copy, only that process may change it.
    return existing["ended"] is None and run["options"].get("process") == existing["options"].get("process")


def _trial_keys(connection: Connection, run_id: str) -> list[tuple[Any, ...]]:
    query = select(*_TRIAL_KEY).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.id)
    return [tuple(row) for row in connection.execute(query)]


def _trials_from(store: Store, connection: Connection, run_id: str, first: int) -> Iterator[dict[str, Any]]:
    """Yield the trials of a run without their ids, beginning with number ``first`` (from 0)."""
    columns = [column for column in TRIALS.c if column.name != "id"]
    query = select(*columns).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.id).offset(first)
    with store.errors():
        rows = connection.execution_options(stream_results=True, yield_per=_BATCH_SIZE).execute(query)
        # Errors in the caller's loop body are not raised here, so they aren't attributed to this store.
        yield from (check_row(row) for row in rows.mappings())


def _copy_baselines_and_noise(source: Store, target: Store) -> None:
    """Copy baselines and noise that are missing in the target."""
    with source.reading() as reader:
        named = META.c.key.startswith(BASELINE) | META.c.key.startswith(NOISE)
        rows = [dict(row) for row in reader.execute(select(META).where(named)).mappings()]
    into = insert_into(META, is_file=target.is_file)
    with target.writing() as writer:
        for row in rows:
            writer.execute(into.values(row).on_conflict_do_nothing(index_elements=[META.c.key]))
