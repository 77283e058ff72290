"""Where a store is: what names it, as a URL, and how a message names it without a password."""

from __future__ import annotations

import re

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dbdyno.base.errors import InputError
from dbdyno.base.paths import STORE_VARIABLE, default_path, expand_user, named_store
from dbdyno.store.masking import MASK, is_secret

_DRIVER = "postgresql+psycopg"
# As libpq and SQLAlchemy name it, and with the driver that dbdyno brings.
_SERVERS = ("postgresql", "postgres", _DRIVER)
_FILES = ("sqlite", "sqlite+pysqlite")
# Of these libpq takes the database where the URL names none.
_DATABASE_KEYS = frozenset({"dbname", "service"})
# What looks like the beginning of a URL would make a file of that name.
_HALF_A_URL = re.compile(r"(?:sqlite|postgres(?:ql)?)(?:\+\w+)?:", re.I)

_WHAT_IS_RIGHT = "give the path of a file, or postgresql://user@host/database"


def store_url(where: str | None) -> URL:
    """Turn ``--store`` (a path or a URL), else ``DBDYNO_STORE``, else the user's own store, into a URL.

    Raises InputError where it is none, and where it names neither a file of SQLite nor a database of PostgreSQL.
    """
    option = "--store" if where is not None else STORE_VARIABLE
    where = named_store(where)
    if where is None:
        return URL.create("sqlite", database=str(default_path()))
    if not where.strip():
        raise InputError(option, "is empty", _WHAT_IS_RIGHT)
    if "://" not in where:
        if _HALF_A_URL.match(where):
            raise InputError(option, "is no URL yet: two slashes are missing", _WHAT_IS_RIGHT)
        return URL.create("sqlite", database=str(expand_user(where, option)))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        # The text itself is not repeated: it may hold a password that could not be told apart.
        raise InputError(option, "is not a URL", _WHAT_IS_RIGHT) from None
    if url.drivername in _FILES:
        if not url.database or url.database == ":memory:":
            raise InputError(option, "a store in memory is lost when dbdyno ends", "give the path of a file")
        return url
    if url.drivername not in _SERVERS:
        problem = "runs are kept in SQLite or in PostgreSQL"
        raise InputError(f"{option} {shown(url)}", problem, _WHAT_IS_RIGHT)
    if not url.database and not _DATABASE_KEYS & url.query.keys():
        raise InputError(f"{option} {shown(url)}", "it names no database", "write postgresql://user@host/database")
    return url.set(drivername=_DRIVER)


def is_file(url: URL) -> bool:
    """Whether a store is a file of SQLite, and not a database of PostgreSQL."""
    return url.drivername in _FILES


def shown(url: URL) -> str:
    """Return the store's name for messages and commands: a path for SQLite, else the URL without its passwords."""
    if is_file(url):
        return url.database or ":memory:"
    # Made anew: `URL.set` keeps a password that is not replaced by another.
    query = {key: value for key, value in url.query.items() if not is_secret(key)}
    name = "postgresql" if url.drivername in _SERVERS else url.drivername
    place = URL.create(name, url.username, None, url.host, url.port, url.database, query)
    return place.render_as_string(hide_password=False)


def without_passwords(text: str, url: URL) -> str:
    """Return what a driver or a server said, with the passwords of a URL masked wherever they stand."""
    values = [url.password, *(value for key, value in url.query.items() if is_secret(key))]
    for each in values:
        if each:
            text = text.replace(str(each), MASK)
    return text
