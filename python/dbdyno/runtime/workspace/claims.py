"""Reserve a path for one process as long as it lives, across containers and nodes.

A claim is a locked file next to the claimed path. The lock (flock(2)) ends with the process. It holds on all nodes
that share the file system if its locks do, such as NFS without ``nolock`` and ``local_lock``. A path whose lock file
isn't locked is abandoned. Process ids can't replace the lock, because two containers can have the same ids.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

_LOCK = ".lock"
_TOKEN_LENGTH = 16


class Claim:
    """A unique path in a directory that other processes don't touch while this process lives."""

    def __init__(self, directory: Path, prefix: str, suffix: str = "", length: int = _TOKEN_LENGTH) -> None:
        """Claim ``path``: the prefix, ``length`` random hexadecimal digits, and the suffix.

        Creates only the lock file next to it. Raises OSError.
        """
        self._lock: int | None = None
        while self._lock is None:
            token = secrets.token_hex((length + 1) // 2)[:length]
            self.path = directory / f"{prefix}{token}{suffix}"
            self._lock = _make_locked(self.lock_path)

    @property
    def lock_path(self) -> Path:
        """The lock file, which is removed last."""
        return self.path.with_name(self.path.name + _LOCK)

    @property
    def lock(self) -> int | None:
        """The descriptor that holds the lock; a process that inherits it shares the lock. None after release."""
        return self._lock

    def release(self) -> None:
        """Remove all files and directories whose names begin with the claimed one, and unlock. Idempotent."""
        if self._lock is None:
            return
        _remove_all(self.path)
        lock, self._lock = self._lock, None
        with contextlib.suppress(OSError):
            self.lock_path.unlink(missing_ok=True)
        os.close(lock)


def abandoned(directory: Path, prefix: str = "", suffix: str = "") -> Iterator[Path]:
    """Yield the paths in a directory that were claimed by processes that have ended.

    The caller holds the claim on each path until the next iteration, which removes the path and its claim. Skips paths
    that can't be locked, for instance because the file system has no locks.
    """
    try:
        lock_paths = [*directory.glob(f"{prefix}*{suffix}{_LOCK}")]
    except OSError:
        return
    for lock_path in lock_paths:
        lock = _lock_of_nobody(lock_path)
        if lock is None:
            continue
        try:
            path = lock_path.with_name(lock_path.name.removesuffix(_LOCK))
            yield path
            _remove_all(path)
            with contextlib.suppress(OSError):
                lock_path.unlink(missing_ok=True)
        finally:
            os.close(lock)


def remove_abandoned(directory: Path, prefix: str = "", suffix: str = "") -> None:
    """Remove the abandoned paths in a directory."""
    for _ in abandoned(directory, prefix, suffix):
        pass


def _make_locked(path: Path) -> int | None:
    """Create a file and lock it; return None if another process has it, such as one that removes abandoned paths."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine = is_at(lock, path)
    except BlockingIOError:
        mine = False
    except OSError:
        # Without locks, other processes don't remove this path either.
        mine = True
    if mine:
        return lock
    os.close(lock)
    return None


def _lock_of_nobody(path: Path) -> int | None:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_at(lock, path):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def is_at(lock: int, path: Path) -> bool:
    """Whether an open file is still the file at a path."""
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False


def _remove_all(path: Path) -> None:
    """Remove the path and its siblings whose names begin with its name, except the lock file."""
    with contextlib.suppress(OSError):
        for each in [*path.parent.iterdir()]:
            if not each.name.startswith(path.name) or each.name == path.name + _LOCK:
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    each.unlink(missing_ok=True)


__all__ = ["Claim", "abandoned", "is_at", "remove_abandoned"]
