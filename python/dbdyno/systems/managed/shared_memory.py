"""Shared memory that a killed server leaves in the kernel: PostgreSQL's, of both System V and POSIX."""

import contextlib
import ctypes
import re
from dataclasses import dataclass
from pathlib import Path

_IPC_RMID = 0

# proc(5): address, permissions, offset, device, inode, path. The inode of a System V segment is its identifier.
_MAP = re.compile(
    r"\S+ \S+ \S+ \S+ (?P<inode>\d+) +(?P<path>/SYSV[0-9a-f]{8}|/dev/shm/PostgreSQL\.\d+)(?: \(deleted\))?"
)


@dataclass(frozen=True)
class Segment:
    """A segment: a file, or the identifier of one of System V."""

    path: str | None = None
    identifier: int | None = None


def segments(pid: int) -> set[Segment]:
    """Give the segments of shared memory that a process maps; none where there is no such process."""
    found = set()
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return set()
    for line in lines:
        match = _MAP.fullmatch(line)
        if match is None:
            continue
        if match["path"].startswith("/SYSV"):
            found.add(Segment(identifier=int(match["inode"])))
        else:
            found.add(Segment(path=match["path"]))
    return found


def remove(left: set[Segment]) -> None:
    """Remove segments; one that is not there any more is none to remove."""
    libc = ctypes.CDLL(None, use_errno=True)
    for segment in left:
        if segment.path is not None:
            with contextlib.suppress(OSError):
                Path(segment.path).unlink()
        elif segment.identifier is not None:
            libc.shmctl(ctypes.c_int(segment.identifier), ctypes.c_int(_IPC_RMID), None)
