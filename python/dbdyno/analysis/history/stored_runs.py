"""Reading from the store what a history needs of many runs: a summary of each, and of a few runs some details."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from sqlalchemy import Text, cast, select

from dbdyno.analysis.history.facts import Facts, facts
from dbdyno.analysis.history.identity import Parts, definition_parts
from dbdyno.analysis.history.summary import CellSummary, RunSummary, decode, other_kind, summarize
from dbdyno.analysis.measured.derived import derived
from dbdyno.base.errors import InputError
from dbdyno.model.events.facts import Facts as EngineFacts
from dbdyno.model.events.program import ProgramFacts
from dbdyno.store import Store, open_store
from dbdyno.store.records import JsonObject
from dbdyno.store.row_checks import check_row, parse_json
from dbdyno.store.tables import RUNS

COUNTED = ("done", "failed")
"""Status of the runs that count. Of a failed run those cells count that gave a result."""

_MANY = 100
"""From so many runs on, summarizing them takes some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run, and what the trials of each of its cells came to.

    ``shown``: whether it is among the newest that were asked for. Those before decide on changes too.
    """

    id: str
    started: str
    version: str
    host: JsonObject
    shown: bool = True
    planned: dict[str, JsonObject] = field(default_factory=dict)
    """The factors of the planned cells, by id."""
    trials: dict[str, CellSummary] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuns:
    """The runs of an experiment that count, oldest first, and those that do not."""

    runs: list[StoredRun]
    older: int
    """Runs that count beyond the limit; not shown."""
    uncounted: dict[str, list[str]]
    """Ids of the runs that do not count, by their status."""
    noise: JsonObject | None
    """What ``dbdyno noise --runs`` measured of the experiment."""
    store: Store
    """Details of the few runs that need them are read from it."""

    def design(self, run: StoredRun) -> JsonObject:
        """Read the design of a run. Raises StoreError."""
        return self.store.run(run.id).design

    def definition(self, run: StoredRun, cell: str) -> Parts:
        """Read what a cell was in a run. Raises StoreError."""
        record = self.store.run(run.id)
        trials = self.store.trials(run.id, cell=cell, intervals=False)
        plan = next((each.plan for each in trials if each.status == "done"), {})
        with self.store.interpreting(run.id):
            return definition_parts(plan, record.design, record.definition, cell)

    def facts(self, run: StoredRun, cell: str) -> Facts:
        """Read what can explain a change of a cell. Raises StoreError."""
        with self.store.interpreting(run.id):
            return facts(self._engine(run, cell), run.version, run.host)

    def _engine(self, run: StoredRun, cell: str) -> EngineFacts | ProgramFacts | None:
        latest = {each.block: each for each in self.store.trials(run.id, cell=cell, intervals=False)}
        read = derived(latest[block] for block in sorted(latest))
        results = (each.result for each in read if each.status == "done")
        return next((each.engine for each in results if each is not None), None)


def read_history(
    where: str | None,
    experiment: str,
    limit: int,
    cells: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> StoredRuns:
    """Read the runs of an experiment that count, of the given cells or of all; the newest ``limit`` are shown.

    All runs are read, since marks must not depend on how many are shown. ``tell`` is given a line if that takes long.
    Raises ``InputError`` if there is no store or it holds no run of the experiment, ``StoreError`` if it cannot
    be read.
    """
    store = open_store(where, make=False)
    try:
        return read_runs(store, experiment, limit, cells, tell)
    except BaseException:
        store.close()
        raise


def read_runs(
    store: Store,
    experiment: str,
    limit: int = 100,
    cells: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> StoredRuns:
    """Read the runs of an experiment from an open store; as :func:`read_history`."""
    shape = (RUNS.c.id, RUNS.c.started, RUNS.c.status, RUNS.c.version, RUNS.c.summary)
    query = select(*shape, cast(RUNS.c.host, Text).label("host"))
    query = query.where(RUNS.c.experiment == experiment).order_by(RUNS.c.started.desc(), RUNS.c.id)
    with store.reading() as connection:
        rows = connection.execute(query).mappings()
        found = [(check_row(row | {"host": _read_host(row["host"])}), row["summary"]) for row in map(dict, rows)]
        listed = [row for row, _ in found]
        if not listed:
            known = connection.execute(select(RUNS.c.experiment).distinct().order_by(RUNS.c.experiment)).scalars()
            there = ", ".join(f"`{name}`" for name in known)
            hint = f"there are runs of {there}" if there else "start one with dbdyno run"
            raise InputError(f"experiment {experiment}", f"the store {store.place} holds no runs of it", hint)
    summaries = {row["id"]: decode(summary) for row, summary in found}
    _complete(store, summaries, {row["id"]: row["status"] for row in listed}, tell)
    # A run that measures something else does not count, whatever its status is.
    statuses = {
        row["id"]: own.kind if (own := summaries[row["id"]]) is not None and own.kind else row["status"]
        for row in listed
    }
    counted = [row for row in listed if statuses[row["id"]] in COUNTED]
    shown = {row["id"] for row in counted[:limit]}
    # Those before the first run shown are no part of the picture.
    oldest = counted[:limit][-1]["started"] if shown else ""
    uncounted: dict[str, list[str]] = {}
    for row in reversed(listed):
        if statuses[row["id"]] not in COUNTED and row["started"] >= oldest:
            uncounted.setdefault(statuses[row["id"]], []).append(row["id"])
    runs: list[StoredRun] = []
    for row in reversed(counted):
        summary = summaries[row["id"]] or RunSummary(kind="")
        of_cells = {cell: each for cell, each in summary.cells.items() if cells is None or cell in cells}
        made = StoredRun(
            id=row["id"],
            started=row["started"],
            version=row["version"],
            host=row["host"],
            shown=row["id"] in shown,
            planned=summary.planned,
            trials=of_cells,
        )
        runs.append(made)
    older = len(counted) - len(shown)
    return StoredRuns(runs=runs, older=older, uncounted=uncounted, noise=store.noise(experiment), store=store)


def keep_summary(store: Store, run_id: str) -> RunSummary:
    """Summarize a stored run, and store the summary if the store can be written. Raises StoreError."""
    run = store.run(run_id)
    with store.interpreting(run_id):
        found = summarize(run, store.trials(run_id, intervals=False))
        encoded = found.encode()
    store.keep_summary(run_id, encoded)
    return found


def _complete(
    store: Store, summaries: dict[str, RunSummary | None], statuses: dict[str, str], tell: Callable[[str], None]
) -> None:
    """Summarize the runs without a summary, such as the runs of an older store."""
    ended = [run for run, summary in summaries.items() if summary is None and statuses[run] in COUNTED]
    if len(ended) >= _MANY:
        tell(f"summarizing {len(ended):,} runs (only this once) ...")
    for run in ended:
        summaries[run] = keep_summary(store, run)
    for run, summary in summaries.items():
        if summary is None:
            summaries[run] = RunSummary(other_kind(store.run(run).design))


@lru_cache(maxsize=256)
def _read_host(text: str) -> JsonObject:
    """Read the facts of a host. Most runs of a history have the same host, and share the object."""
    host: JsonObject = parse_json(text)
    return host
