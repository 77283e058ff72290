"""The store as a run writes to it: what the store cannot take is kept on this machine, until it can.

A server may be out of reach when a trial has ended, and a device full. What a run sends to a server is therefore kept
in a file here too, from its beginning to its end. What is to go to a file is kept elsewhere once that file fails.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.base.errors import DbdynoError, StoreError
from dbdyno.base.paths import default_path
from dbdyno.base.timestamps import utc_now
from dbdyno.store.records import JsonObject, RunRecord, RunStatus, TrialRecord
from dbdyno.store.run_copy import copy_run
from dbdyno.store.run_lock import Release
from dbdyno.store.store import Elsewhere, Store, open_store

_T = TypeVar("_T")

# A store that is out of reach is tried again between trials, but not at each: that may take some seconds of waiting.
_TRY_AGAIN_S = 30.0


@contextmanager
def keeping(store: Store, tell: Callable[[str], None]) -> Iterator[KeepingStore]:
    """Give a store to write a run to. What it could not take in the end, ``store.elsewhere`` tells.

    ``tell`` is given a line for a person each time that the store is lost or found. What earlier runs have left is sent
    first. Raises StoreError only where nothing can be kept anywhere.
    """
    _send_what_is_left(store, tell)
    kept = KeepingStore(store, tell)
    try:
        yield kept
    finally:
        kept.end()


class KeepingStore(Store):
    """A store whose runs are kept here too. It is of one run, which ``begin_run`` begins or ``take_run`` resumes."""

    def __init__(self, store: Store, tell: Callable[[str], None]) -> None:
        """``keeping`` makes one."""
        super().__init__(store._pool.retain())
        self._store = store
        self._tell = tell
        self._here: Store | None = None
        self._lost: StoreError | None = None
        self._tried = 0.0
        self._held: Release | None = None

    def begin_run(self, run: RunRecord) -> str:
        """Store a run that starts now, see ``Store.begin_run``."""
        run_id = self._store.begin_run(run)
        self._held = self._store.hold_run(replace(run, id=run_id))
        self.go_on(run_id)
        return run_id

    def hold_run(self, run: RunRecord) -> Release:
        """Hold a run until the end, see ``Store.hold_run``."""
        self._held = self._store.hold_run(run)
        return self._held

    def take_run(self, run: RunRecord, options: JsonObject) -> None:
        """Resume a run that the store has, see ``Store.take_run``."""
        self._store.take_run(run, options)
        self.go_on(run.id)

    def go_on(self, run_id: str) -> None:
        """Keep a copy of a run that the store has on this machine, if the store is a server's."""
        if self.is_file:
            return
        try:
            self._here = self._copy(run_id, _directory())
        except DbdynoError as error:
            self._tell(f"nothing can be kept on this machine, should the store be lost: {error}")

    def add_trial(self, run_id: str, trial: TrialRecord) -> int:
        """Store a trial of the run and return its number. It is on a device when this returns."""
        # The same in both places.
        trial = trial if trial.started else replace(trial, started=utc_now())
        return self._write(run_id, lambda store: store.add_trial(run_id, trial))

    def update_run(self, run_id: str, **changes: Any) -> None:
        """Replace what became known after the run was begun, see ``Store.update_run``."""
        self._write(run_id, lambda store: store.update_run(run_id, **changes))

    def finish_run(self, run_id: str, status: RunStatus, observations: Iterable[Mapping[str, object]] = ()) -> None:
        """Close the run, and let the store have what it lacks of it."""
        seen = list(observations)
        if self._here is None:
            self._write(run_id, lambda store: store.finish_run(run_id, status, seen))
        else:
            self._here.finish_run(run_id, status, seen)
        if self._here is not None and not self._send(run_id):
            self._store.elsewhere[run_id] = self._not_there(run_id)

    def run(self, name: str) -> RunRecord:
        """Return a run, see ``Store.run``."""
        return super().run(name) if self._here is None else self._here.run(name)

    def trials(self, run_id: str, *, cell: str | None = None, intervals: bool = True) -> list[TrialRecord]:
        """Return the trials of a run, see ``Store.trials``."""
        read = super().trials if self._here is None else self._here.trials
        return read(run_id, cell=cell, intervals=intervals)

    @property
    def others(self) -> Store | None:
        """The store itself, unless it is lost: what is kept here is one run."""
        return self._store if self._lost is None else None

    def end(self) -> None:
        """Give up the run, and remove what is kept here, unless the store lacks some of it."""
        if self._held is not None:
            self._held()
            self._held = None
        self._remove_copy()
        self.close()

    def _remove_copy(self) -> None:
        if self._here is not None:
            self._here.close()
            if self._lost is None:
                _remove(self._here)
            self._here = None

    def _write(self, run_id: str, write: Callable[[Store], _T]) -> _T:
        if self._here is None:
            try:
                return write(self._store)
            except StoreError as error:
                return self._write_elsewhere(run_id, write, error)
        try:
            done = write(self._here)
        except StoreError as error:
            # Here is no room either, or no longer: the store alone has it, if it can.
            if self._lost is not None:
                raise
            self._tell(f"{error}; what follows is kept in the store alone")
            self._remove_copy()
            return write(self._store)
        self._pass_on(run_id, write)
        return done

    def _write_elsewhere(self, run_id: str, write: Callable[[Store], _T], error: StoreError) -> _T:
        """Go on in another file, with what the store has of the run."""
        for directory in (_directory(), Path(tempfile.gettempdir())):
            with contextlib.suppress(DbdynoError):
                here = self._copy(run_id, directory)
                try:
                    done = write(here)
                except StoreError:
                    here.close()
                    _remove(here)
                    raise
                self._here = here
                self._is_lost(error)
                return done
        raise error

    def _pass_on(self, run_id: str, write: Callable[[Store], object]) -> None:
        if self._lost is not None:
            if time.monotonic() - self._tried >= _TRY_AGAIN_S:
                self._send(run_id)
            return
        try:
            write(self._store)
        except StoreError as error:
            self._is_lost(error)

    def _is_lost(self, error: StoreError) -> None:
        self._lost, self._tried = error, time.monotonic()
        self._tell(f"{error}. What is measured is kept on this machine")

    def _send(self, run_id: str) -> bool:
        """Let the store have what it lacks; whether it has all then."""
        assert self._here is not None  # noqa: S101 - asked for where something is kept
        self._tried = time.monotonic()
        try:
            copied = copy_run(self._here, self._store, run_id)
        except StoreError as error:
            if self._lost is None:
                self._is_lost(error)
            return False
        if copied.outcome == "not copied":
            self._lost = StoreError(f"store {self.place}: run {run_id} cannot be copied there: {copied.why}")
            return False
        if self._lost is not None:
            self._tell(f"store {self.place}: it is there again, and has all of run {run_id}")
            self._lost = None
        return True

    def _not_there(self, run_id: str) -> Elsewhere:
        assert self._here is not None  # noqa: S101 - asked for where something is kept
        here = self._here.place
        command = shlex.join(["dbdyno", "store", "copy", here, self.place])
        return Elsewhere(here, StoreError(f"{self._lost}\nAll of run {run_id} is kept in {here}; later: {command}"))

    def _copy(self, run_id: str, directory: Path) -> Store:
        """Make a store in a directory with what the store has of a run. Raises DbdynoError."""
        here = open_store(str(directory / f"{run_id}-{secrets.token_hex(2)}.db"))
        try:
            here.set_kept_for(self.place)
            copy_run(self._store, here, run_id)
        except BaseException:
            here.close()
            _remove(here)
            raise
        return here


def _directory() -> Path:
    return default_path().parent / "unsent"


def _remove(store: Store) -> None:
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            Path(store.place + end).unlink(missing_ok=True)


def _send_what_is_left(store: Store, tell: Callable[[str], None]) -> None:
    """Let a store have what runs kept here that have ended, or were killed, and remove it. What fails stays."""
    for path in sorted(_directory().glob("*.db")):
        with contextlib.suppress(DbdynoError), closing(open_store(str(path), make=False)) as here:
            runs = here.runs() if here.kept_for() == store.place else []
            # Of one that is going on, its own process takes care.
            if not runs or any(each.status == "running" for each in runs):
                continue
            copied = [copy_run(here, store, each.id) for each in runs]
            if any(each.outcome == "not copied" for each in copied):
                continue
            for each in copied:
                if each.trials:
                    tell(f"store {store.place}: run {each.run}, which was kept on this machine, is there now")
            _remove(here)
