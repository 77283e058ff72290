"""Start and control a program that runs under a supervisor."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from dbdyno.base.errors import SystemFailed
from dbdyno.runtime.supervisor.task import Task

# The supervisor's program, and where it finds dbdyno. It needs only the standard library (-S).
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from dbdyno.runtime.supervisor.supervisor import main; main()"
_ROOT = Path(__file__).parents[3]

# Seconds that a supervisor gets to start and to report the end, in addition to the program's grace period.
_SUPERVISOR_S = 30.0


@dataclass(frozen=True)
class ProcessEnd:
    """How a program ended: its exit code (negative: the signal that killed it), and the end of its output."""

    code: int
    output: str


class SupervisedProcess:
    """A program that ends when dbdyno ends, and leaves no processes or files behind."""

    def __init__(self, task: Task, guard_pipe: int | None = None) -> None:
        """Start it. Raises SystemFailed.

        ``guard_pipe``: a file descriptor that only the supervisor inherits and keeps open until it ends.
        """
        self._task = task
        self._unread = b""
        self._over = False
        self._was_clean = False
        self._program: psutil.Process | None = None
        self.ended: ProcessEnd | None = None
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if guard_pipe is None else (guard_pipe,),
            # Only dbdyno itself handles Ctrl-C.
            start_new_session=True,
        )
        try:
            self._send(task.to_line())
            report = self._report(_SUPERVISOR_S) or {}
            if "started" not in report:
                raise SystemFailed(f"could not start {task.command[0]}: {self._failure(report)}")
            self.pid = int(report["started"])
            with contextlib.suppress(psutil.NoSuchProcess):
                self._program = psutil.Process(self.pid)
        except BaseException:
            self.stop(0.0)
            raise

    def alive(self) -> bool:
        """Whether the program is running."""
        try:
            return (
                self._program is not None
                and self._program.is_running()
                and self._program.status() != psutil.STATUS_ZOMBIE
            )
        except psutil.NoSuchProcess:
            return False

    def wait(self, timeout_s: float) -> ProcessEnd | None:
        """Wait at most ``timeout_s`` seconds for the program to end. Returns None if it is still running.

        Raises SystemFailed if its supervisor was killed.
        """
        if self.ended is None:
            report = self._report(timeout_s)
            if report is not None and "ended" not in report:
                raise SystemFailed(f"{self._task.command[0]}: its supervisor failed: {self._failure(report)}")
        return self.ended

    def note(self) -> None:
        """Make the supervisor record the program's shared memory, to remove it if the program is killed."""
        self._send("note\n")
        while self.ended is None and (report := self._report(_SUPERVISOR_S)) and "noted" not in report:
            pass

    def kill(self) -> None:
        """Kill the program; its supervisor cleans up. May be called while :meth:`stop` waits."""
        if self._program is not None and self.alive():
            with contextlib.suppress(psutil.Error):
                self._program.kill()

    def stop(self, grace_s: float) -> bool:
        """End the program and all its processes. Return whether the first signal was enough.

        After ``grace_s`` seconds it gets the next signal, finally SIGKILL. A second call does nothing. Raises
        SystemFailed if it survives.
        """
        if not self._over:
            self._send(f"stop {grace_s}\n")
            end = time.monotonic() + grace_s + _SUPERVISOR_S
            while (report := self._report(max(end - time.monotonic(), 0.0))) and "stopped" not in report:
                pass
            if report:
                self._was_clean = bool(report["stopped"])
                self._send("over\n")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._supervisor.wait(_SUPERVISOR_S)
            if self._supervisor.poll() != 0:
                self._clean_up()
            for pipe in (self._supervisor.stdin, self._supervisor.stdout, self._supervisor.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            if self.alive():
                raise SystemFailed(f"{self._task.command[0]}: process {self.pid} survived SIGKILL")
            self._over = True
        return self._was_clean

    def _clean_up(self) -> None:
        """Clean up after a supervisor that was killed or hangs."""
        self._supervisor.kill()
        self._supervisor.wait()
        end = time.monotonic() + _SUPERVISOR_S
        # The kernel sends the program its parent-death signal.
        while self.alive() and time.monotonic() < end:
            time.sleep(0.02)
        if self._program is not None and self.alive():
            with contextlib.suppress(psutil.Error):
                self._program.kill()
                self._program.wait(_SUPERVISOR_S)
        for name in self._task.remove:
            shutil.rmtree(name, ignore_errors=True)

    def _send(self, line: str) -> None:
        assert self._supervisor.stdin is not None  # noqa: S101
        # If the supervisor has ended, reading its reports shows it.
        with contextlib.suppress(BrokenPipeError):
            self._supervisor.stdin.write(line.encode())
            self._supervisor.stdin.flush()

    def _report(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the supervisor's next report, None after the timeout, or an empty report if it has ended."""
        assert self._supervisor.stdout is not None  # noqa: S101
        descriptor = self._supervisor.stdout.fileno()
        end = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            ready, _, _ = select.select([descriptor], [], [], max(end - time.monotonic(), 0.0))
            if not ready:
                return None
            read = os.read(descriptor, 1 << 16)
            if not read:
                return {}
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        report: dict[str, Any] = json.loads(line)
        if "ended" in report:
            self.ended = ProcessEnd(int(report["ended"]), str(report["output"]))
        return report

    def _failure(self, report: dict[str, Any]) -> str:
        if "failed" in report:
            return str(report["failed"])
        if report or self._supervisor.poll() is None:
            return "its supervisor does not answer"
        assert self._supervisor.stderr is not None  # noqa: S101
        words = self._supervisor.stderr.read().decode(errors="replace").strip().splitlines()
        return words[-1] if words else f"its supervisor ended with code {self._supervisor.returncode}"
