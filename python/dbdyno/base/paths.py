"""Paths of the store and of the cache. The cache contains templates, built libraries and other reproducible files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, reason

STORE_VARIABLE = "DBDYNO_STORE"
"""Environment variable with the path or URL of the store, used if ``--store`` is not given."""


def cache_directory(*parts: str) -> Path:
    """Return a subdirectory of the cache, and create it if necessary.

    The cache is ``DBDYNO_CACHE``, by default the user's cache directory. Raises InputError if it can't be created.
    """
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
        hint = "set DBDYNO_CACHE to another directory"
        raise InputError(str(path), f"could not create the directory: {why}", hint) from error
    return path


def default_path() -> Path:
    """Return the path of the default store: ``runs.db`` in the user's data directory.

    Raises InputError if the user has no home directory.
    """
    from platformdirs import user_data_path

    return _of_user(user_data_path, "dbdyno", appauthor=False) / "runs.db"


def expand_user(path: str, location: str) -> Path:
    """Return a path with ``~`` expanded. Raises InputError, at ``location``, if there is no such home directory."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(location, f"`{path}`: no such home directory", "write the path without `~`") from None


def check_utf8(text: str, location: str) -> None:
    """Raise InputError at ``location`` if an argument or a path contains invalid UTF-8: JSON plans can't hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(location, "contains bytes that are not UTF-8", "rename the file or directory") from None


def _of_user(directory: Callable[..., Path], *arguments: str, **options: Any) -> Path:
    try:
        return directory(*arguments, **options)
    except RuntimeError:
        hint = "set HOME, or XDG_DATA_HOME and DBDYNO_CACHE"
        raise InputError("HOME", "not set, and this user has no home directory", hint) from None


def named_store(where: str | None) -> str | None:
    """Return ``where`` (``--store``) or the value of ``DBDYNO_STORE``; ``None`` means the default store."""
    return where if where is not None else os.environ.get(STORE_VARIABLE) or None
