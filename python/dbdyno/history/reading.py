"""Reading from the store what a history needs of many runs: intervals and most plans stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select

from dbdyno.errors import InputError
from dbdyno.results.derived import derived
from dbdyno.results.trial import ReadTrial
from dbdyno.store import open_store
from dbdyno.store.records import JsonObject, TrialRecord
from dbdyno.store.shapes import checked
from dbdyno.store.tables import RUNS, TRIALS

COUNTED = ("done", "failed")
"""Status of the runs that count. Of a failed run those cells count that gave a result."""

WHY = "why"
"""In place of its status, that a run is a `dbdyno why`: it measures changes of a cell, and never the experiment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run, and the trials of each cell: the latest of each block, in the order of blocks.

    ``shown``: whether it is among the newest that were asked for. Those before decide on changes too.
    """

    id: str
    started: str
    version: str
    host: JsonObject
    design: JsonObject
    definition: str
    shown: bool = True
    trials: dict[str, list[ReadTrial]] = field(default_factory=dict)
    plans: dict[str, JsonObject] = field(default_factory=dict)
    """The plan of one trial of each cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuns:
    """The runs of an experiment that count, oldest first, and those that do not."""

    runs: list[StoredRun]
    older: int
    """Runs that count beyond the limit; not shown."""
    uncounted: dict[str, list[str]]
    """Ids of the runs that do not count, by their status."""


def read_history(where: str | None, experiment: str, limit: int, cells: list[str] | None = None) -> StoredRuns:
    """Read the runs of an experiment that count, of the given cells or of all; the newest ``limit`` are shown.

    All are read, since what is marked must not depend on how many are shown. ``InputError`` where there is no store or
    it holds no run of the experiment, ``StoreError`` where it cannot be read.
    """
    with _reading(where) as (connection, place):
        shape = (RUNS.c.id, RUNS.c.started, RUNS.c.status, RUNS.c.design)
        query = select(*shape).where(RUNS.c.experiment == experiment).order_by(RUNS.c.started.desc(), RUNS.c.id)
        listed = connection.execute(query).all()
        if not listed:
            known = connection.execute(select(RUNS.c.experiment).distinct().order_by(RUNS.c.experiment)).scalars()
            there = ", ".join(f"`{name}`" for name in known)
            hint = f"there are runs of {there}" if there else "start one with dbdyno run"
            raise InputError(f"experiment {experiment}", f"the store {place} holds no runs of it", hint)
        statuses = {row.id: WHY if _asks_why(row.design) else row.status for row in listed}
        counted = [row for row in listed if statuses[row.id] in COUNTED]
        shown_ids = {row.id for row in counted[:limit]}
        # Those before the first run shown are no part of the picture.
        oldest = counted[:limit][-1].started if shown_ids else ""
        uncounted: dict[str, list[str]] = {}
        for row in reversed(listed):
            if statuses[row.id] not in COUNTED and row.started >= oldest:
                uncounted.setdefault(statuses[row.id], []).append(row.id)
        runs = _runs(connection, experiment, shown_ids, cells)
    return StoredRuns(runs=runs, older=len(counted) - len(shown_ids), uncounted=uncounted)


def _runs(connection: Connection, experiment: str, shown_ids: set[str], cells: list[str] | None) -> list[StoredRun]:
    shape = (RUNS.c.id, RUNS.c.started, RUNS.c.version, RUNS.c.host, RUNS.c.design, RUNS.c.definition)
    wanted = (RUNS.c.experiment == experiment) & RUNS.c.status.in_(COUNTED)
    query = select(*shape).where(wanted).order_by(RUNS.c.started, RUNS.c.id.desc())
    runs = {
        row["id"]: StoredRun(**checked(row), shown=row["id"] in shown_ids)
        for row in connection.execute(query).mappings()
        if not _asks_why(row["design"])
    }
    of_runs = TRIALS.join(RUNS, RUNS.c.id == TRIALS.c.run_id)
    if cells is not None:
        wanted &= TRIALS.c.cell.in_(cells)
    place = (TRIALS.c.run_id, TRIALS.c.cell, TRIALS.c.block, TRIALS.c.position)
    trial = (*place, TRIALS.c.status, TRIALS.c.result, TRIALS.c.parts, TRIALS.c.around)
    latest: dict[tuple[str, str], dict[int, TrialRecord]] = {}
    query = select(*trial).select_from(of_runs).where(wanted).order_by(TRIALS.c.id)
    for row in connection.execute(query).mappings():
        latest.setdefault((row["run_id"], row["cell"]), {})[row["block"]] = TrialRecord(**checked(row))
    by_run: dict[str, list[TrialRecord]] = {}
    for (run, _), blocks in latest.items():
        by_run.setdefault(run, []).extend(blocks[block] for block in sorted(blocks))
    for run, trials in by_run.items():
        for each in derived(trials) if run in runs else ():
            runs[run].trials.setdefault(each.cell, []).append(each)
    # Within a run the trials of a cell differ by their seed only: one plan says what the cell was.
    one = select(func.min(TRIALS.c.id)).select_from(of_runs).where(wanted, TRIALS.c.status == "done")
    one = one.group_by(TRIALS.c.run_id, TRIALS.c.cell)
    plans = select(TRIALS.c.run_id, TRIALS.c.cell, TRIALS.c.plan).where(TRIALS.c.id.in_(one))
    for row in connection.execute(plans).mappings():
        if row["run_id"] in runs:
            runs[row["run_id"]].plans[row["cell"]] = checked(row)["plan"]
    return list(runs.values())


def _asks_why(design: object) -> bool:
    return isinstance(design, dict) and bool(design.get("why"))


@contextmanager
def _reading(where: str | None) -> Iterator[tuple[Connection, str]]:
    """Give a connection to the store and its name; errors speak of the store, as those of ``Store`` do."""
    with closing(open_store(where, make=False)) as store, store.reading() as connection:
        yield connection, store.place
