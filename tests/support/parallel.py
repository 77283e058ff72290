"""Python programs in processes of their own, and several that do the same thing at the same moment."""

import os
import subprocess
import sys

_TOGETHER = """
import sys
def together():
    print("ready", flush=True)
    sys.stdin.readline()
"""


def python_environment() -> dict[str, str]:
    """Return an environment in which Python imports what the tests import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def run_in_parallel(number: int, program: str) -> list[str]:
    """Run a Python program in several processes and return what each printed.

    The program calls ``together()`` once, which returns when all processes have called it. Raises AssertionError with
    the output of a process that failed.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-c", _TOGETHER + program]
    processes = [subprocess.Popen(command, env=python_environment(), **pipes) for _ in range(number)]
    # A process that fails earlier prints something else.
    first_lines = [process.stdout.readline() for process in processes]
    printed = [process.communicate("\n", timeout=120)[0] for process in processes]
    outputs = [line.removeprefix("ready\n") + rest for line, rest in zip(first_lines, printed, strict=True)]
    assert [process.returncode for process in processes] == [0] * number, "\n".join(outputs)
    return outputs
