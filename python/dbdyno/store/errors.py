"""What went wrong with a store, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from dbdyno.base.errors import InputError, StoreError
from dbdyno.base.text import printable, shortened
from dbdyno.store.urls import is_file, shown, without_passwords

# What SQLite says of a file of which a part was lost or changed.
_DAMAGE = ("malformed", "no such table", "no such column", "could not decode", "disk i/o error", "corrupt", "too big")

# By words of SQLite's message, in the order in which they are looked for.
_OF_SQLITE = (
    (("readonly", "read-only", "unable to open", "permission"), "give a path that can be written with --store"),
    (("not a database",), "it is not a store of dbdyno; give another path with --store"),
    (_DAMAGE, "move the file away, or give another path with --store"),
    (("full",), "free some space on the device, or give a path on another one with --store"),
    (("locked",), "another process holds it; try again when that has ended"),
)

# By SQLSTATE (PostgreSQL's appendix A), or the first two characters of it, which are its class.
_OF_POSTGRESQL = {
    "25006": "it takes no writes now; name the server that does",
    "28": "check the user, and who may come from here (pg_hba.conf)",
    "28P01": "put the password into ~/.pgpass or PGPASSWORD",
    "3D000": "`createdb` makes one; dbdyno makes its tables in it",
    "3F000": "make the schema that its search_path names, or leave search_path out",
    "42501": "have the database's owner grant it, or name a database of your own",
    "53100": "free some space on the server's device",
    "53300": "the server has no connection left; raise max_connections, or try again",
    "55P03": "another process holds it; try again when that has ended",
}

# What libpq says before a server has let anybody in: then there is no SQLSTATE.
_OF_CONNECTING = (
    (("no password supplied", "password authentication failed"), "28P01"),
    (("pg_hba.conf", 'role "'), "28"),
    (('database "',), "3D000"),
    (("too many clients", "remaining connection slots"), "53300"),
)

_LONGEST = 200

_USUAL = "check that it is there and can be used, or give another one with --store"


class RowRefused(StoreError):
    """A row breaks a rule of its table, such as an id that is taken."""


@contextmanager
def store_errors(url: URL) -> Iterator[None]:
    """Turn what goes wrong with a store into StoreError: in the database, and with what is found in it."""
    try:
        yield
    except DBAPIError as error:
        raise store_error(url, error) from error
    except UnicodeEncodeError as error:
        # A name that was asked for; what a store holds is decoded.
        problem = f"no run and no baseline of the store {shown(url)} has this name: it is not UTF-8"
        raise InputError(printable(error.object), problem, "`dbdyno runs` lists the runs") from error
    except (SQLAlchemyError, ValueError) as error:
        raise unreadable(url, error) from error


def unreadable(url: URL, error: Exception, whose: str = "") -> StoreError:
    """Return the error for what dbdyno did not write: the file was changed by hand, or is damaged.

    ``whose``: what it belongs to, such as ``run 20260314-k7wd: ``.
    """
    words = without_passwords(shortened(" ".join(str(error).split()) or type(error).__name__, _LONGEST), url)
    if isinstance(error, LookupError):
        words = f"{words} is missing"
    return StoreError(
        f"store {shown(url)}: holds something unreadable ({whose}{words}); give another path with --store"
    )


def store_error(url: URL, error: DBAPIError) -> StoreError:
    """Say what went wrong with the store, where, and what to do about it."""
    said = without_passwords(str(error.orig), url).strip()
    text = said.splitlines()[0] if said else type(error.orig).__name__
    hint = _hint_of_sqlite(text) if is_file(url) else _hint_of_postgresql(text, getattr(error.orig, "sqlstate", None))
    kind = RowRefused if isinstance(error, IntegrityError) else StoreError
    return kind(f"store {shown(url)}: {text}; {hint}")


def _hint_of_sqlite(text: str) -> str:
    return next((hint for words, hint in _OF_SQLITE if any(each in text.lower() for each in words)), _USUAL)


def _hint_of_postgresql(text: str, state: str | None) -> str:
    if state is None:
        state = next((code for words, code in _OF_CONNECTING if any(each in text for each in words)), "")
    return _OF_POSTGRESQL.get(state) or _OF_POSTGRESQL.get(state[:2]) or _USUAL
