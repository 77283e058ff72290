"""The command line as a process of its own, without the second that Python takes to read it in.

A process has read in the whole command line and nothing else, one for all of a run of the tests. For each run of it
that a test asks for, it splits off a process that is the command line with the test's arguments, environment, directory
and output, and ends as that ends. So a test meets what users meet: a process that can be watched, interrupted, killed.
"""

import array
import contextlib
import errno
import gc
import json
import os
import pkgutil
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

PROGRAM = Path(sys.executable).parent / "dbdyno"

# What the command line imports where it needs it. SQLGlot's dialects are read in one by one.
_ASKED_FOR_LATER = (
    *("altair", "jinja2", "psycopg", "pygments.lexers", "rich._emoji_codes", "scipy.optimize", "scipy.stats"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite", "sqlglot", "vl_convert"),
    *(f"sqlglot.dialects.{name}" for name in ("duckdb", "mysql", "postgres", "sqlite", "tsql")),
)

# How often a process that has ended meanwhile is started anew for one command line.
_TRIES = 3


class CommandLine(subprocess.Popen[str]):
    """A run of the command line, with the interface of what the module subprocess starts."""

    def __init__(self, arguments: Sequence[object], cwd: Path, env: Mapping[str, str]) -> None:
        """Start it; both outputs are pipes of text."""
        self.args = [str(PROGRAM), *map(str, arguments)]
        out, errors, status = os.pipe(), os.pipe(), os.pipe()
        request = {"arguments": self.args, "cwd": str(cwd), "env": dict(env)}
        try:
            self.pid = _Ready.split_off(request, [out[1], errors[1], status[1]])
        finally:
            for each in (out, errors, status):
                os.close(each[1])
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = os.fdopen(out[0], encoding="utf-8")
        self.stderr: IO[str] | None = os.fdopen(errors[0], encoding="utf-8")
        self._status = status[0]
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
        if self.returncode is None and _readable(self._status, 0.0):
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and give the exit code. Raises TimeoutExpired."""
        if self.returncode is None:
            if not _readable(self._status, timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def _end(self) -> None:
        said = os.read(self._status, 16)
        os.close(self._status)
        # Where nobody is left who could say it.
        self.returncode = int(said) if said else -signal.SIGKILL

    def __del__(self) -> None:
        """Close what nobody waited for."""
        if getattr(self, "returncode", 0) is None and hasattr(self, "_status"):
            os.close(self._status)


def _readable(pipe: int, timeout: float | None) -> bool:
    return bool(select.select([pipe], [], [], timeout)[0])


class _Ready:
    """The connection to the process that has read in the command line. All processes of a run of the tests share it."""

    _made: "_Ready | None" = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        name = _name()
        while True:
            self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                self._channel.connect(name)
            except ConnectionRefusedError:
                self._channel.close()
                self._start(name)
            else:
                if not _is_of_this_user(self._channel):
                    raise RuntimeError("another user's process has the name of this one's socket")
                return

    @staticmethod
    def _start(name: str) -> None:
        """Start the process, unless another one is about to."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            try:
                listener.bind(name)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                time.sleep(0.01)
                return
            listener.listen(64)
            subprocess.run(
                [sys.executable, __file__, str(listener.fileno())],
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                # A process with more threads than one is not to be split.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                check=True,
            )

    @classmethod
    def split_off(cls, request: Mapping[str, object], pipes: list[int]) -> int:
        """Have a process made, and give its id."""
        with cls._lock:
            for _ in range(_TRIES):
                if cls._made is None:
                    cls._made = cls()
                made = cls._made._ask(request, pipes)
                if made is not None:
                    return made
                cls._made = None
        raise RuntimeError("the process that splits off command lines has ended")

    def _ask(self, request: Mapping[str, object], pipes: list[int]) -> int | None:
        """Have a process made; None where the one that makes it has ended."""
        with os.fdopen(os.memfd_create("request"), "w+b") as memory:
            # An environment can be longer than a message.
            memory.write(json.dumps(request).encode())
            memory.flush()
            fds = array.array("i", [memory.fileno(), *pipes])
            try:
                self._channel.sendmsg([b"1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                answer = self._channel.recv(16)
            except ConnectionError:
                answer = b""
        if not answer:
            self._channel.close()
            return None
        return int(answer)


def _name() -> str:
    """Name the socket, which is in no directory, after the run of the tests, or after a process that is one."""
    return "\0dbdyno-tests-" + os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))


def _is_of_this_user(connection: socket.socket) -> bool:
    """Whether the other end is this user's: all users of a machine see such a socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] == os.getuid()


def _serve(listener: socket.socket) -> dict[str, object]:
    """Split off processes until all who asked for some have left, then end; return in each what was asked of it."""
    # Where it is to be told how each of them ended.
    told: dict[int, int] = {}
    clients: dict[int, socket.socket] = {}
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.set_wakeup_fd(ends)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([listener, ended, *clients], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _tell(told)
        if listener in ready:
            client, _ = listener.accept()
            if _is_of_this_user(client):
                clients[client.fileno()] = client
            else:
                client.close()
        for client in [clients[each] for each in ready if each in clients]:
            message, fds, _, _ = socket.recv_fds(client, 1, 4)
            if not message:
                clients.pop(client.fileno()).close()
                if not clients:
                    os._exit(0)
                continue
            memory, *pipes = fds
            with os.fdopen(memory, "r+b") as file:
                file.seek(0)
                request: dict[str, object] = json.load(file)
            process = os.fork()
            if process == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.dup2(pipes[0], 1)
                os.dup2(pipes[1], 2)
                for each in (listener, *clients.values()):
                    each.close()
                for pipe in (*pipes, ended, ends, *told.values()):
                    os.close(pipe)
                return request
            told[process] = pipes[2]
            for pipe in pipes[:2]:
                os.close(pipe)
            # Whoever asked may have ended before it.
            with contextlib.suppress(ConnectionError):
                client.send(str(process).encode())


def _tell(told: dict[int, int]) -> None:
    """Tell how processes ended that have."""
    while told:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            return
        pipe = told.pop(process)
        # Whoever asked may have ended before it.
        with contextlib.suppress(BrokenPipeError):
            os.write(pipe, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(pipe)


def _become(request: dict[str, object]) -> None:
    """Make this process what was asked for, as if it had begun so."""
    environment, arguments = request["env"], request["arguments"]
    assert isinstance(environment, dict) and isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(request["cwd"]))
    sys.argv[:] = arguments
    Path("/proc/self/comm").write_text("dbdyno")
    for name, number in (("stdout", 1), ("stderr", 2)):
        errors = "backslashreplace" if name == "stderr" else "strict"
        lines = 1 if number == 2 else -1
        stream = os.fdopen(number, "w", lines, encoding="utf-8", errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _read_in() -> None:
    """Import all of the command line, and what it imports where it needs it, and make its commands."""
    import dbdyno

    for each in pkgutil.walk_packages(dbdyno.__path__, "dbdyno."):
        import_module(each.name)
    for name in _ASKED_FOR_LATER:
        import_module(name)
    import_module("dbdyno.cli.app").commands()


def _main() -> None:
    # It is nobody's child, whose children tests may look at.
    if os.fork() > 0:
        os._exit(0)
    listener = socket.socket(fileno=int(sys.argv[1]))
    listener.set_inheritable(False)
    # Ctrl-C at the terminal is for the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _read_in()
    gc.collect()
    gc.freeze()
    _become(_serve(listener))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        # What Python compiles of it is kept for those that come after.
        _read_in()
    else:
        _main()
        from dbdyno.cli import program

        program()
