"""Connection pools of stores. Opening one checks the store's version, and creates or upgrades the store."""

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
from dbdyno.store.response_timeout import enable_response_timeout, response_timeout
from dbdyno.store.schema_upgrade import upgrade
from dbdyno.store.tables import META, METADATA, REVISION, SCHEMA_VERSION
from dbdyno.store.urls import display_name, is_file
from dbdyno.store.value_checks import parse_json

BUSY_TIMEOUT_S = 30.0
_CREATION_TIMEOUT_S = 2.0
_RETRY_INTERVAL_S = 0.05

# Suffixes of the files of a SQLite store, and the maximum number of attempts to copy them.
_SUFFIXES = ("", "-wal", "-journal")
_COPY_ATTEMPTS = 5

# Default connection options for libpq. With them, an interrupted network is detected within half a minute instead of
# TCP's quarter of an hour. In seconds; the last one in milliseconds.
_CONNECT_OPTIONS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
# Key of the advisory lock while a store is created or upgraded, unlike the keys of other programs' locks.
_LOCK = 0x6462_6479_6E6F
# Encodings that can store all characters. With SQL_ASCII, the server stores the bytes unchanged.
_ENCODINGS = ("UTF8", "SQL_ASCII")


@dataclass(eq=False)
class Pool:
    """The connections of this process to a store, shared by all its ``Store`` objects."""

    url: URL
    engine: Engine
    read_only: bool = False
    copy: tempfile.TemporaryDirectory[str] | None = None
    """The directory of a private copy, if SQLite can't read the store's own files without writing to them."""
    users: int = 1

    def retain(self) -> Pool:
        """Increment the number of users."""
        with _OPENING:
            self.users += 1
        return self

    def release(self) -> None:
        """Decrement the number of users, and close the connections when it is 0.

        The engine connects again if it is still used.
        """
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
# Protects opening, sharing and closing of pools. Reentrant, because a thread that owns it may close another pool.
_OPENING = threading.RLock()


def open_pool(url: URL, *, make: bool = True, write: bool = False) -> Pool:
    """Open a store, and increment the number of users of its connections.

    ``make``: create the store if it doesn't exist. ``write``: fail if it is read-only. A store of an older version is
    upgraded; if it is read-only, a private copy is upgraded instead. Raises ``InputError`` if the store doesn't exist
    and ``make`` is false, ``ExtraMissing`` if PostgreSQL's driver is not installed, ``StoreError`` if the file or
    database is not a store, can't be opened, or was created by a newer dbdyno.
    """
    with _OPENING, store_errors(url):
        key = _key(url)
        pool = None if key is None else _POOLS.get(key)
        # The path of the pool may refer to another file by now.
        if pool is None or _key(pool.url) != key:
            pool = _open(url, make=make)
            key = _key(url)
            # A file that was removed in the meantime can't be identified.
            if key is not None:
                _POOLS[key] = pool
        else:
            pool.retain()
        if write and pool.read_only:
            pool.release()
            raise read_only_error(url)
        return pool


def read_only_error(url: URL) -> StoreError:
    """Return the error for writing to a read-only store."""
    return StoreError(f"store {display_name(url)}: read-only; give a writable path with --store")


@contextmanager
def reading(engine: Engine, url: URL) -> Iterator[Connection]:
    """Yield a connection for reading. Database errors become StoreError of the store at ``url``."""
    with store_errors(url), response_timeout(engine), engine.connect() as connection:
        yield connection


def _key(url: URL) -> object:
    """Return the identity of a store: its URL, or device and inode of a file; None if the file doesn't exist.

    The file is not opened, see :func:`special_kind`.
    """
    if not is_file(url):
        return url
    try:
        status = Path(url.database or "").stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _open(url: URL, *, make: bool) -> Pool:
    if not is_file(url):
        engine = _engine_of_server(url)
        with _disposed_on_error(engine):
            _create_or_upgrade_with_retries(engine, url, make=make)
        return Pool(url, engine)
    path = Path(url.database or "")
    _check_file(path, url, make=make)
    if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return _open_read_only(url, path)
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S}, json_deserializer=parse_json)
    with _disposed_on_error(engine):
        _create_or_upgrade_with_retries(engine, url, make=make)
    event.listen(engine, "connect", _configure_sqlite)
    engine.dispose()
    return Pool(url, engine)


def _open_read_only(url: URL, path: Path) -> Pool:
    """Open a read-only file. If SQLite can't read it without writing, open a private copy."""
    side_files = {end: Path(f"{path}{end}") for end in ("-wal", "-shm", "-journal")}
    if side_files["-wal"].exists() and side_files["-shm"].exists():
        # Another process may be writing.
        mode = "mode=ro"
    elif any(each.exists() and each.stat().st_size for each in (side_files["-wal"], side_files["-journal"])):
        return _open_copy(url, path)
    else:
        mode = "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(uri, timeout=BUSY_TIMEOUT_S, uri=True, check_same_thread=False)

    engine = create_engine(url, creator=connect, json_deserializer=parse_json)
    with _disposed_on_error(engine), engine.connect() as connection:
        version = _store_version(connection, url)
    if version == SCHEMA_VERSION:
        return Pool(url, engine, read_only=True)
    engine.dispose()
    if version is None:
        raise _missing_store(url)
    return _open_copy(url, path)


def _open_copy(url: URL, path: Path) -> Pool:
    directory = tempfile.TemporaryDirectory(prefix="dbdyno-store-")
    try:
        copy = Path(directory.name) / "runs.db"
        _copy(path, copy)
        engine = create_engine(url.set(database=str(copy)), json_deserializer=parse_json)
        with _disposed_on_error(engine):
            _create_or_upgrade_with_retries(engine, url, make=False)
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
    # SQLite can't open these files without writing, so they can't be locked while they are copied.
    for _ in range(_COPY_ATTEMPTS):
        before = _states(path)
        for end in _SUFFIXES:
            Path(f"{copy}{end}").unlink(missing_ok=True)
            # If the file was removed, the states below differ.
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        if _states(path) == before:
            return
    raise StoreError(f"store {path}: another process writes to it, so it cannot be copied; try again later")


def _states(path: Path) -> dict[str, tuple[int, ...] | None]:
    """Return inode, size and modification time per file of a store; None for a file that doesn't exist."""
    states: dict[str, tuple[int, ...] | None] = {}
    for end in _SUFFIXES:
        try:
            status = Path(f"{path}{end}").stat()
        except FileNotFoundError:
            states[end] = None
        else:
            states[end] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return states


@contextmanager
def _disposed_on_error(engine: Engine) -> Iterator[None]:
    """Close the connections of an engine if an error occurs."""
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def _create_or_upgrade_with_retries(engine: Engine, url: URL, *, make: bool) -> None:
    deadline = time.monotonic() + _CREATION_TIMEOUT_S
    while True:
        try:
            _create_or_upgrade(engine, url, make=make)
            if is_file(url):
                _use_wal(engine)
        except DBAPIError as error:
            # SQLite doesn't wait for locks when it changes the journal mode. If it did wait for a lock, the deadline
            # has passed, and it isn't tried again.
            if time.monotonic() >= deadline or "database is locked" not in str(error.orig):
                raise
        else:
            return
        time.sleep(_RETRY_INTERVAL_S)


def _engine_of_server(url: URL) -> Engine:
    if find_spec("psycopg") is None:
        raise ExtraMissing("psycopg", "team", "or give the path of a file")
    connect_args: dict[str, Any] = {key: value for key, value in _CONNECT_OPTIONS.items() if key not in url.query}
    # A connection pooler may use another session for each transaction, without its prepared statements.
    connect_args |= {"client_encoding": "utf8", "prepare_threshold": None}
    # A connection is idle during a trial and may be closed by the time it ends.
    engine = create_engine(
        url, connect_args=connect_args, pool_pre_ping=True, pool_size=1, json_deserializer=parse_json
    )
    event.listen(engine, "connect", _configure_server)
    enable_response_timeout(engine)
    return engine


def _check_file(path: Path, url: URL, *, make: bool) -> None:
    """Create the directory, and reject special files, since opening one could block forever."""
    try:
        for each in (path, *(Path(f"{path}{end}") for end in ("-wal", "-shm", "-journal"))):
            kind = special_kind(each)
            if kind is not None:
                raise StoreError(f"store {each}: is {kind}, not a file; give the path of a file with --store")
        if path.exists():
            return
        if not make:
            raise _missing_store(url)
        # Runs contain facts about the machine and its software, so only the user may read the directory.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"store {path}: {reason(error)}; give a writable path with --store") from error


def _missing_store(url: URL) -> InputError:
    hint = "create it with `dbdyno run` and the same `--store`"
    return InputError(f"--store {display_name(url)}", "no such store", hint)


def _use_wal(engine: Engine) -> None:
    """Allow reading during writing. The mode is stored in the file, so it is set only once."""
    with engine.connect() as connection:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode = wal")


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    """Make stored trials survive a power cut."""
    connection.execute("PRAGMA synchronous = full")
    connection.execute("PRAGMA foreign_keys = on")


def _configure_server(connection: Any, _record: Any) -> None:
    """Set the same lock timeout as for SQLite, and wait for the disk on commit."""
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = '{BUSY_TIMEOUT_S:g}s'")
    connection.execute("SET synchronous_commit = on")
    connection.autocommit = False


def _create_or_upgrade(engine: Engine, url: URL, *, make: bool) -> None:
    """Create the store if it doesn't exist, and upgrade it if it is older.

    If several processes do this at the same time, the first one does the work.
    """
    with engine.begin() as connection:
        version = _store_version(connection, url)
    if version == SCHEMA_VERSION:
        return
    if version is None and not make:
        raise _missing_store(url)
    with _exclusive_transaction(engine, url) as connection:
        version = _store_version(connection, url)
        if version is None:
            _make(connection, url)
        elif version < SCHEMA_VERSION:
            upgrade(connection, version)


def _store_version(connection: Connection, url: URL) -> int | None:
    """Return the version of the store, None for an empty database. Raises StoreError for a foreign or newer one."""
    inspector = inspect(connection)
    # A PostgreSQL database may have tables in other schemas. List the tables before looking for the store's: if another
    # process creates the store in between, its tables are then not mistaken for another program's.
    tables = inspector.get_table_names(schema=None if is_file(url) else inspector.default_schema_name)
    names = set(inspect(connection).get_table_names())
    if META.name not in names:
        # Don't create a store among the tables of another program.
        if tables:
            raise _foreign_database(url, sorted(tables))
        return None
    found = list(connection.execute(select(META.c.value).where(META.c.key == "version")).scalars())
    if REVISION.name in names:
        found += connection.execute(select(REVISION.c.version_num)).scalars()
    if not found or not all(each.isdigit() for each in found):
        raise StoreError(f"store {display_name(url)}: unreadable version; give another store with --store")
    version = max(int(each) for each in found)
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"store {display_name(url)}: created by a newer dbdyno (store version {version}, this dbdyno supports "
            f"{SCHEMA_VERSION}); update dbdyno, or give another store with --store"
        )
    return version


def _foreign_database(url: URL, tables: list[str]) -> StoreError:
    what = f"the database belongs to another program (tables: {first_of(tables, 3)})"
    hint = "give another path with --store" if is_file(url) else "create a database for the store with `createdb`"
    return StoreError(f"store {display_name(url)}: {what}; {hint}")


@contextmanager
def _exclusive_transaction(engine: Engine, url: URL) -> Iterator[Connection]:
    """Yield a connection with a transaction to create or upgrade a store; other processes wait for it.

    Python's sqlite3 would begin a transaction only before the first INSERT, so for SQLite it is begun explicitly.
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
            problem = f"the encoding {encoding} doesn't support all characters"
            hint = "create a database with `createdb --encoding=UTF8 --template=template0`"
            raise StoreError(f"store {display_name(url)}: {problem}; {hint}")
    METADATA.create_all(connection)
    connection.execute(insert(META).values(key="version", value=str(SCHEMA_VERSION)))
    connection.execute(insert(REVISION).values(version_num=str(SCHEMA_VERSION)))
