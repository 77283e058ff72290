"""Where dbdyno keeps what it can make again: templates, built libraries, the copies a run works on."""

import os
from pathlib import Path

from dbdyno.errors import InputError, reason


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
