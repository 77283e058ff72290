"""Copies of a directory that one after another works on: what one has changed is copied anew for the next.

A server's data are a thousand files, of which a trial changes some dozen. To remove all and make them again took most
of the time between two trials.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from dbdyno.runtime.workspace.copying import (
    copy_below,
    copy_contents,
    copy_directory,
    directory_bytes,
    files_below,
    sync_files,
)
from dbdyno.runtime.workspace.listening import Interrupted

# At most so many are kept that nobody works on.
_KEPT = 4

# Number of the file, bytes, and when it and what is known of it were changed last, nanoseconds.
_State = tuple[int, int, int, int]


class Copy:
    """A copy of a directory that does not change."""

    def __init__(self, source: Path, path: Path) -> None:
        """``source``: the directory; ``path``: where the copy is to be. Nothing is copied yet."""
        self.source = source
        self.path = path
        self._noted: dict[str, _State] | None = None

    @cached_property
    def bytes(self) -> int:
        """The bytes of the directory."""
        return directory_bytes(self.source)

    def renew(self, interrupted: Interrupted | None = None) -> None:
        """Make it what the source is, and put it on the device.

        Whoever was given the files since they were last noted keeps them. Raises as ``copy_directory``.
        """
        noted, self._noted = self._noted, None
        if noted is None:
            copy_directory(self.source, self.path, interrupted)
        else:
            _renew_below(self.source, self.path, noted, interrupted)
            sync_files(self.path)

    def note(self) -> None:
        """Note what its files are now: the same as the source's. Nobody changes them before some milliseconds later.

        That is how exact times of files are. Raises OSError.
        """
        self._noted = {each.path: _state(each) for each in files_below(self.path)}

    def remove(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)


class Copies:
    """The copies of a run that nobody works on at the moment."""

    def __init__(self) -> None:
        """There are none yet."""
        self._left: list[Copy] = []

    def take(self, source: Path, make_path: Callable[[], Path]) -> Copy:
        """Give a copy of a directory, still to be renewed: one that was given back, or a new one.

        ``make_path``: gives where a new one is to be. Raises OSError.
        """
        for each in self._left:
            if each.source == source:
                self._left.remove(each)
                return each
        new = Copy(source, make_path())
        while self._left and _free(new.path.parent) < 2 * new.bytes:
            self._left.pop(0).remove()
        return new

    def give_back(self, copy: Copy) -> None:
        """Keep a copy for the next who needs one, where there is room for it and two more of its size."""
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
    # Anything else than a file, as a socket, is not in a source.
    return stat.S_IFREG if entry.is_file(follow_symlinks=False) else 0


def _renew_below(source: Path | str, target: Path, noted: dict[str, _State], interrupted: Interrupted | None) -> None:
    """Make a directory what another is."""
    with os.scandir(target) as entries:
        there = {each.name: each for each in entries}
    with os.scandir(source) as entries:
        for each in entries:
            old, kind = there.pop(each.name, None), _kind(each)
            if old is not None and _kind(old) != kind:
                _remove(old)
                old = None
            if kind == stat.S_IFLNK:
                _renew_link(each, old, target / each.name)
            elif kind == stat.S_IFDIR:
                made = target / each.name
                if old is None:
                    copy_below(each.path, made, interrupted)
                else:
                    _renew_below(each.path, made, noted, interrupted)
                made.chmod(stat.S_IMODE(each.stat().st_mode))
            elif old is None or _state(old) != noted.get(old.path):
                if old is not None and not os.access(old.path, os.W_OK):
                    _remove(old)
                copy_contents(each.path, f"{target}/{each.name}", interrupted)
    for old in there.values():
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
