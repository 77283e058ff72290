"""Reusable copies of a data directory: between two trials, only the changed files are copied again.

A server's data directory has a thousand files, of which a trial changes a few dozen. Copying all files took most of the
time between two trials.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from dbdyno.runtime.workspace.file_copies import (
    copy_below,
    copy_contents,
    copy_directory,
    directory_bytes,
    files_below,
    sync_files,
)
from dbdyno.runtime.workspace.interruption import Interruption

# Maximum number of unused copies that are kept.
_KEPT = 4

# Inode, size in bytes, and times of the last change of content and of metadata, in nanoseconds.
_State = tuple[int, int, int, int]


class DirectoryCopy:
    """A copy of a directory whose content doesn't change."""

    def __init__(self, source: Path, path: Path) -> None:
        """``source``: the directory. ``path``: the copy's path. :meth:`renew` creates it."""
        self.source = source
        self.path = path
        self._noted: dict[str, _State] | None = None

    @cached_property
    def bytes(self) -> int:
        """The size of the directory in bytes."""
        return directory_bytes(self.source)

    def renew(self, interrupted: Interruption | None = None) -> None:
        """Restore the content of the source, and sync it. File owners are kept.

        Raises the errors of ``copy_directory``.
        """
        noted, self._noted = self._noted, None
        if noted is None:
            copy_directory(self.source, self.path, interrupted)
        else:
            _renew_below(self.source, self.path, noted, interrupted)
            sync_files(self.path)

    def note(self) -> None:
        """Record the state of its files, which equal the source's. Raises OSError.

        The files must not change within the next milliseconds: file times have no finer resolution.
        """
        self._noted = {entry.path: _state(entry) for entry in files_below(self.path)}

    def remove(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.path, ignore_errors=True)


class DirectoryCopies:
    """The unused copies of a run."""

    def __init__(self) -> None:
        """Create an empty pool."""
        self._left: list[DirectoryCopy] = []

    def take(self, source: Path, make_path: Callable[[], Path]) -> DirectoryCopy:
        """Return an unused or a new copy of a directory; the caller must renew it.

        ``make_path``: returns the path for a new copy. Raises OSError.
        """
        for copy in self._left:
            if copy.source == source:
                self._left.remove(copy)
                return copy
        new = DirectoryCopy(source, make_path())
        while self._left and _free(new.path.parent) < 2 * new.bytes:
            self._left.pop(0).remove()
        return new

    def give_back(self, copy: DirectoryCopy) -> None:
        """Return a copy to the pool, or remove it if the disk has no space for two more copies."""
        try:
            room = _free(copy.path.parent) >= 2 * copy.bytes
        except OSError:
            room = False
        if not room:
            copy.remove()
            return
        self._left.append(copy)
        while len(self._left) > _KEPT:
            self._left.pop(0).remove()


def _free(directory: Path) -> int:
    return shutil.disk_usage(directory).free


def _state(entry: os.DirEntry[str]) -> _State:
    status = entry.stat(follow_symlinks=False)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _kind(entry: os.DirEntry[str]) -> int:
    if entry.is_symlink():
        return stat.S_IFLNK
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    # A source contains nothing else, such as sockets.
    return stat.S_IFREG if entry.is_file(follow_symlinks=False) else 0


def _renew_below(source: Path | str, target: Path, noted: dict[str, _State], interrupted: Interruption | None) -> None:
    """Restore the content of ``source`` in ``target``, copying only changed files."""
    with os.scandir(target) as entries:
        existing = {entry.name: entry for entry in entries}
    with os.scandir(source) as entries:
        for entry in entries:
            old, kind = existing.pop(entry.name, None), _kind(entry)
            if old is not None and _kind(old) != kind:
                _remove(old)
                old = None
            if kind == stat.S_IFLNK:
                _renew_link(entry, old, target / entry.name)
            elif kind == stat.S_IFDIR:
                made = target / entry.name
                if old is None:
                    copy_below(entry.path, made, interrupted)
                else:
                    _renew_below(entry.path, made, noted, interrupted)
                made.chmod(stat.S_IMODE(entry.stat().st_mode))
            elif old is None or _state(old) != noted.get(old.path):
                if old is not None and not os.access(old.path, os.W_OK):
                    _remove(old)
                copy_contents(entry.path, f"{target}/{entry.name}", interrupted)
    for old in existing.values():
        _remove(old)


def _renew_link(link: os.DirEntry[str], old: os.DirEntry[str] | None, path: Path) -> None:
    leads = Path(link.path).readlink()
    if old is not None:
        if path.readlink() == leads:
            return
        path.unlink()
    path.symlink_to(leads)


def _remove(entry: os.DirEntry[str]) -> None:
    path = Path(entry.path)
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(path)
    else:
        path.unlink()
