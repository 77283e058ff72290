"""The command line as a process of its own, split off from one that has read it in.

So a test meets what users meet: a process that can be watched, interrupted, killed.
"""

import contextlib
import os
import pkgutil
import select
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

from splitting import Splitter, exit_code, serve

PROGRAM = Path(sys.executable).parent / "dbdyno"

# What the command line imports where it needs it. SQLGlot's dialects are read in one by one.
_ASKED_FOR_LATER = (
    *("altair", "jinja2", "psycopg", "pygments.lexers", "rich._emoji_codes", "scipy.optimize", "scipy.stats"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite", "sqlglot"),
    *(f"sqlglot.dialects.{name}" for name in ("duckdb", "mysql", "postgres", "sqlite", "tsql")),
)

# One for all processes of a run of the tests, or for a process that is one.
_SPLITTER = Splitter(
    "dbdyno-tests-" + os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())), [sys.executable, __file__]
)


class CommandLine(subprocess.Popen[str]):
    """A run of the command line, with the interface of what the module subprocess starts."""

    def __init__(self, arguments: Sequence[object], cwd: Path, env: Mapping[str, str]) -> None:
        """Start it; both outputs are pipes of text."""
        self.args = [str(PROGRAM), *map(str, arguments)]
        out, errors = os.pipe(), os.pipe()
        try:
            streams = {1: out[1], 2: errors[1]}
            self.pid, self._told = _SPLITTER.split_off(self.args, str(cwd), env, streams, "dbdyno")
        finally:
            os.close(out[1])
            os.close(errors[1])
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = os.fdopen(out[0], encoding="utf-8")
        self.stderr: IO[str] | None = os.fdopen(errors[0], encoding="utf-8")
        self.returncode: int | None = None
        self._initialise_rest()

    def _initialise_rest(self) -> None:
        # What the methods of the module's own class look at.
        self.universal_newlines = self.text_mode = True
        self.encoding, self.errors, self.pipesize = "utf-8", "strict", -1
        self._communication_started = False
        self._input = None
        self._child_created = True
        self._closed_child_pipe_fds = True
        self._waitpid_lock = threading.Lock()
        self._sigint_wait_secs = 0.25

    def poll(self) -> int | None:
        """Give the exit code, or None where it still runs."""
        if self.returncode is None and _readable(self._told, 0.0):
            self.returncode = exit_code(self._told)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and give the exit code. Raises TimeoutExpired."""
        if self.returncode is None:
            if not _readable(self._told, timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self.returncode = exit_code(self._told)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def __del__(self) -> None:
        """Close what nobody waited for."""
        if getattr(self, "returncode", 0) is None and hasattr(self, "_told"):
            os.close(self._told)


def _readable(pipe: int, timeout: float | None) -> bool:
    return bool(select.select([pipe], [], [], timeout)[0])


def _read_in() -> None:
    """Import all of the command line, and what it imports where it needs it, and make its commands."""
    import dbdyno

    for each in pkgutil.walk_packages(dbdyno.__path__, "dbdyno."):
        import_module(each.name)
    for name in _ASKED_FOR_LATER:
        import_module(name)
    import_module("dbdyno.cli.app").commands()


if __name__ == "__main__":
    serve(int(sys.argv[1]), _read_in)
    from dbdyno.cli import program

    program()
