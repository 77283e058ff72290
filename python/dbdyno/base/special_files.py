"""Files that are not regular ones. To open one can block for good, and to replace one can break the machine."""

import stat
from pathlib import Path

_FIFO = "a FIFO"
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, _FIFO),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def special_kind(path: Path) -> str | None:
    """Return what a path is, such as ``a FIFO``; ``None`` for a regular file and for nothing. Raises OSError.

    The file is not opened: to close it again would drop the locks that SQLite holds on it in this process.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), None)


def is_pipe(path: Path) -> bool:
    """Whether a path is a pipe, with or without a name in a file system. Raises OSError."""
    return special_kind(path) == _FIFO
