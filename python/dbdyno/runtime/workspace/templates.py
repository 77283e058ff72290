"""Loaded data: made once for each distinct content, kept as a file or a directory, and copied for each trial."""

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

# Templates not used lately are removed when all together are larger than this.
_CACHE_BYTES = int(os.environ.get("DBDYNO_CACHE_BYTES", str(20 * 10**9)))

# Of one that is being made.
_UNFINISHED = ".tmp"

# Beside each template: what loading it took.
_LOADED = ".json"

# The locks of this process on what tells of the templates that it uses. They go with it.
_USED: dict[Path, int] = {}


# Of each caller of `unkept`, the templates that were made since.
_UNKEPT: list[list[Path]] = []


@dataclass(frozen=True)
class Template:
    """Loaded data. ``load_s``: seconds it took to make, 0 where it was there already.

    ``loaded``: when it was loaded (``at``), and what that took by table, as the worker reports it (``tables``).
    """

    path: Path
    load_s: float
    loaded: dict[str, Any] = field(default_factory=dict)


def template(path: Path, make: Callable[[Path], Any], *, of_tables: bool = True) -> Template:
    """Give the template of this path; where it is not there yet, ``make`` makes it at another, whole or not at all.

    ``make`` gives what loading took, by table. Others in the directory make room for it. ``of_tables``: it is of one
    experiment's tables, and not of data that all begin with. Raises SystemFailed.
    """
    if _use(path):
        # When it was used last. When it was changed last, who copies it at this moment sees that it stays as it is.
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
        return Template(path, 0.0, _loaded(path))
    remove_unfinished(path.parent)
    start = time.monotonic()
    try:
        claim = Claim(path.parent, f"{path.stem}.", _UNFINISHED)
    except OSError as error:
        raise SystemFailed(f"{path.parent}: nothing can be made in it: {reason(error)}") from error
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
    """Remove the templates of tables that are made within at its end: nobody needs them again."""
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
    """Have a template that is whole at its path, unless another process was quicker: the content is the same."""
    told = path.with_suffix(_LOADED)
    unfinished = made.with_name(f"{made.name}{_LOADED}")
    unfinished.write_text(json.dumps(loaded), encoding="utf-8")
    if not told.exists():
        unfinished.rename(told)
    if path.exists():
        # Another process may be copying it.
        return
    try:
        made.rename(path)
    except OSError:
        if not path.exists():
            raise


def _use(path: Path) -> bool:
    """Keep other processes from removing a template until this one ends; whether it is there.

    What tells of it is locked, together with all others that use it. Without locks, or where nothing tells of it, it is
    as it was: one that is used was used lately, and goes last.
    """
    told = path.with_suffix(_LOADED)
    if told not in _USED:
        with contextlib.suppress(OSError):
            lock = os.open(told, os.O_RDONLY | os.O_CLOEXEC)
            try:
                # Who removes it holds the lock for a moment.
                fcntl.flock(lock, fcntl.LOCK_SH)
                if is_at(lock, told):
                    _USED[told] = lock
            finally:
                if told not in _USED:
                    os.close(lock)
    return path.exists()


def remove_unfinished(directory: Path) -> None:
    """Remove the templates in a directory that killed runs left half made."""
    remove_abandoned(directory, suffix=_UNFINISHED)


def _loaded(path: Path) -> dict[str, Any]:
    """Read what loading a template took, which is kept beside it."""
    try:
        loaded = json.loads(path.with_suffix(_LOADED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _make_room(directory: Path, keep: Path) -> None:
    """Remove the templates unused for longest until the rest fits."""
    by_use = sorted((*directory.glob("*.db"), *directory.glob("*.data")), key=lambda path: path.stat().st_atime)
    sizes = {path: _size(path) for path in by_use}
    total = sum(sizes.values())
    for path in by_use:
        if total <= _CACHE_BYTES:
            break
        if path != keep and remove_unused(path):
            total -= sizes[path]


def remove_unused(path: Path) -> bool:
    """Remove a template, unless a process uses it; whether it was removed."""
    told = path.with_suffix(_LOADED)
    if told in _USED:
        return False
    try:
        lock = os.open(told, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # Nobody can have locked what is not there.
        _remove(path)
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
        told.unlink(missing_ok=True)
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
