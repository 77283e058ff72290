"""Start and control a program that runs under a keeper."""

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

# The keeper's program, and where it finds dbdyno. It needs only the standard library (-S).
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from dbdyno.runtime.supervisor.supervisor import main; main()"
_ROOT = Path(__file__).parents[3]

# Seconds that a keeper gets to start and to report the end, in addition to the program's grace period.
_KEEPER_S = 30.0


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code (negative: the signal that killed it), and the end of its output."""

    code: int
    output: str


class Kept:
    """A program that ends when dbdyno ends, and leaves no processes or files behind."""

    def __init__(self, task: Task, held: int | None = None) -> None:
        """Start it. ``held``: a file descriptor that only its keeper keeps open until it ends. Raises SystemFailed."""
        self._task = task
        self._unread = b""
        self._over = False
        self._was_clean = False
        self._program: psutil.Process | None = None
        self.ended: Ended | None = None
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if held is None else (held,),
            # Only dbdyno itself handles Ctrl-C.
            start_new_session=True,
        )
        try:
            self._tell(task.to_line())
            said = self._report(_KEEPER_S) or {}
            if "started" not in said:
                raise SystemFailed(f"could not start {task.command[0]}: {self._failure(said)}")
            self.pid = int(said["started"])
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

    def wait(self, timeout_s: float) -> Ended | None:
        """Wait at most ``timeout_s`` seconds for the program to end. Returns None if it is still running.

        Raises SystemFailed if its keeper was killed.
        """
        if self.ended is None:
            said = self._report(timeout_s)
            if said is not None and "ended" not in said:
                raise SystemFailed(f"{self._task.command[0]}: its keeper failed: {self._failure(said)}")
        return self.ended

    def note(self) -> None:
        """Make the keeper record the program's shared memory, to remove it if the program is killed."""
        self._tell("note\n")
        while self.ended is None and (said := self._report(_KEEPER_S)) and "noted" not in said:
            pass

    def kill(self) -> None:
        """Kill the program; its keeper cleans up. May be called while :meth:`stop` waits."""
        if self._program is not None and self.alive():
            with contextlib.suppress(psutil.Error):
                self._program.kill()

    def stop(self, grace_s: float) -> bool:
        """End the program and all its processes. Return whether the first signal was enough.

        After ``grace_s`` seconds it gets the next signal, finally SIGKILL. A second call does nothing. Raises
        SystemFailed if it survives.
        """
        if not self._over:
            self._tell(f"stop {grace_s}\n")
            end = time.monotonic() + grace_s + _KEEPER_S
            while (said := self._report(max(end - time.monotonic(), 0.0))) and "stopped" not in said:
                pass
            if said:
                self._was_clean = bool(said["stopped"])
                self._tell("over\n")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._keeper.wait(_KEEPER_S)
            if self._keeper.poll() != 0:
                self._stand_in()
            for pipe in (self._keeper.stdin, self._keeper.stdout, self._keeper.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            if self.alive():
                raise SystemFailed(f"{self._task.command[0]}: process {self.pid} survived SIGKILL")
            self._over = True
        return self._was_clean

    def _stand_in(self) -> None:
        """Clean up after a keeper that was killed or hangs."""
        self._keeper.kill()
        self._keeper.wait()
        end = time.monotonic() + _KEEPER_S
        # The kernel sends the program its parent-death signal.
        while self.alive() and time.monotonic() < end:
            time.sleep(0.02)
        if self._program is not None and self.alive():
            with contextlib.suppress(psutil.Error):
                self._program.kill()
                self._program.wait(_KEEPER_S)
        for name in self._task.remove:
            shutil.rmtree(name, ignore_errors=True)

    def _tell(self, line: str) -> None:
        assert self._keeper.stdin is not None  # noqa: S101
        # If the keeper has ended, reading its reports shows it.
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.write(line.encode())
            self._keeper.stdin.flush()

    def _report(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the keeper's next report, None after the timeout, or an empty report if the keeper has ended."""
        assert self._keeper.stdout is not None  # noqa: S101
        descriptor = self._keeper.stdout.fileno()
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
        said: dict[str, Any] = json.loads(line)
        if "ended" in said:
            self.ended = Ended(int(said["ended"]), str(said["output"]))
        return said

    def _failure(self, said: dict[str, Any]) -> str:
        if "failed" in said:
            return str(said["failed"])
        if said or self._keeper.poll() is None:
            return "its keeper does not answer"
        assert self._keeper.stderr is not None  # noqa: S101
        words = self._keeper.stderr.read().decode(errors="replace").strip().splitlines()
        return words[-1] if words else f"its keeper ended with code {self._keeper.returncode}"
