"""A store with a local copy of the current run, which replaces the store while it can't be written.

A server may be unreachable and a disk full when a trial has ended. A run with a PostgreSQL store therefore keeps a copy
in a local file while it is running. If the store is a file, the copy is created when a write to the store fails.
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
from dbdyno.store.store import Store, UnsentRun, open_store

_T = TypeVar("_T")

# Seconds between two attempts to reach a store that failed. An attempt may take several seconds.
_RETRY_INTERVAL_S = 30.0


@contextmanager
def open_with_local_copy(store: Store, report: Callable[[str], None]) -> Iterator[LocalCopyStore]:
    """Yield a store to write a run to. At the end, ``unsent`` contains the run if the store doesn't have all of it.

    ``report`` is called with a message whenever the store becomes unavailable or available. Local copies of earlier
    runs are sent to the store first. The yielded store raises StoreError only if neither the store nor a local copy
    can be written.
    """
    _send_unsent_runs(store, report)
    run_store = LocalCopyStore(store, report)
    try:
        yield run_store
    finally:
        run_store.end()


class LocalCopyStore(Store):
    """A store with a local copy of one run, which ``begin_run`` begins or ``resume_run`` resumes."""

    def __init__(self, store: Store, report: Callable[[str], None]) -> None:
        """Use :func:`open_with_local_copy` instead."""
        super().__init__(store._pool.retain())
        self._store = store
        self._report = report
        self._copy: Store | None = None
        self._error: StoreError | None = None
        self._last_attempt = 0.0
        self._release_lock: Release | None = None

    def begin_run(self, run: RunRecord) -> str:
        """Store a run that starts now, see ``Store.begin_run``."""
        run_id = self._store.begin_run(run)
        self._release_lock = self._store.lock_run(replace(run, id=run_id))
        self.start_copy(run_id)
        return run_id

    def lock_run(self, run: RunRecord) -> Release:
        """Lock a run until :meth:`end`, see ``Store.lock_run``."""
        self._release_lock = self._store.lock_run(run)
        return self._release_lock

    def resume_run(self, run: RunRecord, options: JsonObject) -> None:
        """Resume a run of the store, see ``Store.resume_run``."""
        self._store.resume_run(run, options)
        self.start_copy(run.id)

    def start_copy(self, run_id: str) -> None:
        """Create a local copy of a run if the store is on a server."""
        if self.is_file:
            return
        try:
            self._copy = self._create_copy(run_id, _directory())
        except DbdynoError as error:
            self._report(f"could not create a local copy of the run: {error}; results are lost if the store fails")

    def add_trial(self, run_id: str, trial: TrialRecord) -> int:
        """Store a trial of the run and return its id. It is on disk when this returns."""
        # Both stores must have the same start time.
        trial = trial if trial.started else replace(trial, started=utc_now())
        return self._write(run_id, lambda store: store.add_trial(run_id, trial))

    def update_run(self, run_id: str, **changes: Any) -> None:
        """Change columns of the run, see ``Store.update_run``."""
        self._write(run_id, lambda store: store.update_run(run_id, **changes))

    def finish_run(self, run_id: str, status: RunStatus, observations: Iterable[Mapping[str, object]] = ()) -> None:
        """Finish the run, see ``Store.finish_run``, and send everything that the store lacks."""
        seen = list(observations)

        def finish(store: Store) -> None:
            store.finish_run(run_id, status, seen)

        if self._copy is None:
            self._write(run_id, finish)
        else:
            self._write_locally(self._copy, finish)
        if self._copy is not None and not self._send(run_id):
            self._store.unsent[run_id] = self._unsent_run(run_id)

    def run(self, name: str) -> RunRecord:
        """Return a run, see ``Store.run``."""
        return super().run(name) if self._copy is None else self._copy.run(name)

    def trials(self, run_id: str, *, cell: str | None = None, intervals: bool = True) -> list[TrialRecord]:
        """Return the trials of a run, see ``Store.trials``."""
        read = super().trials if self._copy is None else self._copy.trials
        return read(run_id, cell=cell, intervals=intervals)

    @property
    def reader(self) -> Store | None:
        """The store itself; ``None`` while it is unavailable, because the local copy contains only one run."""
        return self._store if self._error is None else None

    def end(self) -> None:
        """Release the lock of the run, and remove the local copy if the store has all of it."""
        if self._release_lock is not None:
            self._release_lock()
            self._release_lock = None
        self._remove_copy()
        self.close()

    def _remove_copy(self) -> None:
        if self._copy is not None:
            self._copy.close()
            if self._error is None:
                _remove(self._copy)
            self._copy = None

    def _write(self, run_id: str, write: Callable[[Store], _T]) -> _T:
        if self._copy is None:
            try:
                return write(self._store)
            except StoreError as error:
                return self._write_to_copy(run_id, write, error)
        done = self._write_locally(self._copy, write)
        if self._copy is not None:
            self._forward(run_id, write)
        return done

    def _write_locally(self, copy: Store, write: Callable[[Store], _T]) -> _T:
        """Write to the local copy. If that fails, continue without it if the store is available."""
        try:
            return write(copy)
        except StoreError as error:
            if self._error is not None:
                raise
            self._report(f"{error}; the run continues without a local copy")
            self._remove_copy()
            return write(self._store)

    def _write_to_copy(self, run_id: str, write: Callable[[Store], _T], error: StoreError) -> _T:
        """Write to a new local copy of the run."""
        for directory in (_directory(), Path(tempfile.gettempdir())):
            with contextlib.suppress(DbdynoError):
                copy = self._create_copy(run_id, directory)
                try:
                    done = write(copy)
                except StoreError:
                    copy.close()
                    _remove(copy)
                    raise
                self._copy = copy
                self._note_failure(error)
                return done
        raise error

    def _forward(self, run_id: str, write: Callable[[Store], object]) -> None:
        if self._error is not None:
            if time.monotonic() - self._last_attempt >= _RETRY_INTERVAL_S:
                self._send(run_id)
            return
        try:
            write(self._store)
        except StoreError as error:
            self._note_failure(error)

    def _note_failure(self, error: StoreError) -> None:
        self._error, self._last_attempt = error, time.monotonic()
        self._report(f"{error}. Results are stored on this machine for now")

    def _send(self, run_id: str) -> bool:
        """Send everything that the store lacks. Return whether that succeeded."""
        assert self._copy is not None  # noqa: S101 - only called if there is a local copy
        self._last_attempt = time.monotonic()
        try:
            copied = copy_run(self._copy, self._store, run_id)
        except StoreError as error:
            if self._error is None:
                self._note_failure(error)
            return False
        if copied.outcome == "not copied":
            self._error = StoreError(f"store {self.location}: could not copy run {run_id} to it: {copied.why}")
            return False
        if self._error is not None:
            self._report(f"store {self.location}: available again; all results of run {run_id} are stored")
            self._error = None
        return True

    def _unsent_run(self, run_id: str) -> UnsentRun:
        assert self._copy is not None  # noqa: S101 - only called if there is a local copy
        copy = self._copy.location
        command = shlex.join(["dbdyno", "store", "copy", copy, self.location])
        return UnsentRun(
            copy, StoreError(f"{self._error}\nRun {run_id} is stored in {copy}. To copy it later: {command}")
        )

    def _create_copy(self, run_id: str, directory: Path) -> Store:
        """Create a store file in a directory and copy the run to it. Raises DbdynoError."""
        copy = open_store(str(directory / f"{run_id}-{secrets.token_hex(2)}.db"))
        try:
            copy.set_destination(self.location)
            copy_run(self._store, copy, run_id)
        except BaseException:
            copy.close()
            _remove(copy)
            raise
        return copy


def _directory() -> Path:
    return default_path().parent / "unsent"


def _remove(store: Store) -> None:
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            Path(store.location + end).unlink(missing_ok=True)


def _send_unsent_runs(store: Store, report: Callable[[str], None]) -> None:
    """Send local copies of earlier runs that have ended or were killed, and remove them. Failures are ignored."""
    for path in sorted(_directory().glob("*.db")):
        with contextlib.suppress(DbdynoError), closing(open_store(str(path), make=False)) as copy:
            runs = copy.runs() if copy.destination() == store.location else []
            # The process of a running run sends it itself.
            if not runs or any(run.status == "running" for run in runs):
                continue
            copied = [copy_run(copy, store, run.id) for run in runs]
            if any(copy_result.outcome == "not copied" for copy_result in copied):
                continue
            for copy_result in copied:
                if copy_result.trials:
                    report(f"store {store.location}: copied run {copy_result.run}, which was stored on this machine")
            _remove(copy)
