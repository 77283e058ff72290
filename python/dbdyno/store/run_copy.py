"""Copying runs from one store to another. What is there already is left as it is, so that copying again adds nothing.

A run is known by its id and by what never changes of it. Its trials only ever become more: the copy has the first of
them, or all, and gets the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from dbdyno.base.errors import StoreError
from dbdyno.store.process import is_gone
from dbdyno.store.row_checks import checked
from dbdyno.store.store import BASELINE, NOISE, Store
from dbdyno.store.tables import META, RUNS, TRIALS
from dbdyno.store.upsert import insert_into

Outcome = Literal["copied", "added to", "there already", "not copied"]

# What tells a run from another that was given the same id in another store. The command is that of the first process.
_IDENTITY = ("id", "experiment", "definition", "seed", "command", "version", "started")
# What becomes known of a run while it goes on, and when it ends.
_CHANGES = ("design", "options", "host", "device", "ceiling", "observations", "status", "ended")
# What tells a trial from the others of its run.
_MARK = (TRIALS.c.cell, TRIALS.c.block, TRIALS.c.position, TRIALS.c.status, TRIALS.c.started)
# Trials that are held in memory at a time: each may have some megabytes.
_AT_A_TIME = 8


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a run: how many trials the other store has got, and why not where it was not copied."""

    run: str
    experiment: str
    outcome: Outcome
    trials: int = 0
    why: str = ""


def copy_runs(source: Store, target: Store, names: Sequence[str] = ()) -> Iterator[Copied]:
    """Copy the runs that are named, or all, oldest first; give what became of each. Each is copied whole or not at all.

    Where all are copied, so are baselines and noise that the target has none of. Raises InputError for a name that is
    no run's, before anything is copied, and StoreError where a store cannot be read or written.
    """
    ids = [source.run(name).id for name in names] or [each.id for each in reversed(source.runs())]
    for each in dict.fromkeys(ids):
        yield copy_run(source, target, each)
    if not names:
        _copy_kept(source, target)


def copy_run(source: Store, target: Store, run_id: str) -> Copied:
    """Copy a run, or what the target lacks of it, in one transaction. Raises StoreError."""
    with source.reading() as there, target.writing() as here:
        with source.errors():
            found = there.execute(select(RUNS).where(RUNS.c.id == run_id)).mappings().one_or_none()
            if found is None:
                raise StoreError(f"store {source.place}: it holds no run {run_id}")
            run = _as_it_is(found)
        # It goes with every change, and is therefore written last.
        summary = run.pop("summary")
        into = insert_into(RUNS, is_file=target.is_file).values(run)
        # By this first statement one who copies the same run at this moment waits for the other.
        into = into.on_conflict_do_nothing(index_elements=[RUNS.c.id]).execution_options(preserve_rowcount=True)
        is_new = here.execute(into).rowcount == 1
        held = checked(here.execute(select(RUNS).where(RUNS.c.id == run_id).with_for_update()).mappings().one())
        name: str = run["experiment"]
        if any(held[each] != run[each] for each in _IDENTITY):
            return Copied(run_id, name, "not copied", why="another run has its id there")
        with source.errors():
            marks = _marks(there, run_id)
        known = _marks(here, run_id)
        more = marks[len(known) :]
        if marks[: len(known)] != known[: len(marks)]:
            return Copied(run_id, name, "not copied", why="it has gone on differently there")
        for row in _trials_from(source, there, run_id, len(known)) if more else ():
            here.execute(insert(TRIALS).values(row))
        changes = {} if is_new else {each: run[each] for each in _CHANGES if run[each] != held[each]}
        is_changed = bool(changes) and (bool(more) or (len(known) == len(marks) and _is_newer(run, held)))
        own = update(RUNS).where(RUNS.c.id == run_id)
        if is_changed:
            here.execute(own.values(changes))
        if is_new or is_changed or more:
            here.execute(own.values(summary=summary))
        outcome: Outcome = "copied" if is_new else "added to" if is_changed or more else "there already"
        return Copied(run_id, name, outcome, len(more))


def _as_it_is(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Give a run's row. One whose process was killed could not say so, and nobody elsewhere can find it out."""
    run = checked(row)
    if run["status"] == "running" and is_gone(run["options"].get("process")):
        run["status"] = "interrupted"
    return run


def _is_newer(run: Mapping[Any, Any], held: Mapping[Any, Any]) -> bool:
    """Whether a run with the same trials is further on than the copy that is held."""
    if run["ended"] is not None and held["ended"] is not None:
        return bool(run["ended"] > held["ended"])
    # Of two that are under way, one that another process has gone on with is another's to change.
    return held["ended"] is None and run["options"].get("process") == held["options"].get("process")


def _marks(connection: Connection, run_id: str) -> list[tuple[Any, ...]]:
    query = select(*_MARK).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.id)
    return [tuple(row) for row in connection.execute(query)]


def _trials_from(store: Store, connection: Connection, run_id: str, first: int) -> Iterator[dict[str, Any]]:
    """Give the trials of a run from the one with that number on, without the numbers that a store gave them."""
    columns = [each for each in TRIALS.c if each.name != "id"]
    query = select(*columns).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.id).offset(first)
    with store.errors():
        found = connection.execution_options(stream_results=True, yield_per=_AT_A_TIME).execute(query)
        # What goes wrong while the caller has a row is not this store's: a generator does not see it.
        yield from (checked(row) for row in found.mappings())


def _copy_kept(source: Store, target: Store) -> None:
    """Copy what is kept by a name and is not there yet: baselines, and how much runs differ."""
    with source.reading() as there:
        named = META.c.key.startswith(BASELINE) | META.c.key.startswith(NOISE)
        rows = [dict(row) for row in there.execute(select(META).where(named)).mappings()]
    into = insert_into(META, is_file=target.is_file)
    with target.writing() as here:
        for row in rows:
            here.execute(into.values(row).on_conflict_do_nothing(index_elements=[META.c.key]))
