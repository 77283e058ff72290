"""Opening a store: whether it is one, whether this dbdyno can read it, and making it where there is none."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from errno import ENOSPC
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from dbdyno.base.errors import ExtraMissing, InputError, StoreError, reason
from dbdyno.base.special_files import special_kind
from dbdyno.base.text import first_of
from dbdyno.store.errors import store_errors
from dbdyno.store.response_timeout import answering, watch
from dbdyno.store.row_checks import read_json
from dbdyno.store.schema_upgrade import upgrade
from dbdyno.store.tables import META, METADATA, REVISION, SCHEMA_VERSION
from dbdyno.store.urls import is_file, shown

BUSY_TIMEOUT_S = 30.0
_MAKING_TIMEOUT_S = 2.0
_LOOK_AGAIN_S = 0.05

# The files of a store that are copied, by what follows the path; and how often that is tried.
_ENDS = ("", "-wal", "-journal")
_COPIES = 5

# What libpq is told where the URL says nothing else. A network that falls silent is noticed within half a minute, and
# not within the quarter of an hour that TCP takes. All values: seconds, and milliseconds for the last.
_CONNECTING = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
# Tells those who make or upgrade a store at the same moment from whoever else locks something in that database.
_LOCK = 0x6462_6479_6E6F
# Texts of any language can be kept in these; of the latter, the server takes the bytes as they come.
_ENCODINGS = ("UTF8", "SQL_ASCII")


@dataclass(eq=False)
class Pool:
    """The connections of this process to a store, shared by all that have it open."""

    url: URL
    engine: Engine
    read_only: bool = False
    copy: tempfile.TemporaryDirectory[str] | None = None
    """Holds a private copy of a store that can neither be written nor be read where it is."""
    users: int = 1

    def retain(self) -> Pool:
        """Count one more user."""
        with _OPENING:
            self.users += 1
        return self

    def release(self) -> None:
        """Count one user less; the last one closes the connections. The engine connects again if it is still used."""
        with _OPENING:
            self.users -= 1
            if self.users > 0:
                return
            for key in [key for key, pool in _POOLS.items() if pool is self]:
                del _POOLS[key]
            self.engine.dispose()
        if self.copy is not None:
            self.copy.cleanup()


_POOLS: dict[object, Pool] = {}
# Held while a pool is opened, shared or closed. A thread that holds it may close another pool.
_OPENING = threading.RLock()


def open_pool(url: URL, *, make: bool = True, write: bool = False) -> Pool:
    """Open a store, and count a user of its connections.

    ``make``: make a new store if there is none; ``write``: fail if it can only be read. A store of an older version is
    brought to the present one, if need be in a private copy. Raises ``InputError`` if there is no store and none is to
    be made, ``ExtraMissing`` if PostgreSQL's driver is not installed, ``StoreError`` for what is no store, cannot be
    reached, or was made by a newer dbdyno.
    """
    with _OPENING, store_errors(url):
        key = _key(url)
        pool = None if key is None else _POOLS.get(key)
        # The file may have been moved since.
        if pool is None or _key(pool.url) != key:
            pool = _open(url, make=make)
            key = _key(url)
            # A file that was removed in the meantime has nothing by which it could be found again.
            if key is not None:
                _POOLS[key] = pool
        else:
            pool.retain()
        if write and pool.read_only:
            pool.release()
            raise read_only_error(url)
        return pool


def read_only_error(url: URL) -> StoreError:
    """Return the error of a command that has to write to a store that can only be read."""
    return StoreError(f"store {shown(url)}: can only be read here; give a path that can be written with --store")


@contextmanager
def reading(engine: Engine, url: URL) -> Iterator[Connection]:
    """Give a connection to read with; whatever goes wrong is reported as StoreError of the store at ``url``."""
    with store_errors(url), answering(engine), engine.connect() as connection:
        yield connection


def _key(url: URL) -> object:
    """Return what identifies a store within this process, or None if there is no file.

    The file is not opened, see :func:`special_kind`.
    """
    if not is_file(url):
        return url
    try:
        found = Path(url.database or "").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open(url: URL, *, make: bool) -> Pool:
    if not is_file(url):
        engine = _engine_of_server(url)
        with _disposed_on_error(engine):
            _check_patiently(engine, url, make=make)
        return Pool(url, engine)
    path = Path(url.database or "")
    _check_file(path, url, make=make)
    if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return _open_read_only(url, path)
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, json_deserializer=read_json)
    with _disposed_on_error(engine):
        _check_patiently(engine, url, make=make)
    event.listen(engine, "connect", _configure_sqlite)
    engine.dispose()
    return Pool(url, engine)


def _open_read_only(url: URL, path: Path) -> Pool:
    """Open a file that cannot be written. What SQLite cannot read without writing is read from a private copy."""
    beside = {end: Path(f"{path}{end}") for end in ("-wal", "-shm", "-journal")}
    if beside["-wal"].exists() and beside["-shm"].exists():
        # Another process may be writing.
        mode = "mode=ro"
    elif any(each.exists() and each.stat().st_size for each in (beside["-wal"], beside["-journal"])):
        return _open_copy(url, path)
    else:
        mode = "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, timeout=BUSY_TIMEOUT_S, uri=True, check_same_thread=False)

    engine = create_engine(url, creator=connect, json_deserializer=read_json)
    with _disposed_on_error(engine), engine.connect() as connection:
        version = _look(connection, url)
    if version == SCHEMA_VERSION:
        return Pool(url, engine, read_only=True)
    engine.dispose()
    if version is None:
        raise _none_there(url)
    return _open_copy(url, path)


def _open_copy(url: URL, path: Path) -> Pool:
    directory = tempfile.TemporaryDirectory(prefix="dbdyno-store-")
    try:
        copy = Path(directory.name) / "runs.db"
        _copy(path, copy)
        engine = create_engine(url.set(database=str(copy)), json_deserializer=read_json)
        with _disposed_on_error(engine):
            _check_patiently(engine, url, make=False)
    except (OSError, sqlite3.Error) as error:
        directory.cleanup()
        why = reason(error) if isinstance(error, OSError) else str(error)
        full = (
            getattr(error, "errno", None) == ENOSPC or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        )
        hint = f"; free some space in {directory.name}" if full else ""
        raise StoreError(f"store {path}: cannot be copied to read it: {why}{hint}") from error
    except BaseException:
        directory.cleanup()
        raise
    return Pool(url, engine, read_only=True, copy=directory)


def _copy(path: Path, copy: Path) -> None:
    """Copy a store that another process may be writing. Raises OSError, StoreError and sqlite3.Error."""
    if Path(f"{path}-wal").exists() and Path(f"{path}-shm").exists():
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY_TIMEOUT_S, uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
        return
    # SQLite cannot open these files without writing, so that their reader cannot lock them.
    for _ in range(_COPIES):
        before = _states(path)
        for end in _ENDS:
            Path(f"{copy}{end}").unlink(missing_ok=True)
            # A file that is gone has changed, which is seen below.
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        if _states(path) == before:
            return
    raise StoreError(f"store {path}: another process writes to it, so it cannot be copied; try again later")


def _states(path: Path) -> dict[str, tuple[int, ...] | None]:
    """Return what changes with the files of a store, by their ends; None for a file that does not exist."""
    states: dict[str, tuple[int, ...] | None] = {}
    for end in _ENDS:
        try:
            found = Path(f"{path}{end}").stat()
        except FileNotFoundError:
            states[end] = None
        else:
            states[end] = (found.st_ino, found.st_size, found.st_mtime_ns)
    return states


@contextmanager
def _disposed_on_error(engine: Engine) -> Iterator[None]:
    """Close the connections of an engine that turns out to be of no use."""
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def _check_patiently(engine: Engine, url: URL, *, make: bool) -> None:
    deadline = time.monotonic() + _MAKING_TIMEOUT_S
    while True:
        try:
            _check(engine, url, make=make)
            if is_file(url):
                _use_wal(engine)
        except DBAPIError as error:
            # SQLite does not wait for others when it changes the journal's mode. What it has waited for as long as it
            # is to wait is late as well, and not waited for again.
            if time.monotonic() >= deadline or "database is locked" not in str(error.orig):
                raise
        else:
            return
        time.sleep(_LOOK_AGAIN_S)


def _engine_of_server(url: URL) -> Engine:
    if find_spec("psycopg") is None:
        raise ExtraMissing("psycopg", "team", "or give the path of a file")
    told: dict[str, Any] = {key: value for key, value in _CONNECTING.items() if key not in url.query}
    # A pooler between gives each transaction another session, where no statement is prepared.
    told |= {"client_encoding": "utf8", "prepare_threshold": None}
    # A connection lies idle while a trial goes on, and may be gone when that ends.
    engine = create_engine(url, connect_args=told, pool_pre_ping=True, pool_size=1, json_deserializer=read_json)
    event.listen(engine, "connect", _configure_server)
    watch(engine)
    return engine


def _check_file(path: Path, url: URL, *, make: bool) -> None:
    """Make the directory, and refuse what is not a regular file: to open it could block for good."""
    try:
        for each in (path, *(Path(f"{path}{end}") for end in ("-wal", "-shm", "-journal"))):
            kind = special_kind(each)
            if kind is not None:
                raise StoreError(f"store {each}: is {kind}, not a file; give the path of a file with --store")
        if path.exists():
            return
        if not make:
            raise _none_there(url)
        # Runs tell about a machine and its software: the directory is the user's own.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"store {path}: {reason(error)}; give a path that can be written with --store") from error


def _none_there(url: URL) -> InputError:
    hint = "`dbdyno run` with that `--store` makes one"
    return InputError(f"--store {shown(url)}", "there is no store of runs there", hint)


def _use_wal(engine: Engine) -> None:
    """Let readers and one writer work side by side; a file keeps this mode, so it is set once."""
    with engine.connect() as connection:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode = wal")


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    """Make an acknowledged trial survive a power cut."""
    connection.execute("PRAGMA synchronous = full")
    connection.execute("PRAGMA foreign_keys = on")


def _configure_server(connection: Any, _record: Any) -> None:
    """Wait for another's lock no longer than for one of SQLite's, and acknowledge a trial when it is on the device."""
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = '{BUSY_TIMEOUT_S:g}s'")
    connection.execute("SET synchronous_commit = on")
    connection.autocommit = False


def _check(engine: Engine, url: URL, *, make: bool) -> None:
    """Look whether there is a store that this dbdyno reads; make it where there is none, upgrade it where it is older.

    Whoever comes first does it, and the others find it done.
    """
    with engine.begin() as connection:
        version = _look(connection, url)
    if version == SCHEMA_VERSION:
        return
    if version is None and not make:
        raise _none_there(url)
    with _making(engine, url) as connection:
        version = _look(connection, url)
        if version is None:
            _make(connection, url)
        elif version < SCHEMA_VERSION:
            upgrade(connection, version)


def _look(connection: Connection, url: URL) -> int | None:
    """Return the version of the store that is there; None where nothing is. Raises StoreError for anything else."""
    inspector = inspect(connection)
    # In a server's database, a schema of its own is room enough for a store. Looked for first: another process may make
    # the store at this moment, and its tables are nobody else's.
    there = inspector.get_table_names(schema=None if is_file(url) else inspector.default_schema_name)
    names = set(inspect(connection).get_table_names())
    if META.name not in names:
        # What is somebody else's is left as it was.
        if there:
            raise _of_another_program(url, sorted(there))
        return None
    found = list(connection.execute(select(META.c.value).where(META.c.key == "version")).scalars())
    if REVISION.name in names:
        found += connection.execute(select(REVISION.c.version_num)).scalars()
    if not found or not all(each.isdigit() for each in found):
        raise StoreError(f"store {shown(url)}: its version cannot be read; give another one with --store")
    version = max(int(each) for each in found)
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"store {shown(url)}: was made by a newer dbdyno (store version {version}, this one reads "
            f"{SCHEMA_VERSION}); update dbdyno, or give another one with --store"
        )
    return version


def _of_another_program(url: URL, tables: list[str]) -> StoreError:
    what = f"is a database of another program (its tables: {first_of(tables, 3)})"
    hint = "give another path with --store" if is_file(url) else "`createdb` makes one for the store alone"
    return StoreError(f"store {shown(url)}: {what}; {hint}")


@contextmanager
def _making(engine: Engine, url: URL) -> Iterator[Connection]:
    """Give a transaction in which a store is made or upgraded whole or not at all, by one process after the other.

    Python's sqlite3 would begin one with the first INSERT only, after the tables: for SQLite it is begun here.
    """
    if is_file(url):
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.exec_driver_sql("COMMIT")
        return
    with engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        yield connection


def _make(connection: Connection, url: URL) -> None:
    if not is_file(url):
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding not in _ENCODINGS:
            problem = f"its encoding is {encoding}, which cannot keep every text"
            hint = "make one with `createdb --encoding=UTF8 --template=template0`"
            raise StoreError(f"store {shown(url)}: {problem}; {hint}")
    METADATA.create_all(connection)
    connection.execute(insert(META).values(key="version", value=str(SCHEMA_VERSION)))
    connection.execute(insert(REVISION).values(version_num=str(SCHEMA_VERSION)))
