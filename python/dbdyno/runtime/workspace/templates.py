"""Templates: loaded data, created once per distinct content and copied for each trial."""

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed, reason
from dbdyno.base.timestamps import utc_now
from dbdyno.runtime.workspace.claims import Claim, is_at, remove_abandoned

# If all templates together are larger than this, those that were not used for the longest time are removed.
_CACHE_BYTES = int(os.environ.get("DBDYNO_CACHE_BYTES", str(20 * 10**9)))

# The suffix of an unfinished template.
_UNFINISHED = ".tmp"

# The suffix of the file next to each template that describes how it was loaded.
_LOADED = ".json"

# This process's locks on the description files of the templates that it uses. They end with the process.
_USED: dict[Path, int] = {}

# For each active `unkept` context: the templates created in it.
_UNKEPT: list[list[Path]] = []


@dataclass(frozen=True)
class Template:
    """Loaded data. ``load_s``: seconds it took to load, 0 if it existed.

    ``loaded``: when it was loaded (``at``), and the duration per table as reported by the worker (``tables``).
    """

    path: Path
    load_s: float
    loaded: dict[str, Any] = field(default_factory=dict)


def template(path: Path, make: Callable[[Path], Any], *, of_tables: bool = True) -> Template:
    """Return the template at this path; create it with ``make`` if it doesn't exist. Raises SystemFailed.

    ``make`` gets a temporary path, which is renamed when it is complete, and returns the duration of loading per table.
    Old templates in the directory may be removed. ``of_tables``: the template contains the tables of an experiment, as
    opposed to an empty data directory.
    """
    if _use(path):
        # The access time is the time of last use. The modification time stays: concurrent copies check it.
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
        return Template(path, 0.0, _loaded(path))
    remove_unfinished(path.parent)
    start = time.monotonic()
    try:
        claim = Claim(path.parent, f"{path.stem}.", _UNFINISHED)
    except OSError as error:
        raise SystemFailed(f"{path.parent}: can't create files: {reason(error)}") from error
    try:
        loaded = {"at": utc_now(), "tables": make(claim.path)}
        _put_in_place(claim.path, path, loaded)
    except SystemFailed as error:
        if not of_tables:
            raise
        raise SystemFailed(f"loading the tables: {error}") from error
    finally:
        claim.release()
    _use(path)
    if of_tables:
        for made in _UNKEPT:
            made.append(path)
    _make_room(path.parent, keep=path)
    return Template(path, time.monotonic() - start, loaded)


@contextlib.contextmanager
def unkept() -> Iterator[None]:
    """Remove the templates of tables that were created in this context when it ends."""
    made: list[Path] = []
    _UNKEPT.append(made)
    try:
        yield
    finally:
        _UNKEPT.remove(made)
        for path in made:
            lock = _USED.pop(path.with_suffix(_LOADED), None)
            if lock is not None:
                os.close(lock)
            remove_unused(path)


def _put_in_place(made: Path, path: Path, loaded: dict[str, Any]) -> None:
    """Rename a complete template to its path, unless another process was faster and created the same content."""
    marker = path.with_suffix(_LOADED)
    unfinished = made.with_name(f"{made.name}{_LOADED}")
    unfinished.write_text(json.dumps(loaded), encoding="utf-8")
    if not marker.exists():
        unfinished.rename(marker)
    if path.exists():
        # Another process may be copying it.
        return
    try:
        made.rename(path)
    except OSError:
        if not path.exists():
            raise


def _use(path: Path) -> bool:
    """Prevent other processes from removing a template until this process ends. Return whether it exists.

    Takes a shared lock on the description file. Without locks, or without that file, only the access time protects the
    template, since templates in use were used recently.
    """
    marker = path.with_suffix(_LOADED)
    if marker not in _USED:
        with contextlib.suppress(OSError):
            lock = os.open(marker, os.O_RDONLY | os.O_CLOEXEC)
            try:
                # A process that removes it holds the lock only briefly.
                fcntl.flock(lock, fcntl.LOCK_SH)
                if is_at(lock, marker):
                    _USED[marker] = lock
            finally:
                if marker not in _USED:
                    os.close(lock)
    return path.exists()


def remove_unfinished(directory: Path) -> None:
    """Remove unfinished templates of killed runs from a directory."""
    remove_abandoned(directory, suffix=_UNFINISHED)


def _loaded(path: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(path.with_suffix(_LOADED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _make_room(directory: Path, keep: Path) -> None:
    """Remove the templates that were unused for the longest time until the rest fits."""
    by_use = sorted((*directory.glob("*.db"), *directory.glob("*.data")), key=lambda path: path.stat().st_atime)
    sizes = {path: _size(path) for path in by_use}
    total = sum(sizes.values())
    for path in by_use:
        if total <= _CACHE_BYTES:
            break
        if path != keep and remove_unused(path):
            total -= sizes[path]


def remove_unused(path: Path) -> bool:
    """Remove a template unless a process uses it. Return whether it was removed."""
    marker = path.with_suffix(_LOADED)
    if marker in _USED:
        return False
    try:
        lock = os.open(marker, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # Without a description file, no process can have locked it.
        _remove(path)
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
        marker.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _size(path: Path) -> int:
    if path.is_dir():
        return sum((Path(top) / name).lstat().st_size for top, _, files in os.walk(path) for name in files)
    return path.stat().st_size


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
