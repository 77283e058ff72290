"""Start and end the process of a command."""

import atexit
import gc
import os
import sys
import threading

from dbdyno.base.errors import reason
from dbdyno.cli.streams import prepare_streams, write_error
from dbdyno.cli.unexpected_error import catch_everything, report_unexpected

# Allocations between garbage collections. Most objects of a command live until its end: with Python's default, the
# collector takes a tenth of the time of ``dbdyno show`` of a hundred trials.
_OBJECTS = 1_000_000

_THREADS = "OPENBLAS_NUM_THREADS"

_FAILED = 1
# Exit code of shells for a program that Ctrl-C ended.
_INTERRUPTED = 130


def run_to_end() -> None:
    """Run the command line as a program, and end the process immediately with its exit code.

    Python's regular shutdown of its modules takes a sixth of the time of ``dbdyno show``. Registered exit handlers
    still run.
    """
    gc.set_threshold(_OBJECTS)
    # Otherwise numpy starts a thread for each CPU when it is imported, which takes a sixth of the time of ``dbdyno
    # show``. Not set in os.environ, because measured programs would inherit it.
    if _THREADS not in os.environ:
        os.putenv(_THREADS, "1")
    prepare_streams()
    catch_everything()
    code = _exit_code()
    others = (thread for thread in threading.enumerate() if thread is not threading.current_thread())
    if any(not thread.daemon for thread in others):
        # Let Python wait for its threads.
        sys.exit(code)
    atexit._run_exitfuncs()
    error = write_error(sys.stdout)
    if error is not None:
        sys.stderr.write(f"dbdyno: standard output: {reason(error)}\n")
        code = code or _FAILED
    write_error(sys.stderr)
    os._exit(code)


def _exit_code() -> int:
    try:
        # Import here, so that errors of the import are handled, too.
        from dbdyno.cli.app import main

        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    # Libraries written in Rust raise panics that are not an Exception.
    except BaseException as error:
        report_unexpected(error)
        return _FAILED
    return 0
