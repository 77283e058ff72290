"""Shared memory that a killed server leaves in the kernel: PostgreSQL's, of both System V and POSIX."""

import contextlib
import ctypes
import re
import struct
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
            for path in [*_listed(Path(segment.path)), Path(segment.path)]:
                with contextlib.suppress(OSError):
                    path.unlink()
        elif segment.identifier is not None:
            libc.shmctl(ctypes.c_int(segment.identifier), ctypes.c_int(_IPC_RMID), None)


def _listed(control: Path) -> list[Path]:
    """Give the segments that one lists, if it is PostgreSQL's control segment: those that only its sessions map.

    Its list holds the numbers that are in their names, in a layout that differs between versions: any of its words that
    is the number of a segment of the same user's is taken for one. The numbers are random, of 32 bits.
    """
    try:
        data, owner = control.read_bytes(), control.stat().st_uid
        words = {word for (word,) in struct.iter_unpack("=I", data[: len(data) // 4 * 4])}
        return [
            path
            for path in control.parent.glob("PostgreSQL.*")
            if path.suffix[1:].isdigit() and int(path.suffix[1:]) in words and path.stat().st_uid == owner
        ]
    except OSError:
        return []
