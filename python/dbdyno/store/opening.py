"""Opening a store: where it is, whether it is one, whether this dbdyno can read it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError

from dbdyno.errors import InputError, StoreError, reason
from dbdyno.paths import default_path
from dbdyno.store.tables import META, METADATA, OLDER, SCHEMA_VERSION

BUSY_TIMEOUT_S = 30.0
_MAKING_TIMEOUT_S = 2.0
_LOOK_AGAIN_S = 0.05
SQLITE_HEADER = b"SQLite format 3\x00"


def store_url(where: str | None) -> URL:
    """Turn ``--store`` (a path, an SQLAlchemy URL or nothing) into a URL; ``InputError`` where it is not one."""
    if where is None:
        return URL.create("sqlite", database=str(default_path()))
    if not where.strip():
        raise InputError("--store", "is empty", "give the path of a file or an SQLAlchemy URL")
    if "://" not in where:
        return URL.create("sqlite", database=str(Path(where).expanduser()))
    try:
        return make_url(where)
    except (ArgumentError, ValueError):
        # The text itself is not repeated: it may hold a password that could not be told apart.
        raise InputError(
            "--store", "is not a URL that SQLAlchemy reads", "write dialect://user@host/database, or a path"
        ) from None


def open_engine(url: URL, *, make: bool = True) -> Engine:
    """Return an engine on a store that is there and readable; ``make``: made new where nothing is yet.

    Raises ``InputError`` for a dialect or driver that is not installed, and where there is no store and none is to be
    made, ``StoreError`` for a file that is no store, cannot be written, or was made by a newer dbdyno.
    """
    place = shown(url)
    path = _sqlite_path(url)
    if path is not None:
        if not make and not path.exists():
            raise _none_there(place)
        _prepare_file(path)
    try:
        engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S} if path is not None else {})
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise InputError(
            f"--store {place}", f"no driver for it is installed ({error})", "install it, or give the path of a file"
        ) from None
    deadline = time.monotonic() + _MAKING_TIMEOUT_S
    while True:
        # Another process may be making the store at this moment: it is looked at again.
        try:
            if _check(engine, place, is_sqlite=path is not None, make=make):
                if path is not None:
                    _use_wal(engine)
                break
            if time.monotonic() >= deadline:
                raise _without_version(place)
        except DBAPIError as error:
            # What SQLite has waited for as long as it is to wait is late as well, and not waited for again.
            if time.monotonic() >= deadline or not _is_race(error):
                raise store_error(url, error) from error
        time.sleep(_LOOK_AGAIN_S)
    if path is not None:
        event.listen(engine, "connect", _configure_sqlite)
        engine.dispose()
    return engine


def store_error(url: URL, error: DBAPIError) -> StoreError:
    """Say what went wrong with the store, where, and what to do about it."""
    text = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    low = text.lower()
    if "readonly" in low or "read-only" in low or "unable to open" in low or "permission" in low:
        hint = "give a path that can be written with --store"
    elif "malformed" in low or "not a database" in low:
        hint = "move the file away, or give another path with --store"
    elif "full" in low:
        hint = "free some space on the device, or give a path on another one with --store"
    elif "locked" in low:
        hint = "another process holds it; try again when that has ended"
    else:
        hint = "check that it is there and can be used, or give another one with --store"
    return StoreError(f"store {shown(url)}: {text}; {hint}")


@contextmanager
def reading(engine: Engine, url: URL) -> Iterator[Connection]:
    """Give a connection to read with; whatever goes wrong is told of the store at ``url``, as StoreError."""
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        raise store_error(url, error) from error
    except ValueError as error:  # JSON that does not parse: the file was changed by hand or is damaged
        raise StoreError(
            f"store {shown(url)}: holds something unreadable ({error}); give another path with --store"
        ) from error


def shown(url: URL) -> str:
    """Return the store's name for messages: a path for SQLite, else the URL without its password."""
    return (
        url.database or ":memory:" if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    )


def _sqlite_path(url: URL) -> Path | None:
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:":
        raise InputError("--store", "a store in memory is lost when dbdyno ends", "give the path of a file")
    return Path(url.database)


def _prepare_file(path: Path) -> None:
    """Make the directory and refuse what is plainly no SQLite file, before SQLite touches it."""
    try:
        # Runs tell about a machine and its software: the directory is the user's own.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"store {path}: is a directory; give the path of a file with --store")
        if path.exists():
            with path.open("rb") as file:
                head = file.read(len(SQLITE_HEADER))
            if head and head != SQLITE_HEADER:
                raise StoreError(f"store {path}: is not a store of dbdyno; give another path with --store")
    except OSError as error:
        raise StoreError(f"store {path}: {reason(error)}; give a path that can be written with --store") from error


def _none_there(place: str) -> InputError:
    return InputError(
        f"--store {place}", "there is no store of runs there", "`dbdyno run` with that `--store` makes one"
    )


def _without_version(place: str) -> StoreError:
    return StoreError(f"store {place}: its version cannot be read; give another path with --store")


def _is_race(error: DBAPIError) -> bool:
    # SQLite does not wait for others when it changes the journal's mode.
    return isinstance(error, IntegrityError) or any(
        each in str(error.orig) for each in ("already exists", "database is locked")
    )


def _use_wal(engine: Engine) -> None:
    """Let readers and one writer work side by side; a file keeps this mode, so it is set once."""
    with engine.connect() as connection:
        if connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
            connection.exec_driver_sql("PRAGMA journal_mode = wal")


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    """Make an acknowledged trial survive a power cut."""
    connection.execute("PRAGMA synchronous = full")
    connection.execute("PRAGMA foreign_keys = on")


def _check(engine: Engine, place: str, *, is_sqlite: bool, make: bool) -> bool:
    """Look whether there is a store that this dbdyno reads, and make it where there is none.

    False: there are tables of a store, but no version yet.
    """
    with engine.begin() as connection:
        names = set(inspect(connection).get_table_names())
        if META.name in names and _version(connection) not in OLDER:
            return _is_readable(connection, place)
        # A file of somebody else is left as it was. In a server's database other tables are nothing unusual.
        if names and is_sqlite and META.name not in names:
            raise StoreError(f"store {place}: is a database of another program; give another path with --store")
        if not make and META.name not in names:
            raise _none_there(place)
    with _making(engine, is_sqlite=is_sqlite) as connection:
        if META.name in names:
            _migrate(connection)
            return _is_readable(connection, place)
        METADATA.create_all(connection, checkfirst=True)
        if _version(connection) is None:
            connection.execute(insert(META).values(key="version", value=str(SCHEMA_VERSION)))
        return _is_readable(connection, place)


@contextmanager
def _making(engine: Engine, *, is_sqlite: bool) -> Iterator[Connection]:
    """Give a transaction in which a store is made whole or not at all, by one process after the other.

    Python's sqlite3 would begin one with the first INSERT only, after the tables: for SQLite it is begun here. In a
    server whose DDL ends the transaction (MariaDB) others may see the tables first, and wait for the version.
    """
    if not is_sqlite:
        with engine.begin() as connection:
            yield connection
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
        connection.exec_driver_sql("COMMIT")


def _migrate(connection: Connection) -> None:
    """Bring the tables of an older store to the present version, unless another process has done so meanwhile.

    What older runs concluded when they ended stands in their observations, which name no such kind, and is not said.
    """
    version = _version(connection)
    if version not in OLDER:
        return
    for statement in OLDER[version]:
        connection.exec_driver_sql(statement)
    connection.execute(update(META).where(META.c.key == "version").values(value=str(SCHEMA_VERSION)))


def _version(connection: Connection) -> str | None:
    found: str | None = connection.execute(select(META.c.value).where(META.c.key == "version")).scalar_one_or_none()
    return found


def _is_readable(connection: Connection, place: str) -> bool:
    version = _version(connection)
    if version is None:
        return False
    if not version.isdigit():
        raise _without_version(place)
    if int(version) > SCHEMA_VERSION:
        raise StoreError(
            f"store {place}: was made by a newer dbdyno (store version {version}, this one reads {SCHEMA_VERSION}); "
            "update dbdyno, or give another path with --store"
        )
    return True
