"""Special files. Opening one can block forever, and replacing one (such as a device) can damage the machine."""

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
    """Return the kind of a special file or directory, such as ``a FIFO``.

    Returns ``None`` for a regular file and for a path that doesn't exist. Raises OSError. The file is not opened,
    because closing it again would release SQLite's locks on it in this process.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), None)


def is_pipe(path: Path) -> bool:
    """Whether a path is a named pipe, or refers to an anonymous one (``/dev/stdin``). Raises OSError."""
    return special_kind(path) == _FIFO
