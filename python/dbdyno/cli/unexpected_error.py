"""Unexpected errors: one line for the user, and a file with the details."""

import errno
import os
import resource
import shlex
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from types import TracebackType

_MAX_LENGTH = 300


def catch_everything() -> None:
    """Report unhandled errors with :func:`report_unexpected` instead of a traceback."""
    sys.excepthook = _excepthook
    sys.unraisablehook = lambda found: _report_raised(found.exc_value)
    threading.excepthook = lambda found: _report_raised(found.exc_value)


def report_unexpected(error: BaseException) -> None:
    """Print one line about an unexpected error, and where its traceback was written. Passwords are masked."""
    from dbdyno.base.text import printable, shortened

    line = _exhausted(error)
    if line is None:
        try:
            what = _masked("".join(traceback.format_exception_only(error)))
            where = _write_details(error)
        except Exception:  # Even this may fail, for example without memory.
            what, where = type(error).__name__, None
        line = f"unexpected error: {shortened(' '.join(what.split()), _MAX_LENGTH)}"
        if where is not None:
            line += f"; details: {where}"
    sys.stderr.write(f"dbdyno: {printable(line)}\n")


def _exhausted(error: BaseException) -> str | None:
    """Return a message if this process ran out of a resource; its details don't matter."""
    code = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or code == errno.ENOMEM:
        return "out of memory"
    if code in (errno.EMFILE, errno.ENFILE):
        return f"too many open files; raise the limit of {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} (`ulimit -n`)"
    if isinstance(error, BlockingIOError) or str(error) == "can't start new thread":
        return "no further process or thread can be started; raise the limit (`ulimit -u`, or the container's)"
    return None


def _write_details(error: BaseException) -> Path | None:
    """Write the traceback to a new file below the cache, or in the directory for temporary files."""
    from dbdyno.base.version import own_version
    from dbdyno.store.masking import mask_command

    details = [
        f"dbdyno {own_version()}, Python {sys.version}\n",
        f"command: {shlex.join(mask_command(sys.argv))}\n\n",
        *traceback.format_exception(error),
    ]
    content = _masked("".join(details)).encode("utf-8", "backslashreplace")
    for directory in _directories():
        try:
            descriptor, path = tempfile.mkstemp(".txt", "error-", directory)
        except OSError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError:
            Path(path).unlink(missing_ok=True)
        else:
            return Path(path)
    return None


def _directories() -> list[Path]:
    from dbdyno.base.errors import DbdynoError
    from dbdyno.base.paths import cache_directory

    try:
        return [cache_directory("errors"), Path(tempfile.gettempdir())]
    except (DbdynoError, OSError, RuntimeError):
        return [Path(tempfile.gettempdir())]


def _masked(text: str) -> str:
    from dbdyno.store.masking import mask_text

    return mask_text(text)


def _report_raised(error: BaseException | None) -> None:
    if error is not None and not isinstance(error, SystemExit):
        report_unexpected(error)


def _excepthook(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    _report_raised(error)
