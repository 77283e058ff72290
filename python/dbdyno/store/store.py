"""Read and write runs and trials."""

from __future__ import annotations

import hashlib
import json
import platform
import secrets
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Text, Update, delete, func, insert, select, update
from sqlalchemy import cast as sql_cast

from dbdyno.base.errors import InputError, StoreError
from dbdyno.base.paths import default_path, named_store
from dbdyno.base.text import first_of
from dbdyno.base.timestamps import utc_now
from dbdyno.model.result.reading import part
from dbdyno.store.errors import RowRefused, store_errors, unreadable
from dbdyno.store.masking import clean_json, mask_command, storable
from dbdyno.store.pool import Pool, open_pool, read_only_error, reading
from dbdyno.store.process import is_gone
from dbdyno.store.records import JsonObject, RunRecord, RunStatus, RunSummary, TrialRecord
from dbdyno.store.response_timeout import response_timeout
from dbdyno.store.run_lock import Release, lock_run
from dbdyno.store.tables import META, RUNS, TRIALS
from dbdyno.store.upsert import insert_into
from dbdyno.store.urls import display_name, is_file, store_url
from dbdyno.store.value_checks import check_row, parse_json

__all__ = ["Store", "default_path", "open_store"]

# Letters and digits that are hard to confuse; without vowels they don't spell words.
_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"
_ID_LETTERS = 4

# Prefixes of keys in the META table. The value of a baseline is the id of a run.
BASELINE = "baseline:"
# A digest of the experiment's name follows, because a key has at most 64 characters.
NOISE = "noise:"
# The key of the destination: the store that this file contains a run for.
_DESTINATION = "kept for"
_ID_TRIES = 20


def open_store(where: str | None = None, *, make: bool = True, write: bool | None = None) -> Store:
    """Open a store. ``where``: a path or a PostgreSQL URL.

    The default is the store of ``DBDYNO_STORE``, or without it the one in the user's data directory. ``make``: create
    the store if it doesn't exist; the one in the user's data directory is always created. ``write``: require write
    access, by default the value of ``make``. Raises ``InputError`` for an invalid URL or a missing store,
    ``StoreError`` if the store can't be used or is read-only.
    """
    url = store_url(where)
    return Store(open_pool(url, make=make or named_store(where) is None, write=make if write is None else write))


@dataclass(frozen=True, slots=True)
class UnsentRun:
    """A run that could not be stored. ``location``: the local copy. ``why``: the error, with a command to copy it."""

    location: str
    why: StoreError


class Store:
    """Runs and their trials. Every method commits before it returns; several processes may write concurrently."""

    def __init__(self, pool: Pool) -> None:
        """Use :func:`open_store` instead. ``pool``: its number of users already includes this object."""
        self._pool = pool
        self._engine = pool.engine
        self._url = pool.url
        # Closing removes the WAL files, so do it even if the process ends without a call of close().
        self._release = weakref.finalize(self, pool.release)
        self.unsent: dict[str, UnsentRun] = {}
        """Runs that could not be stored, by id (see ``local_copy.py``)."""

    @property
    def is_file(self) -> bool:
        """Whether it is a SQLite file, not a PostgreSQL database."""
        return is_file(self._url)

    @property
    def location(self) -> str:
        """The path of the store, or its URL without the password."""
        return display_name(self._url)

    def is_same(self, other: Store) -> bool:
        """Whether both are the same store, possibly with different names."""
        if self.is_file and other.is_file:
            return Path(self._url.database or "").samefile(other._url.database or "")
        return self._url == other._url

    def close(self) -> None:
        """Close the store's connections, unless other ``Store`` objects use them."""
        self._release()

    def begin_run(self, run: RunRecord) -> str:
        """Store a run that starts now and return its new id, such as ``20260314-k7wd``.

        ``run.id`` and ``run.status`` are ignored; an empty ``run.started`` means now.
        """
        started = run.started or utc_now()
        values = clean_json(asdict(run))
        values |= {"command": mask_command(run.command), "seed": str(run.seed), "started": started}
        values |= {"status": "running", "ended": None}
        for _ in range(_ID_TRIES):
            values["id"] = (
                started[:10].replace("-", "") + "-" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LETTERS))
            )
            try:
                with self.writing() as connection:
                    connection.execute(insert(RUNS).values(values))
            except RowRefused:
                continue
            return cast("str", values["id"])
        raise StoreError(f"store {self.location}: found no unused id for a run; try again")

    def set_baseline(self, name: str, run_id: str) -> None:
        """Store a run as the baseline ``name``, replacing a previous one."""
        self._put(BASELINE + name, run_id)

    def baselines(self) -> dict[str, str]:
        """Return the ids of the baselines, by name."""
        query = select(META.c.key, META.c.value).where(META.c.key.startswith(BASELINE)).order_by(META.c.key)
        with self.reading() as connection:
            return {row.key.removeprefix(BASELINE): row.value for row in connection.execute(query)}

    def remove_baseline(self, name: str) -> bool:
        """Remove a baseline, but not its run; return whether it existed."""
        with self.writing() as connection:
            return bool(connection.execute(delete(META).where(META.c.key == BASELINE + name)).rowcount)

    def set_noise(self, experiment: str, measured: JsonObject) -> None:
        """Store the measured noise of an experiment: the differences between identical runs."""
        self._put(_noise_key(experiment), json.dumps(clean_json(measured)))

    def noise(self, experiment: str) -> JsonObject | None:
        """Return the measured noise of an experiment; None if it has not been measured."""
        query = select(META.c.value).where(META.c.key == _noise_key(experiment))
        with self.reading() as connection:
            found = connection.execute(query).scalar()
        try:
            known = json.loads(found) if found else None
        except ValueError:
            return None
        return known if isinstance(known, dict) else None

    def set_destination(self, location: str) -> None:
        """Record the store to which the run in this file is to be copied."""
        self._put(_DESTINATION, location)

    def destination(self) -> str | None:
        """Return the store to which the run in this file is to be copied; None for an ordinary store."""
        with self.reading() as connection:
            found: str | None = connection.execute(select(META.c.value).where(META.c.key == _DESTINATION)).scalar()
        return found

    def add_trial(self, run_id: str, trial: TrialRecord) -> int:
        """Store a trial of a run and return its id. It is on disk when this returns."""
        values = {name: clean_json(value) for name, value in asdict(trial).items() if name != "id"}
        values |= {name: storable(values[name]) for name in ("error", "error_kind") if values[name] is not None}
        values |= {"run_id": run_id, "started": trial.started or utc_now()}
        try:
            with self.writing() as connection:
                number = connection.execute(insert(TRIALS).values(values)).inserted_primary_key
                connection.execute(_update_summarized(run_id).values(summary=None))
        except RowRefused as error:
            raise StoreError(f"store {self.location}: run {run_id} doesn't exist") from error
        return int(number[0]) if number is not None else 0

    def update_run(
        self,
        run_id: str,
        *,
        host: JsonObject | None = None,
        device: JsonObject | None = None,
        ceiling: JsonObject | None = None,
        design: JsonObject | None = None,
        options: JsonObject | None = None,
        status: RunStatus | None = None,
    ) -> None:
        """Change the given columns of a run. The status ``running`` resumes it."""
        given: dict[str, Any] = {"host": host, "device": device, "ceiling": ceiling, "design": design}
        given |= {"options": options, "status": status}
        values = {name: clean_json(value) for name, value in given.items() if value is not None}
        if status == "running":
            values |= {"ended": None, "summary": None}
        if values:
            self._change_run(run_id, values)

    def lock_run(self, run: RunRecord) -> Release:
        """Lock a run, so that no other process executes it; return a function that releases the lock.

        Raises InputError if another process has locked it, StoreError if the store can't be used.
        """
        path = Path(self._url.database or "") if self.is_file else None
        with store_errors(self._url):
            release = lock_run(self._engine, path, run.id)
        if release is None:
            raise running_error(run)
        return release

    def resume_run(self, run: RunRecord, options: JsonObject) -> None:
        """Resume a run, unless it has changed since it was read as ``run``. ``options``: must contain this process.

        This is one statement, so if several processes try it, only one succeeds. Raises InputError in the others.
        """
        query = select(RUNS.c.status, sql_cast(RUNS.c.options, Text)).where(RUNS.c.id == run.id)
        with self.reading() as connection:
            status, text = connection.execute(query).one()
            is_as_read = parse_json(text) == run.options
        as_read = (RUNS.c.id == run.id) & (RUNS.c.status == status) & (sql_cast(RUNS.c.options, Text) == text)
        values = {"status": "running", "options": clean_json(options), "ended": None, "summary": None}
        if is_as_read:
            with self.writing() as connection:
                is_as_read = connection.execute(update(RUNS).where(as_read).values(values)).rowcount == 1
        if not is_as_read:
            raise running_error(self.run(run.id))

    def finish_run(self, run_id: str, status: RunStatus, observations: Iterable[Mapping[str, object]] = ()) -> None:
        """Set the end of a run to now, and store its status and the controller's observations."""
        self._change_run(run_id, {"status": status, "observations": clean_json(list(observations)), "ended": utc_now()})

    def runs(self, experiment: str | None = None, limit: int | None = None) -> list[RunSummary]:
        """Return the runs, newest first, with their numbers of trials with and without a result.

        A run whose process was killed is returned with the status ``interrupted``.
        """
        shape = (RUNS.c.id, RUNS.c.experiment, RUNS.c.started, RUNS.c.ended, RUNS.c.status, RUNS.c.version)
        listed = select(*shape).order_by(RUNS.c.started.desc(), RUNS.c.id)
        if experiment is not None:
            listed = listed.where(RUNS.c.experiment == experiment)
        if limit is not None:
            listed = listed.limit(limit)
        # Count only the trials of listed runs.
        chosen = listed.subquery()
        own = TRIALS.c.run_id == chosen.c.id
        done = select(func.count()).where(own, TRIALS.c.status == "done").scalar_subquery()
        failed = select(func.count()).where(own, TRIALS.c.status != "done").scalar_subquery()
        query = select(chosen, done.label("done"), failed.label("failed"))
        query = query.order_by(chosen.c.started.desc(), chosen.c.id)
        unfinished = select(RUNS.c.id, RUNS.c.options).where(RUNS.c.status == "running")
        with self.reading() as connection:
            running = [check_row(row) for row in connection.execute(unfinished).mappings()]
            killed = {row["id"] for row in running if is_gone(row["options"].get("process"))}
            found = [RunSummary(**check_row(row)) for row in connection.execute(query).mappings()]
        return [replace(run, status="interrupted") if run.id in killed else run for run in found]

    def run(self, name: str) -> RunRecord:
        """Return a run by its id, a prefix of its id, the part after the date, or ``last``.

        Raises ``InputError`` if no run or several runs match the name.
        """
        run_id = self._find(name)
        with self.reading() as connection:
            row = connection.execute(select(*_RUN).where(RUNS.c.id == run_id)).mappings().one()
            run = RunRecord(**{**check_row(row), "seed": int(row["seed"])})
        killed = run.status == "running" and is_gone(run.options.get("process"))
        return replace(run, status="interrupted") if killed else run

    @property
    def reader(self) -> Store | None:
        """A store to read other runs from; ``None`` if it is unavailable."""
        return self

    def why_runs(self, experiment: str) -> Iterator[RunRecord]:
        """Yield the runs of `dbdyno why` about an experiment, newest first."""
        # Filter by text first, because parsing the options of all runs takes long.
        named = sql_cast(RUNS.c.options, Text).contains('"cell"')
        query = select(RUNS.c.id, RUNS.c.options).where(RUNS.c.experiment == experiment, named)
        with self.reading() as connection:
            rows = [check_row(row) for row in connection.execute(query.order_by(RUNS.c.started.desc())).mappings()]
        for row in rows:
            if "cell" in row["options"]:
                yield self.run(row["id"])

    def trials(self, run_id: str, *, cell: str | None = None, intervals: bool = True) -> list[TrialRecord]:
        """Return the trials of a run or a cell, in the order in which they ended.

        If ``intervals`` is false, their ``intervals`` are empty; reading them takes most of the time.
        """
        columns = [column for column in _TRIAL if intervals or column.name != "intervals"]
        query = select(*columns).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.id)
        if cell is not None:
            query = query.where(TRIALS.c.cell == cell)
        with self.reading() as connection:
            return [TrialRecord(**check_row(row)) for row in connection.execute(query).mappings()]

    def keep_summary(self, run_id: str, summary: str) -> None:
        """Store the summary of a run. Errors are ignored, because the summary can be computed again."""
        with suppress(StoreError), self.writing() as connection:
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(summary=summary))

    def _find(self, name: str) -> str:
        with self.reading() as connection:
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == name)).scalar() is not None:
                return name
            query = select(RUNS.c.id).order_by(RUNS.c.started.desc(), RUNS.c.id)
            ids: list[str] = list(connection.execute(query.limit(1 if name == "last" else None)).scalars())
        if not ids:
            raise InputError(
                f"run {name}", f"the store {self.location} contains no runs", "start one with `dbdyno run`"
            )
        if name == "last":
            return ids[0]
        found = [each for each in ids if name and (each.startswith(name) or each.rpartition("-")[2] == name)]
        if not found:
            raise InputError(
                f"run {name}", f"no such run in the store {self.location}", "list the runs with `dbdyno runs`"
            )
        if len(found) > 1:
            some = first_of(found, 5)
            raise InputError(f"run {name}", f"{len(found)} runs match ({some})", "give more characters of the id")
        return found[0]

    def _change_run(self, run_id: str, values: dict[str, Any]) -> None:
        with self.writing() as connection:
            changed = connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(values)).rowcount
        if not changed:
            raise StoreError(f"store {self.location}: run {run_id} no longer exists")

    def _put(self, key: str, value: str) -> None:
        """Insert or replace the value of a key; safe if other processes do the same concurrently."""
        into = insert_into(META, is_file=self.is_file).values(key=key, value=value)
        with self.writing() as connection:
            connection.execute(into.on_conflict_do_update(index_elements=[META.c.key], set_={"value": value}))

    def reading(self) -> AbstractContextManager[Connection]:
        """Yield a connection for reading. Database errors become StoreError with the store's name."""
        return reading(self._engine, self._url)

    def errors(self) -> AbstractContextManager[None]:
        """Convert database errors in the context to errors of this store, if another store is in use as well."""
        return store_errors(self._url)

    @contextmanager
    def interpreting(self, run_id: str) -> Iterator[None]:
        """Convert exceptions from reading a run's JSON documents to StoreError.

        The documents may have been edited. The types of the columns are checked when they are read; wrong nested
        values raise exceptions only where they are used.
        """
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise unreadable(self._url, error, f"run {run_id}: ") from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection with a transaction, which is committed at the end.

        Database errors become StoreError with the store's name.
        """
        if self._pool.read_only:
            raise read_only_error(self._url)
        with store_errors(self._url), response_timeout(self._engine), self._engine.begin() as connection:
            yield connection


def running_error(run: RunRecord) -> InputError:
    """Return the error for a run that another process is executing."""
    process = part(run.options, "process")
    where = f" in process {process['pid']}" if "pid" in process else ""
    if process.get("host") not in (None, platform.node()):
        where += f" on {process['host']}"
    return InputError(f"run {run.id}", f"already running{where}", "wait until it has ended")


def _noise_key(experiment: str) -> str:
    return NOISE + hashlib.sha256(experiment.encode()).hexdigest()[:32]


def _update_summarized(run_id: str) -> Update:
    """Return an update of a run that has a summary. This avoids writes during a run, which has no summary yet."""
    return update(RUNS).where(RUNS.c.id == run_id, RUNS.c.summary.is_not(None))


# The columns of the records; their names are the names of the fields.
_RUN = [RUNS.c[field.name] for field in fields(RunRecord)]
_TRIAL = [TRIALS.c[field.name] for field in fields(TrialRecord)]
