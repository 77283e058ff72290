"""Where dbdyno keeps things: the runs, and what it can make again, as templates, built libraries and copies."""

import os
from pathlib import Path

from dbdyno.errors import InputError, reason

STORE_VARIABLE = "DBDYNO_STORE"
"""The variable of the environment that names a store where ``--store`` does not."""


def cache_directory(*parts: str) -> Path:
    """Give a directory below the cache, made if need be: ``DBDYNO_CACHE``, or the user's own. Raises InputError."""
    named = os.environ.get("DBDYNO_CACHE")
    if named:
        root = Path(named)
    else:
        from platformdirs import user_cache_path

        root = user_cache_path("dbdyno")
    path = root.joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = reason(error)
        raise InputError(str(path), f"the directory cannot be made: {why}", "set DBDYNO_CACHE to another") from error
    return path


def default_path() -> Path:
    """Return the path of the store used when none is named: ``runs.db`` in the user's data directory."""
    from platformdirs import user_data_path

    return user_data_path("dbdyno", appauthor=False) / "runs.db"


def named_store(where: str | None) -> str | None:
    """Return the store that is named: by ``--store``, else by ``DBDYNO_STORE``; ``None``: the user's own."""
    return where if where is not None else os.environ.get(STORE_VARIABLE) or None
