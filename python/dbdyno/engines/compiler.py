"""Run a compiler and leave no process behind if dbdyno is interrupted."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path


def run_compiler(command: Sequence[str | Path], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a compiler in a directory and return its output and exit code. Its temporary files go to the same directory.

    Compilers start further processes, which a signal to the first does not reach. On an interrupt, this function kills
    the whole process group.
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
