"""Copy files and directories of loaded data, sharing blocks if the file system supports it."""

import ctypes
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dbdyno.runtime.workspace.interruption import Interruption

# ioctl FICLONE (linux/fs.h): the copy shares the original's blocks until one of them is changed.
_FICLONE = 0x40049409
_CHUNK = 1 << 26
_READ = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

# Errors of copy_file_range(2) for file systems between which it can't copy.
_NOT_IN_KERNEL = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def copy_file(source: Path, target: Path, interrupted: Interruption | None = None) -> None:
    """Copy a file and sync the copy. Raises OSError, and RunInterrupted on Ctrl-C."""
    with source.open("rb") as read, target.open("wb") as write:
        _copy(read.fileno(), write.fileno(), interrupted)
        # Otherwise the kernel would write the dirty pages during the trial.
        os.fsync(write.fileno())


def copy_directory(source: Path, target: Path, interrupted: Interruption | None = None) -> None:
    """Copy a directory to a new path and sync the copy.

    Copies permissions, not owners; links stay links. Raises OSError, and RunInterrupted on Ctrl-C.
    """
    copy_below(source, target, interrupted)
    sync_files(target)


def directory_bytes(directory: Path) -> int:
    """Return the total size in bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def sync_files(directory: Path) -> None:
    """Sync the file system of a directory. Raises OSError."""
    # One call instead of one per file, since a data directory has a thousand files.
    with _opened(directory, os.O_RDONLY) as descriptor:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(directory))


def set_os_cache(directory: Path, state: str, interrupted: Interruption | None = None) -> None:
    """Read all files of a directory into the page cache (``warm``) or evict them (``cold``).

    Skips files that a server removes in the meantime. Raises OSError, and RunInterrupted on Ctrl-C.
    """
    read_into = [bytearray(_READ)]
    for entry in files_below(directory):
        with suppress(FileNotFoundError), _opened(entry.path, os.O_RDONLY) as file:
            if state == "cold":
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                _check(interrupted)
                # A short read means end of file.
                while os.readv(file, read_into) == _READ:
                    _check(interrupted)


# The functions below avoid Path objects for speed: each trial visits a data directory with a thousand files.


def files_below(directory: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yield all files below a directory, except links."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path)
            elif not entry.is_symlink():
                yield entry


def copy_below(source: Path | str, target: Path, interrupted: Interruption | None) -> None:
    """Copy the content of a directory into a new directory with mode 0700, without syncing.

    Raises the errors of :func:`copy_directory`.
    """
    target.mkdir(mode=0o700)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_symlink():
                (target / entry.name).symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                made = target / entry.name
                copy_below(entry.path, made, interrupted)
                made.chmod(stat.S_IMODE(entry.stat().st_mode))
            else:
                copy_contents(entry.path, f"{target}/{entry.name}", interrupted)


def copy_contents(source: str, target: str, interrupted: Interruption | None) -> None:
    """Copy a file and its permissions, replacing an existing file. Raises the errors of :func:`copy_directory`."""
    with _opened(source, os.O_RDONLY) as read, _opened(target, _NEW) as write:
        _copy(read, write, interrupted)
        os.fchmod(write, stat.S_IMODE(os.fstat(read).st_mode))


@contextmanager
def _opened(path: Path | str, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _copy(read: int, write: int, interrupted: Interruption | None) -> None:
    _check(interrupted)
    try:
        fcntl.ioctl(write, _FICLONE, read)
    except OSError:
        left = os.fstat(read).st_size
        in_kernel = True
        while left > 0:
            _check(interrupted)
            try:
                copied = _step(read, write, min(left, _CHUNK), in_kernel)
            except OSError as error:
                if not in_kernel or error.errno not in _NOT_IN_KERNEL:
                    raise
                in_kernel = False
                continue
            if copied == 0:
                raise OSError(0, "the template shrank while it was copied") from None
            left -= copied


def _step(read: int, write: int, most: int, in_kernel: bool) -> int:
    if in_kernel:
        return os.copy_file_range(read, write, most)
    return os.sendfile(write, read, None, most)


def _check(interrupted: Interruption | None) -> None:
    if interrupted is not None:
        interrupted.check()
