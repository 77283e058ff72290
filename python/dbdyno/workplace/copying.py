"""Copies of loaded data: files and directories, sharing blocks where the file system can."""

import ctypes
import errno
import fcntl
import os
import shutil
from pathlib import Path

from dbdyno.workplace.listening import Interrupted

# ioctl FICLONE (linux/fs.h): the copy shares the original's blocks until either is changed.
_FICLONE = 0x40049409
_CHUNK = 1 << 26

# What copy_file_range(2) says of two file systems between which it does not copy.
_NOT_IN_KERNEL = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def copy_file(source: Path, target: Path, interrupted: Interrupted | None = None) -> None:
    """Copy a file and put the copy on the device. Raises OSError, and RunInterrupted when that is heard on the way."""
    with source.open("rb") as read, target.open("wb") as write:
        _copy(read.fileno(), write.fileno(), interrupted)
        # Pages still to be written would be written during the trial, at the trial's cost.
        os.fsync(write.fileno())


def copy_directory(source: Path, target: Path, interrupted: Interrupted | None = None) -> None:
    """Copy a directory, which must not be there yet, and put the copy on the device.

    Permissions are copied, owners are not. Links are copied as links. Raises OSError, and RunInterrupted when that is
    heard on the way.
    """
    for top, directories, files in os.walk(source):
        made = target / Path(top).relative_to(source)
        made.mkdir(mode=0o700)
        for name in [*directories, *files]:
            path = Path(top) / name
            if path.is_symlink():
                (made / name).symlink_to(path.readlink())
            elif name in files:
                with path.open("rb") as read, (made / name).open("wb") as write:
                    _copy(read.fileno(), write.fileno(), interrupted)
        directories[:] = [name for name in directories if not (Path(top) / name).is_symlink()]
    for top, directories, files in os.walk(source):
        for name in [*directories, *files]:
            path = Path(top) / name
            if not path.is_symlink():
                shutil.copymode(path, target / path.relative_to(source))
    sync_files(target)


def directory_bytes(directory: Path) -> int:
    """Return the bytes of all files in a directory and below it."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def sync_files(directory: Path) -> None:
    """Write the files of a directory to its device. Raises OSError."""
    # One call for the file system: a data directory has a thousand files.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(directory))
    finally:
        os.close(descriptor)


def set_os_cache(directory: Path, state: str, interrupted: Interrupted | None = None) -> None:
    """Bring all files of a directory into the operating system's cache (``warm``), or out of it (``cold``).

    Raises OSError, and RunInterrupted when that is heard on the way.
    """
    for top, _, files in os.walk(directory):
        for name in files:
            path = Path(top) / name
            if path.is_symlink():
                continue
            with path.open("rb") as file:
                if state == "cold":
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                else:
                    while file.read(_CHUNK):
                        _check(interrupted)


def _copy(read: int, write: int, interrupted: Interrupted | None) -> None:
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
                raise OSError(0, "the template became shorter while it was copied") from None
            left -= copied


def _step(read: int, write: int, most: int, in_kernel: bool) -> int:
    """Copy some bytes and return how many; without the kernel's help where it cannot give it."""
    if in_kernel:
        return os.copy_file_range(read, write, most)
    return os.sendfile(write, read, None, most)


def _check(interrupted: Interrupted | None) -> None:
    if interrupted is not None:
        interrupted.check()
