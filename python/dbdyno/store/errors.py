"""Turn database errors into StoreError, with the store's name and a hint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from dbdyno.base.errors import InputError, StoreError
from dbdyno.base.text import printable, shortened
from dbdyno.store.urls import display_name, is_file, mask_passwords

# Messages of SQLite about damaged files.
_DAMAGE = ("malformed", "no such table", "no such column", "could not decode", "disk i/o error", "corrupt", "too big")

# Hints by words in SQLite's message; the first match is used.
_OF_SQLITE = (
    (("readonly", "read-only", "unable to open", "permission"), "give a writable path with --store"),
    (("not a database",), "the file is not a dbdyno store; give another path with --store"),
    (_DAMAGE, "move the file away, or give another path with --store"),
    (("full",), "free some disk space, or give a path on another disk with --store"),
    (("locked",), "another process has locked it; try again when that process has ended"),
)

# Hints by SQLSTATE (PostgreSQL documentation, appendix A) or its first two characters, the class.
_OF_POSTGRESQL = {
    "25006": "this server is read-only; give the URL of the primary server",
    "28": "check the user, and the permitted hosts in pg_hba.conf",
    "28P01": "put the password into ~/.pgpass or PGPASSWORD",
    "3D000": "create the database with `createdb`; dbdyno creates its tables",
    "3F000": "create the schema in the URL's search_path, or leave out search_path",
    "42501": "ask the database's owner to grant it, or use your own database",
    "53100": "free some disk space on the server",
    "53300": "too many connections; increase max_connections, or try again later",
    "55P03": "another process has locked it; try again when that process has ended",
}

# libpq's errors during login have no SQLSTATE. The SQLSTATE by words in the message.
_OF_CONNECTING = (
    (("no password supplied", "password authentication failed"), "28P01"),
    (("pg_hba.conf", 'role "'), "28"),
    (('database "',), "3D000"),
    (("too many clients", "remaining connection slots"), "53300"),
)

_MAX_LENGTH = 200

_USUAL = "check that the store exists and is accessible, or give another one with --store"


class RowRefused(StoreError):
    """A row violates a constraint of its table, such as a duplicate id."""


@contextmanager
def store_errors(url: URL) -> Iterator[None]:
    """Convert database errors and invalid stored values into StoreError, and names that aren't UTF-8 to InputError."""
    try:
        yield
    except DBAPIError as error:
        raise store_error(url, error) from error
    except UnicodeEncodeError as error:
        # The name of a run or baseline on the command line; stored strings are valid.
        problem = f"not UTF-8, so the store {display_name(url)} contains no run or baseline with this name"
        raise InputError(printable(error.object), problem, "list the runs with `dbdyno runs`") from error
    except (SQLAlchemyError, ValueError) as error:
        raise unreadable(url, error) from error


def unreadable(url: URL, error: Exception, whose: str = "") -> StoreError:
    """Return the error for a value that dbdyno didn't write, because the store was edited or is damaged.

    ``whose``: a prefix that names the run, such as ``run 20260314-k7wd: ``.
    """
    words = mask_passwords(shortened(" ".join(str(error).split()) or type(error).__name__, _MAX_LENGTH), url)
    if isinstance(error, LookupError):
        words = f"{words} is missing"
    return StoreError(
        f"store {display_name(url)}: contains unreadable data ({whose}{words}); give another path with --store"
    )


def store_error(url: URL, error: DBAPIError) -> StoreError:
    """Return the error with the store's name, the database's message and a hint."""
    message = mask_passwords(str(error.orig), url).strip()
    text = message.splitlines()[0] if message else type(error.orig).__name__
    hint = _hint_of_sqlite(text) if is_file(url) else _hint_of_postgresql(text, getattr(error.orig, "sqlstate", None))
    kind = RowRefused if isinstance(error, IntegrityError) else StoreError
    return kind(f"store {display_name(url)}: {text}; {hint}")


def _hint_of_sqlite(text: str) -> str:
    return next((hint for words, hint in _OF_SQLITE if any(word in text.lower() for word in words)), _USUAL)


def _hint_of_postgresql(text: str, state: str | None) -> str:
    if state is None:
        state = next((code for words, code in _OF_CONNECTING if any(word in text for word in words)), "")
    return _OF_POSTGRESQL.get(state) or _OF_POSTGRESQL.get(state[:2]) or _USUAL
