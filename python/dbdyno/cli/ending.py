"""How the process of a command ends."""

import atexit
import contextlib
import errno
import gc
import os
import sys
import threading
from typing import NoReturn

from dbdyno.cli.app import main
from dbdyno.errors import reason

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

# How many objects are made before Python looks for garbage among them. What a command makes is mostly used until it
# ends: with Python's own number, looking takes a twentieth of the time of ``dbdyno show``.
_OBJECTS = 50_000


def program() -> None:
    """Run the command line as a program: end with its exit code, and at once.

    Python takes all of its modules apart before it ends, which is a sixth of the time of ``dbdyno show``. Nobody needs
    that: what is to be done at the end is registered for it, and is done.
    """
    gc.set_threshold(_OBJECTS)
    code = 0
    try:
        main()
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        code = end.code or 0
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM or not _is_full():
            raise
        _not_printed(error)
    others = (each for each in threading.enumerate() if each is not threading.current_thread())
    if any(not each.daemon for each in others):
        # Python waits for them.
        sys.exit(code)
    atexit._run_exitfuncs()
    # One that was closed when the program began is none.
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            # Whoever read the output has had enough of it.
            pass
        except OSError as error:
            _not_printed(error)
        except ValueError:
            # It was closed, and written then.
            pass
    os._exit(code)


def _is_full() -> bool:
    """Whether it is the output that cannot be written: the end of a line cannot, either."""
    try:
        os.write(1, b"\n")
    except OSError:
        return True
    return False


def _not_printed(error: OSError) -> NoReturn:
    """Say that the output could not be written, and end."""
    with contextlib.suppress(OSError):
        os.write(2, f"dbdyno: standard output: {reason(error)}\n".encode())
    os._exit(1)
