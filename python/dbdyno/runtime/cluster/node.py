"""The code that runs on a load machine. It is pickled and sent there, so it may import only Python and Ray."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import secrets
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

# Seconds without a call from the controller after which a worker is killed. The controller polls every second.
_FORGOTTEN_S = 60.0

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class NotTheWorker(Exception):
    """The received program is not the one that was sent."""


def masked(text: bytes, pad: bytes) -> bytes:
    """Encrypt or decrypt a text with a one-time pad of the same length."""
    if len(text) != len(pad):
        raise ValueError("the pad must be as long as the text")
    return (int.from_bytes(text, "big") ^ int.from_bytes(pad, "big")).to_bytes(len(text), "big")


class LoadMachine:
    """A Ray actor that runs workers on its machine. Its methods may run concurrently."""

    def __init__(self) -> None:
        """Create it without a program and without workers."""
        self._program: int | None = None
        self._pads: dict[str, bytes] = {}
        self._workers: dict[str, _Process] = {}

    def facts(self) -> dict[str, str | int]:
        """Describe this machine. ``boot`` is the same for nodes that share a kernel, and so a machine."""
        from ray import get_runtime_context

        return {
            "node": get_runtime_context().get_node_id(),
            "host": socket.gethostname(),
            "boot": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
            "machine": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
        }

    def clock_ns(self) -> int:
        """Return the monotonic clock, which all processes of a machine share."""
        return time.monotonic_ns()

    def take_program(self, content: bytes, digest: str) -> None:
        """Store the worker in sealed memory, so that it can't change after the check. Raises NotTheWorker.

        ``digest``: SHA-256 of the program, in hexadecimal.
        """
        descriptor = os.memfd_create("dbdyno-worker", os.MFD_ALLOW_SEALING)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != digest:
            os.close(descriptor)
            raise NotTheWorker(f"the received program has SHA-256 {found}, expected {digest}")
        self._program = descriptor

    def pad(self, size: int) -> tuple[str, bytes]:
        """Generate a one-time pad for a plan of ``size`` bytes, and a name for the worker that executes it."""
        name = secrets.token_hex(8)
        self._pads[name] = secrets.token_bytes(size)
        return name, self._pads[name]

    def start(self, name: str, plan: bytes, padding: int) -> None:
        """Start a worker on an encrypted plan. ``padding``: bytes added to its environment."""
        if self._program is None:
            raise NotTheWorker("no program has been received yet")
        text = masked(plan, self._pads.pop(name))
        self._workers[name] = _Process(self._program, text, padding)

    def read_output(self, name: str, after: int, wait_s: float) -> tuple[list[str], tuple[int, str] | None]:
        """Return a worker's output after the first ``after`` lines, and its exit code and standard error if it ended.

        Waits for new output at most ``wait_s`` seconds.
        """
        lines, ended = self._workers[name].read_output(after, wait_s)
        if ended is not None:
            self._workers.pop(name, None)
        return lines, ended

    def send(self, name: str, line: str) -> None:
        """Write a line to a worker's standard input, unless it has ended."""
        if name in self._workers:
            self._workers[name].send(line)

    def end(self, name: str, *, at_once: bool) -> None:
        """Ask a worker to end its window, or kill it."""
        if name in self._workers:
            self._workers[name].signal(signal.SIGKILL if at_once else signal.SIGTERM)


class _Process:
    """A worker and its output. The thread that starts it lives as long, since a worker ends with its parent thread."""

    def __init__(self, program: int, plan: bytes, padding: int) -> None:
        self._program = program
        self._plan = plan
        self._padding = padding
        self._news = threading.Condition()
        self._lines: list[str] = []
        self._ended: tuple[int, str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._asked = time.monotonic()
        self._signals: list[signal.Signals] = []
        threading.Thread(target=self._last, name="worker", daemon=True).start()
        threading.Thread(target=self._remember, name="forgotten", daemon=True).start()

    def read_output(self, after: int, wait_s: float) -> tuple[list[str], tuple[int, str] | None]:
        with self._news:
            self._asked = time.monotonic()
            self._news.wait_for(lambda: len(self._lines) > after or self._ended is not None, wait_s)
            self._asked = time.monotonic()
            return self._lines[after:], self._ended

    def send(self, line: str) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        with suppress(BrokenPipeError, ValueError):
            process.stdin.write(line + "\n")
            process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        with self._news:
            self._signals.append(number)
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(number)

    def _last(self) -> None:
        errors: list[str] = []
        try:
            process = subprocess.Popen(
                [f"/proc/self/fd/{self._program}"],
                pass_fds=(self._program,),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "DBDYNO_PADDING": "x" * self._padding, "DBDYNO_PARENT": str(os.getpid())},
                start_new_session=True,
            )
        except OSError as error:
            self._end(-1, f"could not start the worker: {error}")
            return
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        if stdin is None or stdout is None or stderr is None:
            return
        with self._news:
            self._process = process
            # Deliver signals that were requested before the process existed.
            for number in self._signals:
                process.send_signal(number)
        reader = threading.Thread(target=lambda: errors.append(stderr.read()), daemon=True)
        reader.start()
        with suppress(BrokenPipeError):
            stdin.write(self._plan.decode("utf-8") + "\n")
            stdin.flush()
        for line in stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        code = process.wait()
        reader.join(timeout=5)
        for pipe in (stdin, stdout, stderr):
            with suppress(BrokenPipeError):
                pipe.close()
        self._end(code, "".join(errors))

    def _end(self, code: int, errors: str) -> None:
        with self._news:
            self._ended = (code, errors)
            self._news.notify_all()

    def _remember(self) -> None:
        """Kill the worker if the controller stops polling."""
        while self._ended is None:
            time.sleep(1.0)
            if time.monotonic() - self._asked > _FORGOTTEN_S:
                self.signal(signal.SIGKILL)
                return
