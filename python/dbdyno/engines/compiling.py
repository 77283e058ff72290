"""Running a compiler, so that nothing of it is left when dbdyno is ended."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path


def run_compiler(command: Sequence[str | Path], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a compiler in a directory, which its own temporary files go to as well; give what it said and its code.

    Compilers start programs of their own, which a signal to the first does not reach: all are ended where this is
    interrupted.
    """
    process = subprocess.Popen(
        [str(each) for each in command],
        cwd=directory,
        env={**os.environ, "TMPDIR": str(directory)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        out, errors = process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
