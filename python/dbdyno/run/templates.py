"""Loaded data: made once for each distinct content, kept as a file or a directory, and copied for each trial."""

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from dbdyno.errors import SystemFailed
from dbdyno.store import utc_now

# Templates not used lately are removed when all together are larger than this.
_CACHE_BYTES = int(os.environ.get("DBDYNO_CACHE_BYTES", str(20 * 10**9)))

# What lies beside a SQLite file that is being made.
_SIDE_FILES = ("-wal", "-shm", "-journal")

# Beside each template: what loading it took.
_LOADED = ".json"


@dataclass(frozen=True)
class Template:
    """Loaded data. ``load_s``: seconds it took to make, 0 where it was there already.

    ``loaded``: when it was loaded (``at``), and what that took by table, as the worker reports it (``tables``).
    """

    path: Path
    load_s: float
    loaded: dict[str, Any] = field(default_factory=dict)


def template(path: Path, make: Callable[[Path], Any]) -> Template:
    """Give the template of this path; where it is not there yet, ``make`` makes it at another, whole or not at all.

    ``make`` gives what loading took, by table. Others in the directory make room for it. Raises SystemFailed.
    """
    if path.exists():
        os.utime(path)
        return Template(path, 0.0, _loaded(path))
    remove_unfinished(path.parent)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    start = time.monotonic()
    try:
        loaded = {"at": utc_now(), "tables": make(unfinished)}
        path.with_suffix(_LOADED).write_text(json.dumps(loaded), encoding="utf-8")
        unfinished.rename(path)
    except SystemFailed as error:
        raise SystemFailed(f"loading the tables: {error}") from error
    finally:
        for name in ("", *_SIDE_FILES):
            _remove(Path(f"{unfinished}{name}"))
    _make_room(path.parent, keep=path)
    return Template(path, time.monotonic() - start, loaded)


def remove_unfinished(directory: Path) -> None:
    """Remove the templates in a directory that killed runs left half made."""
    for unfinished in directory.glob("*.tmp*"):
        owner = unfinished.name.split(".")[1]
        if not (owner.isdigit() and psutil.pid_exists(int(owner))):
            _remove(unfinished)


def _loaded(path: Path) -> dict[str, Any]:
    """Read what loading a template took, which is kept beside it."""
    try:
        loaded = json.loads(path.with_suffix(_LOADED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _make_room(directory: Path, keep: Path) -> None:
    """Remove the templates unused for longest until the rest fits."""
    by_use = sorted((*directory.glob("*.db"), *directory.glob("*.data")), key=lambda path: path.stat().st_mtime)
    sizes = {path: _size(path) for path in by_use}
    total = sum(sizes.values())
    for path in by_use:
        if total <= _CACHE_BYTES:
            break
        if path != keep:
            total -= sizes[path]
            _remove(path)
            path.with_suffix(_LOADED).unlink(missing_ok=True)


def _size(path: Path) -> int:
    if path.is_dir():
        return sum((Path(top) / name).lstat().st_size for top, _, files in os.walk(path) for name in files)
    return path.stat().st_size


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
