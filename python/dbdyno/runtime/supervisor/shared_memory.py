"""Shared memory that a killed server leaves in the kernel: PostgreSQL's, of both System V and POSIX.

A keeper reads this in for each server that is started: it imports no more than it needs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

_IPC_RMID = 0

_DIRECTORY = "/dev/shm"  # noqa: S108
_PREFIX = "PostgreSQL."

# A segment: its file, or the identifier of one of System V.
Segment = str | int


def segments(pid: int) -> set[Segment]:
    """Give the segments of shared memory that a process maps; none where there is no such process."""
    found: set[Segment] = set()
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return set()
    for line in lines:
        # proc(5): address, permissions, offset, device, inode, path. The inode of a segment of System V is its
        # identifier.
        fields = line.rstrip("\n").removesuffix(" (deleted)").split(maxsplit=5)
        if len(fields) < 6:
            continue
        inode, path = fields[4:]
        if path.startswith("/SYSV"):
            found.add(int(inode))
        elif path.startswith(f"{_DIRECTORY}/{_PREFIX}") and path.rpartition(".")[2].isdigit():
            found.add(path)
    return found


def remove(left: set[Segment]) -> None:
    """Remove segments; one that is not there any more is none to remove."""
    libc = ctypes.CDLL(None, use_errno=True)
    for segment in left:
        if isinstance(segment, int):
            libc.shmctl(ctypes.c_int(segment), ctypes.c_int(_IPC_RMID), None)
            continue
        for path in [*_listed(segment), segment]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _listed(control: str) -> list[str]:
    """Give the segments that one lists, if it is PostgreSQL's control segment: those that only its sessions map.

    Its list holds the numbers that are in their names, in a layout that differs between versions: any of its words that
    is the number of a segment of the same user's is taken for one. The numbers are random, of 32 bits.
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
