"""Processes that are split off from one that has read in what they need, without the seconds that Python takes for it.

A process has read that in and nothing else, one of each kind for all of a run of the tests. Whoever wants one that
begins there hands over its arguments, environment, directory, input and output, and is told how it ended.
"""

import array
import contextlib
import errno
import gc
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# How often a process that has ended meanwhile is started anew for one that is to be split off.
_TRIES = 3


class Splitter:
    """The connection to a process that has read in something, of which those are split off that begin with it."""

    def __init__(self, name: str, program: Sequence[str]) -> None:
        """Connect where one is first asked for. The name is that of a socket, which is in no directory.

        The program is that of the process: it is started with the number of its listener besides and calls `serve`.
        """
        self._name = f"\0{name}"
        self._program = program
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None

    def split_off(
        self,
        arguments: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        streams: Mapping[int, int],
        comm: str | None = None,
    ) -> tuple[int, int]:
        """Have a process made; give its id, and a pipe that `exit_code` reads when it has something to read.

        The streams are this process's files by the numbers they are to have there. Its name is that of the others where
        none is given.
        """
        request = {"arguments": arguments, "cwd": cwd, "env": dict(env), "streams": [*streams], "comm": comm}
        told, tells = os.pipe()
        try:
            with self._lock:
                for _ in range(_TRIES):
                    made = self._ask(request, [*streams.values(), tells])
                    if made is not None:
                        return made, told
        finally:
            os.close(tells)
        os.close(told)
        raise RuntimeError("the process that others are split off from has ended")

    def _ask(self, request: Mapping[str, object], files: list[int]) -> int | None:
        """Have a process made; None where the one that makes it has ended."""
        if self._channel is None:
            self._channel = self._connected()
        with os.fdopen(os.memfd_create("request"), "w+b") as memory:
            # An environment can be longer than a message.
            memory.write(json.dumps(request).encode())
            memory.flush()
            fds = array.array("i", [memory.fileno(), *files])
            try:
                self._channel.sendmsg([b"1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                answer = self._channel.recv(16)
            except ConnectionError:
                answer = b""
        if not answer:
            self._channel.close()
            self._channel = None
            return None
        return int(answer)

    def _connected(self) -> socket.socket:
        while True:
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                channel.connect(self._name)
            except ConnectionRefusedError:
                channel.close()
                self._start()
            else:
                if not _is_of_this_user(channel):
                    raise RuntimeError("another user's process has the name of this one's socket")
                return channel

    def _start(self) -> None:
        """Start the process, unless another one is about to."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            try:
                listener.bind(self._name)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                time.sleep(0.01)
                return
            listener.listen(64)
            subprocess.run(
                [*self._program, str(listener.fileno())],
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                # A process with more threads than one is not to be split.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                check=True,
            )


def exit_code(told: int) -> int:
    """Wait for the end of a process that was split off and give its exit code, by the pipe that tells of it."""
    said = os.read(told, 16)
    os.close(told)
    # Where nobody is left who could say it.
    return int(said) if said else -signal.SIGKILL


def serve(listener: int, read_in: Callable[[], object]) -> None:
    """Read in what is to be read in, and split off processes until all who asked for some have left, then end.

    It returns in those that were split off, which are by then what was asked for.
    """
    # It is nobody's child, whose children tests may look at.
    if os.fork() > 0:
        os._exit(0)
    connections = socket.socket(fileno=listener)
    connections.set_inheritable(False)
    # Ctrl-C at the terminal is for the tests, also where something that is read in takes it for its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    read_in()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    _become(_serve(connections))


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
            message, fds, _, _ = socket.recv_fds(client, 1, 8)
            if not message:
                clients.pop(client.fileno()).close()
                if not clients:
                    os._exit(0)
                continue
            memory, *files = fds
            with os.fdopen(memory, "r+b") as file:
                file.seek(0)
                request: dict[str, object] = json.load(file)
            streams = request["streams"]
            assert isinstance(streams, list)
            process = os.fork()
            if process == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number, each in zip(streams, files, strict=False):
                    os.dup2(each, number)
                for connection in (listener, *clients.values()):
                    connection.close()
                for each in (*files, ended, ends, *told.values()):
                    os.close(each)
                return request
            told[process] = files.pop()
            for each in files:
                os.close(each)
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
    if request["comm"] is not None:
        Path("/proc/self/comm").write_text(str(request["comm"]))
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    for name, number in (("stdout", 1), ("stderr", 2)):
        errors = "backslashreplace" if name == "stderr" else "strict"
        lines = 1 if number == 2 else -1
        stream = os.fdopen(number, "w", lines, encoding="utf-8", errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)
