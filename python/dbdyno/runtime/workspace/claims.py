"""Names that belong to one process for as long as it lives, whichever container or node it lives in.

A claim is a locked file beside what it is for. The lock (flock(2)) goes with the process, however that ends, and holds
on all nodes that share a file system, if its locks do, as those of NFS without ``nolock`` and ``local_lock``. So what
lies there while nobody holds the lock on its file is nobody's. Process ids do not tell: two containers have the same.
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
    """A name in a directory that no other process has, and that others leave alone while this one lives."""

    def __init__(self, directory: Path, prefix: str, suffix: str = "", length: int = _TOKEN_LENGTH) -> None:
        """Claim ``path``: the prefix, as many random hexadecimal digits as ``length`` says, and the suffix.

        Nothing is there yet but the locked file beside it. Raises OSError.
        """
        self._lock: int | None = None
        while self._lock is None:
            token = secrets.token_hex((length + 1) // 2)[:length]
            self.path = directory / f"{prefix}{token}{suffix}"
            self._lock = _make_locked(self.lock_path)

    @property
    def lock_path(self) -> Path:
        """The file whose lock is the claim; it goes last."""
        return self.path.with_name(self.path.name + _LOCK)

    @property
    def lock(self) -> int | None:
        """The descriptor that holds the lock, and shares it with the process that inherits it; None: given up."""
        return self._lock

    def release(self) -> None:
        """Remove what has the name, or begins with it, and give the name up. A second call does nothing."""
        if self._lock is None:
            return
        _remove_all(self.path)
        lock, self._lock = self._lock, None
        with contextlib.suppress(OSError):
            self.lock_path.unlink(missing_ok=True)
        os.close(lock)


def abandoned(directory: Path, prefix: str = "", suffix: str = "") -> Iterator[Path]:
    """Give the names that processes claimed in a directory which have ended, one after another.

    Each is the caller's until the next is asked for; then what has the name is removed, and the claim. What cannot be
    locked for another reason than a lock, as where a file system has none, is not given.
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
    """Remove what processes that have ended left in a directory under names they claimed there."""
    for _ in abandoned(directory, prefix, suffix):
        pass


def _make_locked(path: Path) -> int | None:
    """Make a file and lock it; None where it is another's, be it one that removes what was abandoned."""
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
        # Where there are no locks, nobody else can take this one for abandoned.
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
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False


def _remove_all(path: Path) -> None:
    """Remove what has a name, and what lies beside it under a longer one, but for its lock."""
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
