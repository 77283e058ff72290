"""The supervisor: the process between dbdyno and a server. When dbdyno ends, it ends the server and removes its files.

Each server starts one, so it imports as little as possible: it takes 25 ms of CPU time to start, 80 ms with the imports
of the rest of dbdyno.

It reads lines from standard input: a task (written by ``Task.to_line`` in `task.py`), then the commands ``note`` (the
server is up), ``stop SECONDS`` and ``over``. End of file means that dbdyno has ended, possibly by SIGKILL. It writes
lines of JSON: ``started`` with the program's process id, ``noted``, ``ended`` with the exit code and the end of the
output, ``stopped`` when no process is left, or ``failed`` with a reason.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import time
from types import SimpleNamespace

from dbdyno.runtime.supervisor import shared_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Seconds that a program gets to end after dbdyno has ended, and after each further signal.
GRACE_S = 5.0

# Seconds after which a process that survives SIGKILL is given up. It hangs in the kernel.
KILL_S = 10.0

# Bytes of a program's output that are reported.
_TAIL = 1 << 16

# prctl(2)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Supervisor:
    """Starts, supervises and ends one program."""

    def __init__(self, task: SimpleNamespace, unread: bytes) -> None:
        """``task``: the fields of ``Task``. ``unread``: input that was read after the task."""
        self._task = task
        self._pid = 0
        self._code: int | None = None
        self._was_mild = True
        self._unread = unread
        self._orphaned = False
        self._segments: set[shared_memory.Segment] = set()
        self._log: int | None = None
        self._own_pid = os.getpid()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._wake, wake_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Start the program, wait until it ends or must end, and clean up."""
        try:
            self._start()
            _say(started=self._pid)
            self._watch()
        except Exception as error:
            _say(failed=_why(error))
        finally:
            self._end_all()
        if self._code is not None:
            _say(ended=self._code, output=self._tail())
        _remove(self._task.remove)
        _say(stopped=self._was_mild and self._code == 0)
        # If dbdyno ends before it writes `over`, this process removes the abandoned directories.
        while not self._orphaned and "over" not in self._words():
            self._sleep(None)
        if self._orphaned:
            _remove(self._task.abandoned)

    def _start(self) -> None:
        task = self._task
        # If the program's first process is killed, its other processes become children of this process, not of init.
        self._prctl(_PR_SET_CHILD_SUBREAPER, 1)
        for name in task.make:
            os.mkdir(name, mode=0o700)
            if task.owner is not None:
                os.chown(name, task.owner[0], task.owner[1])
        if task.log is None:
            self._log = os.memfd_create("log")
            fcntl.fcntl(self._log, fcntl.F_SETFL, os.O_APPEND)
        else:
            self._log = os.open(task.log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        user, group, groups = task.owner or (None, None, None)
        with os.fdopen(os.memfd_create("input"), "w+b") as given:
            given.write(task.input.encode())
            given.seek(0)
            if task.owner is not None:
                # A program may reopen its standard input as /dev/stdin.
                os.fchown(given.fileno(), task.owner[0], task.owner[1])
            process = subprocess.Popen(
                task.command,
                stdin=given,
                stdout=self._log,
                stderr=self._log,
                cwd=task.directory,
                env=task.environment,
                user=user,
                group=group,
                extra_groups=groups,
                start_new_session=True,
                # Safe, since this process has only one thread. It runs after the change of user, which would undo it.
                preexec_fn=self._bind,  # noqa: PLW1509
            )
        self._pid = process.pid
        # _sleep() reaps all children, including this one; Popen must not wait for it.
        process.returncode = 0

    def _bind(self) -> None:
        """Run in the program's process: end it if this process is killed, even before the call below."""
        self._prctl(_PR_SET_PDEATHSIG, self._task.death_signal)
        if os.getppid() != self._own_pid:
            os._exit(1)

    def _prctl(self, option: int, value: int) -> None:
        if self._libc.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

    def _watch(self) -> None:
        while self._code is None:
            for word in self._words():
                if word == "note":
                    self._segments |= shared_memory.segments(self._pid)
                    _say(noted=True)
                elif word.startswith("stop "):
                    self._stop(float(word.removeprefix("stop ")))
                    return
            if self._orphaned:
                self._stop(GRACE_S)
                return
            self._sleep(None)

    def _stop(self, grace_s: float) -> None:
        """Send the signals one after the other until the program has ended."""
        for number, each in enumerate(self._task.stop):
            if self._code is not None:
                return
            self._was_mild = number == 0
            # It has not been waited for, so that the number is still its own.
            os.kill(self._pid, each)
            end = time.monotonic() + (GRACE_S if number else grace_s)
            hurried = False
            while self._code is None and (left := end - time.monotonic()) > 0:
                if self._orphaned and not hurried:
                    hurried = True
                    end = min(end, time.monotonic() + GRACE_S)
                else:
                    self._sleep(left)
        self._was_mild = self._was_mild and self._code is not None

    def _end_all(self) -> None:
        """Kill the remaining processes and remove their shared memory."""
        end = time.monotonic() + KILL_S
        # Orphans become children of this process and are killed in the next pass. A child's process id can't be reused
        # before the child has been waited for.
        while (left := _children(self._own_pid)) and time.monotonic() < end:
            for pid in left:
                self._segments |= shared_memory.segments(pid)
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self._sleep(0.05)
        if self._code != 0:
            shared_memory.remove(self._segments)

    def _sleep(self, seconds: float | None) -> None:
        """Wait for a command from dbdyno or the end of a process, at most ``seconds``."""
        watched = [self._wake] if self._orphaned else [self._wake, 0]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._wake in ready:
            os.read(self._wake, 1 << 10)
        if 0 in ready:
            read = os.read(0, 1 << 16)
            self._unread += read
            self._orphaned = not read
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._code = os.waitstatus_to_exitcode(status)

    def _words(self) -> list[str]:
        *lines, self._unread = self._unread.split(b"\n")
        return [line.decode() for line in lines]

    def _tail(self) -> str:
        if self._log is None:
            return ""
        # pread(), because the file offset is shared with the program and must not move.
        size = os.fstat(self._log).st_size
        return os.pread(self._log, _TAIL, max(size - _TAIL, 0)).decode(errors="replace")


def _children(parent: int) -> list[int]:
    """Return the process ids of a process's children, including zombies."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        # A process may end in the meantime.
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # proc(5): the name, in parentheses, may contain anything; the state and the parent follow.
            if int(file.read().rpartition(b")")[2].split()[1]) == parent:
                found.append(int(name))
    return found


def _say(**what: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(what).encode() + b"\n")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower() + (f": {error.filename}" if error.filename else "")
    return repr(error)


def _remove(directories: Iterable[str]) -> None:
    import shutil

    for name in directories:
        shutil.rmtree(name, ignore_errors=True)


def main() -> None:
    """Read a task and run it; without a task, do nothing."""
    read = b""
    while b"\n" not in read:
        more = os.read(0, 1 << 16)
        if not more:
            return
        read += more
    line, _, unread = read.partition(b"\n")
    os.chdir("/")
    Supervisor(SimpleNamespace(**json.loads(line)), unread).run()
