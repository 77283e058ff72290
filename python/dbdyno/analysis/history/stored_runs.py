"""Reading the runs of a history from the store: summaries of all runs, and details of a few."""

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
from dbdyno.store.tables import RUNS
from dbdyno.store.value_checks import check_row, parse_json

COUNTED = ("done", "failed")
"""Status of the runs that are included. A failed run counts for its cells with a result."""

_MANY = 100
"""From this number of runs, summarizing takes some seconds and is announced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run with the summary of each of its cells.

    ``shown``: whether it is within the limit of shown runs. Older runs also enter the search for changes.
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
    """The included runs of an experiment, oldest first, and the excluded ones."""

    runs: list[StoredRun]
    older: int
    """Number of included runs beyond the limit, which aren't shown."""
    uncounted: dict[str, list[str]]
    """Ids of the excluded runs by status."""
    noise: JsonObject | None
    """The result of ``dbdyno noise --runs`` for the experiment."""
    store: Store
    """The open store, for reading details of a few runs."""

    def design(self, run: StoredRun) -> JsonObject:
        """Read the design of a run. Raises StoreError."""
        return self.store.run(run.id).design

    def definition(self, run: StoredRun, cell: str) -> Parts:
        """Read a cell's definition in a run. Raises StoreError."""
        record = self.store.run(run.id)
        trials = self.store.trials(run.id, cell=cell, intervals=False)
        plan = next((trial.plan for trial in trials if trial.status == "done"), {})
        with self.store.interpreting(run.id):
            return definition_parts(plan, record.design, record.definition, cell)

    def facts(self, run: StoredRun, cell: str) -> Facts:
        """Read the facts of a run that can explain a change of a cell. Raises StoreError."""
        with self.store.interpreting(run.id):
            return facts(self._engine(run, cell), run.version, run.host)

    def _engine(self, run: StoredRun, cell: str) -> EngineFacts | ProgramFacts | None:
        latest = {trial.block: trial for trial in self.store.trials(run.id, cell=cell, intervals=False)}
        read = derived(latest[block] for block in sorted(latest))
        results = (trial.result for trial in read if trial.status == "done")
        return next((result.engine for result in results if result is not None), None)


def read_history(
    where: str | None,
    experiment: str,
    limit: int,
    cells: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> StoredRuns:
    """Read the included runs of an experiment, for the given cells or for all; the newest ``limit`` runs are shown.

    All runs are read, since marks must not depend on the number of shown runs. If that takes long, ``tell`` is called
    with a message. Raises ``InputError`` if the store doesn't exist or contains no run of the experiment, and
    ``StoreError`` if the store can't be read.
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
    """Read the runs of an experiment from an open store; see :func:`read_history`."""
    shape = (RUNS.c.id, RUNS.c.started, RUNS.c.status, RUNS.c.version, RUNS.c.summary)
    query = select(*shape, cast(RUNS.c.host, Text).label("host"))
    query = query.where(RUNS.c.experiment == experiment).order_by(RUNS.c.started.desc(), RUNS.c.id)
    with store.reading() as connection:
        rows = connection.execute(query).mappings()
        found = [(check_row(row | {"host": _read_host(row["host"])}), row["summary"]) for row in map(dict, rows)]
        listed = [row for row, _ in found]
        if not listed:
            known = connection.execute(select(RUNS.c.experiment).distinct().order_by(RUNS.c.experiment)).scalars()
            others = ", ".join(f"`{name}`" for name in known)
            hint = f"the store contains runs of {others}" if others else "measure it with dbdyno run"
            raise InputError(f"experiment {experiment}", f"the store {store.location} contains no runs of it", hint)
    summaries = {row["id"]: decode(summary) for row, summary in found}
    _complete(store, summaries, {row["id"]: row["status"] for row in listed}, tell)
    # Exclude runs that measure something else, whatever their status is.
    statuses = {
        row["id"]: own.kind if (own := summaries[row["id"]]) is not None and own.kind else row["status"]
        for row in listed
    }
    counted = [row for row in listed if statuses[row["id"]] in COUNTED]
    shown = {row["id"] for row in counted[:limit]}
    # Omit excluded runs before the first shown run.
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
    """Read the facts of a host. The cache makes runs on the same host share one object."""
    host: JsonObject = parse_json(text)
    return host
