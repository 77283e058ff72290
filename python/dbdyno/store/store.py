"""Reading and writing runs and trials."""

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
from dbdyno.store.response_timeout import answering
from dbdyno.store.row_checks import checked, read_json
from dbdyno.store.run_lock import Release, hold_run
from dbdyno.store.tables import META, RUNS, TRIALS
from dbdyno.store.upsert import insert_into
from dbdyno.store.urls import is_file, shown, store_url

__all__ = ["Store", "default_path", "open_store"]

# Letters and digits that are not mistaken for one another and spell no words.
_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"
_ID_LETTERS = 4

# Baselines are kept beside the store's version: a key and a run each.
BASELINE = "baseline:"
# So is the noise of runs, under the digest of an experiment's name: a key has 64 characters.
NOISE = "noise:"
# And of a file that keeps a run for another store, that store.
_KEPT_FOR = "kept for"
_ID_TRIES = 20


def open_store(where: str | None = None, *, make: bool = True, write: bool | None = None) -> Store:
    """Open the store at a path or a URL of PostgreSQL, by default that of ``DBDYNO_STORE``, else the user's own.

    Where there is none it is made; the user's own in any case, and another only with ``make``, and not for somebody who
    wants to read. ``write``: whether it will be written to, by default as ``make``. Raises ``InputError`` for a URL
    that cannot be used and where there is no store, ``StoreError`` for a store that cannot be used so.
    """
    url = store_url(where)
    return Store(open_pool(url, make=make or named_store(where) is None, write=make if write is None else write))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where a run is kept that a store could not take, and why it could not, with what to do about it."""

    place: str
    why: StoreError


class Store:
    """Runs and their trials. Every method commits before it returns; several processes may write at once."""

    def __init__(self, pool: Pool) -> None:
        """Take the connections of a checked store, which count this as a user (``open_store``)."""
        self._pool = pool
        self._engine = pool.engine
        self._url = pool.url
        # Closed files have no journal beside them, also where nobody closed the store before the process ends.
        self._release = weakref.finalize(self, pool.release)
        self.elsewhere: dict[str, Elsewhere] = {}
        """The runs, by their ids, that could not be stored here in the end (``keeping.py``)."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file of this machine, and not a server's."""
        return is_file(self._url)

    @property
    def place(self) -> str:
        """Where the store is: a path, or a URL without its password."""
        return shown(self._url)

    def is_same(self, other: Store) -> bool:
        """Whether this is the other store, by whatever name."""
        if self.is_file and other.is_file:
            return Path(self._url.database or "").samefile(other._url.database or "")
        return self._url == other._url

    def close(self) -> None:
        """Give back the connections."""
        self._release()

    def begin_run(self, run: RunRecord) -> str:
        """Store a run that starts now and return the id given to it, such as ``20260314-k7wd``.

        ``run.id`` and ``run.status`` are ignored; ``run.started`` is the present moment where it is empty.
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
        raise StoreError(f"store {self.place}: no free id was found for a run; try again")

    def set_baseline(self, name: str, run_id: str) -> None:
        """Keep a run as the baseline of a name, in place of the one that had it."""
        self._put(BASELINE + name, run_id)

    def baselines(self) -> dict[str, str]:
        """Return the runs kept as baselines, by name."""
        query = select(META.c.key, META.c.value).where(META.c.key.startswith(BASELINE)).order_by(META.c.key)
        with self.reading() as connection:
            return {row.key.removeprefix(BASELINE): row.value for row in connection.execute(query)}

    def remove_baseline(self, name: str) -> bool:
        """Forget a baseline's name (the run stays); return whether there was one."""
        with self.writing() as connection:
            return bool(connection.execute(delete(META).where(META.c.key == BASELINE + name)).rowcount)

    def set_noise(self, experiment: str, measured: JsonObject) -> None:
        """Keep how much runs of an experiment differ in which nothing has changed, in place of what was known."""
        self._put(_noise_of(experiment), json.dumps(clean_json(measured)))

    def noise(self, experiment: str) -> JsonObject | None:
        """Return that; None where nobody has measured it."""
        query = select(META.c.value).where(META.c.key == _noise_of(experiment))
        with self.reading() as connection:
            found = connection.execute(query).scalar()
        try:
            known = json.loads(found) if found else None
        except ValueError:
            return None
        return known if isinstance(known, dict) else None

    def set_kept_for(self, place: str) -> None:
        """Say what other store this one keeps a run for."""
        self._put(_KEPT_FOR, place)

    def kept_for(self) -> str | None:
        """Return that; None for a store of its own."""
        with self.reading() as connection:
            found: str | None = connection.execute(select(META.c.value).where(META.c.key == _KEPT_FOR)).scalar()
        return found

    def add_trial(self, run_id: str, trial: TrialRecord) -> int:
        """Store a trial of a run and return its number. It is on the device when this returns."""
        values = {name: clean_json(value) for name, value in asdict(trial).items() if name != "id"}
        values |= {name: storable(values[name]) for name in ("error", "error_kind") if values[name] is not None}
        values |= {"run_id": run_id, "started": trial.started or utc_now()}
        try:
            with self.writing() as connection:
                number = connection.execute(insert(TRIALS).values(values)).inserted_primary_key
                connection.execute(_of_summarized(run_id).values(summary=None))
        except RowRefused as error:
            raise StoreError(f"store {self.place}: it holds no run {run_id}") from error
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
        """Replace what became known after the run was begun. What is not given stays. ``running`` resumes a run."""
        given: dict[str, Any] = {"host": host, "device": device, "ceiling": ceiling, "design": design}
        given |= {"options": options, "status": status}
        values = {name: clean_json(value) for name, value in given.items() if value is not None}
        if status == "running":
            values |= {"ended": None, "summary": None}
        if values:
            self._change_run(run_id, values)

    def hold_run(self, run: RunRecord) -> Release:
        """Hold a run, so that no other process carries it out; return what gives it up.

        Raises InputError if another process holds it, StoreError if the store cannot be used.
        """
        path = Path(self._url.database or "") if self.is_file else None
        with store_errors(self._url):
            release = hold_run(self._engine, path, run.id)
        if release is None:
            raise under_way(run)
        return release

    def take_run(self, run: RunRecord, options: JsonObject) -> None:
        """Resume a run, with ``options`` that name this process, unless it has changed since it was read as ``run``.

        It is one statement, of which only one process of several succeeds. Raises InputError if another one did.
        """
        query = select(RUNS.c.status, sql_cast(RUNS.c.options, Text)).where(RUNS.c.id == run.id)
        with self.reading() as connection:
            status, text = connection.execute(query).one()
            is_as_read = read_json(text) == run.options
        as_read = (RUNS.c.id == run.id) & (RUNS.c.status == status) & (sql_cast(RUNS.c.options, Text) == text)
        values = {"status": "running", "options": clean_json(options), "ended": None, "summary": None}
        if is_as_read:
            with self.writing() as connection:
                is_as_read = connection.execute(update(RUNS).where(as_read).values(values)).rowcount == 1
        if not is_as_read:
            raise under_way(self.run(run.id))

    def finish_run(self, run_id: str, status: RunStatus, observations: Iterable[Mapping[str, object]] = ()) -> None:
        """Close a run with its status and what the laboratory saw (:class:`RunRecord`); its end is now."""
        self._change_run(run_id, {"status": status, "observations": clean_json(list(observations)), "ended": utc_now()})

    def runs(self, experiment: str | None = None, limit: int | None = None) -> list[RunSummary]:
        """Return the runs, newest first, with how many of their trials gave a result and how many did not.

        A run whose process was killed could not say so itself: it counts as interrupted.
        """
        shape = (RUNS.c.id, RUNS.c.experiment, RUNS.c.started, RUNS.c.ended, RUNS.c.status, RUNS.c.version)
        listed = select(*shape).order_by(RUNS.c.started.desc(), RUNS.c.id)
        if experiment is not None:
            listed = listed.where(RUNS.c.experiment == experiment)
        if limit is not None:
            listed = listed.limit(limit)
        # Only the trials of the runs that are listed are counted.
        chosen = listed.subquery()
        own = TRIALS.c.run_id == chosen.c.id
        done = select(func.count()).where(own, TRIALS.c.status == "done").scalar_subquery()
        failed = select(func.count()).where(own, TRIALS.c.status != "done").scalar_subquery()
        query = select(chosen, done.label("done"), failed.label("failed"))
        query = query.order_by(chosen.c.started.desc(), chosen.c.id)
        unfinished = select(RUNS.c.id, RUNS.c.options).where(RUNS.c.status == "running")
        with self.reading() as connection:
            running = [checked(row) for row in connection.execute(unfinished).mappings()]
            killed = {row["id"] for row in running if is_gone(row["options"].get("process"))}
            found = [RunSummary(**checked(row)) for row in connection.execute(query).mappings()]
        return [replace(each, status="interrupted") if each.id in killed else each for each in found]

    def run(self, name: str) -> RunRecord:
        """Return a run by its id, the beginning of its id, the part after its date, or ``last``.

        Raises ``InputError`` where no run or more than one answers to the name.
        """
        run_id = self._find(name)
        with self.reading() as connection:
            row = connection.execute(select(*_RUN).where(RUNS.c.id == run_id)).mappings().one()
            run = RunRecord(**{**checked(row), "seed": int(row["seed"])})
        killed = run.status == "running" and is_gone(run.options.get("process"))
        return replace(run, status="interrupted") if killed else run

    @property
    def others(self) -> Store | None:
        """Where other runs than one that is written are read; ``None`` where they cannot be."""
        return self

    def whys(self, experiment: str) -> Iterator[RunRecord]:
        """Yield the runs of `dbdyno why` that asked about an experiment, newest first."""
        # The words are looked for first: to read the options of all runs takes a while.
        named = sql_cast(RUNS.c.options, Text).contains('"cell"')
        query = select(RUNS.c.id, RUNS.c.options).where(RUNS.c.experiment == experiment, named)
        with self.reading() as connection:
            rows = [checked(row) for row in connection.execute(query.order_by(RUNS.c.started.desc())).mappings()]
        for row in rows:
            if "cell" in row["options"]:
                yield self.run(row["id"])

    def trials(self, run_id: str, *, cell: str | None = None, intervals: bool = True) -> list[TrialRecord]:
        """Return the trials of a run, or of one of its cells, in the order in which they ended.

        Without ``intervals`` those are empty: they are the greater part of a trial.
        """
        columns = [each for each in _TRIAL if intervals or each.name != "intervals"]
        query = select(*columns).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.id)
        if cell is not None:
            query = query.where(TRIALS.c.cell == cell)
        with self.reading() as connection:
            return [TrialRecord(**checked(row)) for row in connection.execute(query).mappings()]

    def keep_summary(self, run_id: str, summary: str) -> None:
        """Store the summary of a run. It is derived: a store that cannot be written goes without."""
        with suppress(StoreError), self.writing() as connection:
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(summary=summary))

    def _find(self, name: str) -> str:
        with self.reading() as connection:
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == name)).scalar() is not None:
                return name
            query = select(RUNS.c.id).order_by(RUNS.c.started.desc(), RUNS.c.id)
            ids: list[str] = list(connection.execute(query.limit(1 if name == "last" else None)).scalars())
        if not ids:
            raise InputError(f"run {name}", f"the store {self.place} holds no runs yet", "start one with dbdyno run")
        if name == "last":
            return ids[0]
        found = [each for each in ids if name and (each.startswith(name) or each.rpartition("-")[2] == name)]
        if not found:
            raise InputError(f"run {name}", f"the store {self.place} holds no such run", "dbdyno runs lists them")
        if len(found) > 1:
            some = first_of(found, 5)
            raise InputError(f"run {name}", f"{len(found)} runs begin so ({some})", "give more of the id")
        return found[0]

    def _change_run(self, run_id: str, values: dict[str, Any]) -> None:
        with self.writing() as connection:
            changed = connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(values)).rowcount
        if not changed:
            raise StoreError(f"store {self.place}: the run {run_id} is no longer there")

    def _put(self, key: str, value: str) -> None:
        """Keep a value under a key, in place of the one that was there, whoever else does the same at this moment."""
        into = insert_into(META, is_file=self.is_file).values(key=key, value=value)
        with self.writing() as connection:
            connection.execute(into.on_conflict_do_update(index_elements=[META.c.key], set_={"value": value}))

    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection to read with; errors speak of the store."""
        return reading(self._engine, self._url)

    def errors(self) -> AbstractContextManager[None]:
        """Report what goes wrong meanwhile as errors of this store, where another one is in use, too."""
        return store_errors(self._url)

    @contextmanager
    def interpreting(self, run_id: str) -> Iterator[None]:
        """Report as StoreError what cannot be made of the documents of a run: they are not what dbdyno writes.

        Documents come from a file that anybody may have changed. Their columns are checked as they are read; what is
        deeper in them fails where it is used.
        """
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise unreadable(self._url, error, f"run {run_id}: ") from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose transaction is committed at the end; errors speak of the store."""
        if self._pool.read_only:
            raise read_only_error(self._url)
        with store_errors(self._url), answering(self._engine), self._engine.begin() as connection:
            yield connection


def under_way(run: RunRecord) -> InputError:
    """Return the error for a run that another process carries out."""
    process = part(run.options, "process")
    where = f" in process {process['pid']}" if "pid" in process else ""
    if process.get("host") not in (None, platform.node()):
        where += f" on {process['host']}"
    return InputError(f"run {run.id}", f"it is under way{where}", "wait until that has ended")


def _noise_of(experiment: str) -> str:
    return NOISE + hashlib.sha256(experiment.encode()).hexdigest()[:32]


def _of_summarized(run_id: str) -> Update:
    """Change a run if it has a summary: one that is under way has none, and is not written to for nothing."""
    return update(RUNS).where(RUNS.c.id == run_id, RUNS.c.summary.is_not(None))


# The columns of the records, each of which has the name of its field.
_RUN = [RUNS.c[each.name] for each in fields(RunRecord)]
_TRIAL = [TRIALS.c[each.name] for each in fields(TrialRecord)]
