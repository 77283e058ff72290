"""Where dbdyno keeps things: the runs, and what it can make again, as templates, built libraries and copies."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, reason

STORE_VARIABLE = "DBDYNO_STORE"
"""The variable of the environment that names a store where ``--store`` does not."""


def cache_directory(*parts: str) -> Path:
    """Give a directory below the cache, made if need be: ``DBDYNO_CACHE``, or the user's own. Raises InputError."""
    named = os.environ.get("DBDYNO_CACHE")
    if named:
        root = Path(named)
    else:
        from platformdirs import user_cache_path

        root = _of_user(user_cache_path, "dbdyno")
    path = root.joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = reason(error)
        raise InputError(str(path), f"the directory cannot be made: {why}", "set DBDYNO_CACHE to another") from error
    return path


def default_path() -> Path:
    """Return the path of the store used when none is named: ``runs.db`` in the user's data directory.

    Raises InputError if the user has none.
    """
    from platformdirs import user_data_path

    return _of_user(user_data_path, "dbdyno", appauthor=False) / "runs.db"


def expand_user(path: str, place: str) -> Path:
    """Return a path with ``~`` expanded. Raises InputError, at ``place``, if there is no such home directory."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(place, f"`{path}`: no such home directory", "write the path without `~`") from None


def check_utf8(text: str, place: str) -> None:
    """Raise InputError, at ``place``, if an argument or a path has bytes that are not UTF-8: plans are JSON."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(place, "contains bytes that are not UTF-8", "rename the file or directory") from None


def _of_user(directory: Callable[..., Path], *arguments: str, **options: Any) -> Path:
    try:
        return directory(*arguments, **options)
    except RuntimeError:
        hint = "set HOME, or XDG_DATA_HOME and DBDYNO_CACHE"
        raise InputError("HOME", "not set, and this user has no home directory", hint) from None


def named_store(where: str | None) -> str | None:
    """Return the store that is named: by ``--store``, else by ``DBDYNO_STORE``; ``None``: the user's own."""
    return where if where is not None else os.environ.get(STORE_VARIABLE) or None
