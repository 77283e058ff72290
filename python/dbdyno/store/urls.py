"""URLs of stores, and their display without passwords."""

from __future__ import annotations

import re

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dbdyno.base.errors import InputError
from dbdyno.base.paths import STORE_VARIABLE, default_path, expand_user, named_store
from dbdyno.store.masking import MASK, is_secret

_DRIVER = "postgresql+psycopg"
# The schemes of libpq, SQLAlchemy and the driver that dbdyno uses.
_SERVERS = ("postgresql", "postgres", _DRIVER)
_FILES = ("sqlite", "sqlite+pysqlite")
# Options from which libpq takes the database if the URL's path doesn't contain it.
_DATABASE_KEYS = frozenset({"dbname", "service"})
# An incomplete URL, which would otherwise be used as a file name.
_HALF_A_URL = re.compile(r"(?:sqlite|postgres(?:ql)?)(?:\+\w+)?:", re.I)

_WHAT_IS_RIGHT = "give the path of a file, or postgresql://user@host/database"


def store_url(where: str | None) -> URL:
    """Return the URL of a store from ``--store`` (a path or a URL).

    ``None`` means ``DBDYNO_STORE``, by default the store in the user's data directory. Raises InputError if it is
    neither a path nor the URL of a SQLite file or a PostgreSQL database.
    """
    option = "--store" if where is not None else STORE_VARIABLE
    where = named_store(where)
    if where is None:
        return URL.create("sqlite", database=str(default_path()))
    if not where.strip():
        raise InputError(option, "empty", _WHAT_IS_RIGHT)
    if "://" not in where:
        if _HALF_A_URL.match(where):
            raise InputError(option, "not a URL: two slashes are missing", _WHAT_IS_RIGHT)
        return URL.create("sqlite", database=str(expand_user(where, option)))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        # Don't repeat the argument: it may contain a password, which can't be recognized.
        raise InputError(option, "not a URL", _WHAT_IS_RIGHT) from None
    if url.drivername in _FILES:
        if not url.database or url.database == ":memory:":
            raise InputError(option, "a store in memory would be lost when dbdyno ends", "give the path of a file")
        return url
    if url.drivername not in _SERVERS:
        problem = "a store is a SQLite file or a PostgreSQL database"
        raise InputError(f"{option} {display_name(url)}", problem, _WHAT_IS_RIGHT)
    if not url.database and not _DATABASE_KEYS & url.query.keys():
        raise InputError(
            f"{option} {display_name(url)}", "missing database name", "write postgresql://user@host/database"
        )
    return url.set(drivername=_DRIVER)


def is_file(url: URL) -> bool:
    """Whether a store is a SQLite file; otherwise it is a PostgreSQL database."""
    return url.drivername in _FILES


def display_name(url: URL) -> str:
    """Return a store's name for messages and commands: a path for SQLite, for PostgreSQL the URL without passwords."""
    if is_file(url):
        return url.database or ":memory:"
    # `URL.set` can't remove a password, so create a new URL.
    query = {key: value for key, value in url.query.items() if not is_secret(key)}
    name = "postgresql" if url.drivername in _SERVERS else url.drivername
    full_url = URL.create(name, url.username, None, url.host, url.port, url.database, query)
    return full_url.render_as_string(hide_password=False)


def mask_passwords(text: str, url: URL) -> str:
    """Mask the passwords of a URL in a message of a driver or a server."""
    values = [url.password, *(value for key, value in url.query.items() if is_secret(key))]
    for value in values:
        if value:
            text = text.replace(str(value), MASK)
    return text
