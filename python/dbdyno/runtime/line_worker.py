"""A worker that reports lines of JSON for as long as it runs: the proxy, and replays."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any

from dbdyno.base.errors import SystemFailed
from dbdyno.runtime.worker import worker_path

_INTERVAL_S = 0.25
_READ = _PIPE = 1 << 20


class LineWorker:
    """A running worker. It ends with this process."""

    def __init__(self, command: str, task: dict[str, Any]) -> None:
        """``command``: the worker's command; ``task``: the first line of its input."""
        self._command = command
        self._process = subprocess.Popen(
            [worker_path(), command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "DBDYNO_PARENT": str(os.getpid())},
            # Ctrl-C must not reach it: it ends when everything is read.
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101
        self._input = self._process.stdin
        self._pipe = self._process.stdout.fileno()
        with contextlib.suppress(OSError, AttributeError):
            # The standard size of 64 KB is filled within a millisecond.
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _PIPE)
        self.write([json.dumps(task) + "\n"])

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def write(self, lines: Iterable[str]) -> None:
        """Write to its input. If the worker has ended, the lines are discarded."""
        with contextlib.suppress(BrokenPipeError):
            for line in lines:
                self._input.write(line.encode())
            self._input.flush()

    def end_input(self) -> None:
        """Close its input."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()

    def reports(self) -> Iterator[list[Any] | None]:
        """Yield what it reports, until it ends; ``None`` if it reported nothing for some time.

        Raises SystemFailed if it failed.
        """
        rest = b""
        failure = ""
        while True:
            if not select.select([self._pipe], [], [], _INTERVAL_S)[0]:
                yield None
                continue
            data = os.read(self._pipe, _READ)
            if not data:
                break
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                report = json.loads(line)
                if isinstance(report, dict):
                    failure = str(report["message"])
                else:
                    yield report
        code = self._process.wait()
        if failure:
            raise SystemFailed(failure)
        if code != 0:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise SystemFailed(f"the {self._command} {how}")

    def stop(self) -> None:
        """Ask it to end; a proxy reports what it has first."""
        if self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """Kill it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
