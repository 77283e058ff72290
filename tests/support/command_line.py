"""The command line, run in the process of the tests or in one of its own."""

import contextlib
import contextvars
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

# The installed command.
PROGRAM = Path(sys.executable).parent / "dbdyno"


@dataclass(frozen=True)
class Ended:
    """A command that ended: its exit code, standard output and standard error."""

    code: int
    out: str
    errors: str


class Cli:
    """The command line in a directory and an environment of its own, with a store and a cache there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {**os.environ, "DBDYNO_CACHE": str(directory / "cache"), "COLUMNS": "100", "NO_COLOR": "1"}
        # Who names no store has one here, and not the user's.
        self.environment["XDG_DATA_HOME"] = str(directory / "data")
        # What the device can do is the subject of few tests, and measuring it takes longer than most of them.
        self.environment["DBDYNO_PROBE_SECONDS"] = "0.001"
        self.environment.pop("DBDYNO_WORKER", None)

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command in this process and return what it printed: the errors if it was refused."""
        return _printed(self.invoke(*arguments), code)

    def invoke(self, *arguments: str) -> Ended:
        """Run a command in this process."""
        out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        handler = signal.getsignal(signal.SIGTERM)
        with (
            contextlib.chdir(self.directory),
            patch.dict(os.environ, self.environment, clear=True),
            patch.object(sys, "argv", [str(PROGRAM), *arguments]),
            patch.object(sys, "stdin", io.StringIO()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(errors),
        ):
            try:
                # In a context of its own, since a command remembers there which options were typed.
                code = contextvars.copy_context().run(_exit_code, arguments)
            finally:
                signal.signal(signal.SIGTERM, handler)
                _release_templates()
        return Ended(code, *(stream.buffer.getvalue().decode() for stream in (out, errors)))  # type: ignore[attr-defined]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command in a process of its own, which a test can watch, interrupt and kill."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [PROGRAM, *arguments], cwd=self.directory, env=self.environment, encoding="utf-8", **pipes
        )

    def spawn(self, *arguments: str, code: int = 0) -> str:
        """Run a command in a process of its own, and return what it printed as `__call__` does."""
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=300)
        return _printed(Ended(process.returncode, out, errors), code)

    def run(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        self("run", *arguments, "--store", "runs.db", "--json", "out.json", code=code)
        document: dict[str, Any] = json.loads((self.directory / "out.json").read_text())
        return document

    def write(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text)
        return f"./{name}"

    @property
    def work(self) -> Path:
        """The directory in which trials work."""
        return self.directory / "cache" / "work"

    def left_behind(self) -> list[str]:
        """Files of trials that are still there."""
        return [str(path) for path in self.work.glob("*")]


def _exit_code(arguments: tuple[str, ...]) -> int:
    from dbdyno.cli.app import main

    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert isinstance(end.value.code, int | None)
    return end.value.code or 0


def _release_templates() -> None:
    """Unlock the loaded data that a command used, as the end of its process does."""
    from dbdyno.runtime.workspace import templates

    while templates._USED:
        os.close(templates._USED.popitem()[1])


def _printed(ended: Ended, code: int) -> str:
    assert ended.code == code, f"code {ended.code}\n{ended.out}\n{ended.errors}"
    return ended.out if code in (0, 1) else ended.errors
