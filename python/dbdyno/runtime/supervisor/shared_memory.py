"""Find and remove shared memory that a killed PostgreSQL leaves in the kernel (System V and POSIX).

A supervisor imports this module for each server, so it imports as little as possible.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

_IPC_RMID = 0

_DIRECTORY = "/dev/shm"  # noqa: S108
_PREFIX = "PostgreSQL."

# A segment: the path of a POSIX segment, or the identifier of a System V segment.
Segment = str | int


def segments(pid: int) -> set[Segment]:
    """Return the shared memory segments that a process maps; empty if the process has ended."""
    found: set[Segment] = set()
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return set()
    for line in lines:
        # proc(5): address, permissions, offset, device, inode, path. The inode of a System V segment is its identifier.
        fields = line.rstrip("\n").removesuffix(" (deleted)").split(maxsplit=5)
        if not fields[5:]:
            continue
        inode, path = fields[4:]
        if path.startswith("/SYSV"):
            found.add(int(inode))
        elif path.startswith(f"{_DIRECTORY}/{_PREFIX}") and path.rpartition(".")[2].isdigit():
            found.add(path)
    return found


def remove(left: set[Segment]) -> None:
    """Remove segments, ignoring those that no longer exist."""
    libc = ctypes.CDLL(None, use_errno=True)
    for segment in left:
        if isinstance(segment, int):
            libc.shmctl(ctypes.c_int(segment), ctypes.c_int(_IPC_RMID), None)
            continue
        for path in [*_listed(segment), segment]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _listed(control: str) -> list[str]:
    """Return the segments that a PostgreSQL control segment lists; only sessions map these.

    The list contains the random 32-bit numbers of the segments' names, in a layout that depends on the version. So any
    word of the control segment that is the number of an existing segment of the same user counts as an entry.
    """
    try:
        with open(control, "rb") as file:
            data, owner = file.read(), os.fstat(file.fileno()).st_uid
        words = {str(word) for (word,) in struct.iter_unpack("=I", data[: len(data) // 4 * 4])}
        with os.scandir(_DIRECTORY) as entries:
            return [
                entry.path
                for entry in entries
                if entry.name.startswith(_PREFIX)
                and entry.name.removeprefix(_PREFIX) in words
                and entry.stat().st_uid == owner
            ]
    except OSError:
        return []
