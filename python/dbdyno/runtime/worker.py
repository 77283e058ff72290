"""The worker process: reads a plan from standard input and writes events, one JSON object per line."""

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import getpid
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed, TrialFailed
from dbdyno.model.events.answers import Error
from dbdyno.model.events.reading import E, InvalidEvent, ReceivedEvent, read_line
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.workspace.interruption import Interruption, KillOnStop

JsonObject = dict[str, Any]

# Seconds that a worker gets to write its results after it was asked to stop.
GRACE_S = 10.0

#: Kind of failure of a worker that a signal ended.
KILLED = "killed"

_SERVER_TIMEOUT = "DBDYNO_SERVER_TIMEOUT"


class WorkerFailed(TrialFailed):
    """A worker ended without a result.

    ``kind``: the kind of failure as the worker names it. ``code``: the system's error code, if the system failed.
    """

    def __init__(self, message: str, kind: str = "worker", code: str | None = None) -> None:
        """``message``: the worker's error message, or how it ended."""
        super().__init__(message)
        self.kind = kind
        self.code = code


def worker_path() -> Path:
    """Find the worker: ``DBDYNO_WORKER``, beside this Python's scripts, or on the PATH. Raises SystemFailed."""
    named = os.environ.get("DBDYNO_WORKER")
    if named:
        if not os.access(named, os.X_OK):
            raise SystemFailed(f"DBDYNO_WORKER={named}: not an executable file")
        return Path(named)
    for directory in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        path = Path(directory) / "dbdyno-worker"
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("dbdyno-worker")
    if found is None:
        raise SystemFailed("dbdyno-worker is not installed next to dbdyno; reinstall the package")
    return Path(found)


def server_timeout(usual: float) -> float:
    """Return how many seconds to wait for a server's answer: ``DBDYNO_SERVER_TIMEOUT``, or ``usual``.

    The worker uses the same variable for logins and for its own queries. Raises InputError.
    """
    text = os.environ.get(_SERVER_TIMEOUT)
    if not text:
        return usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(_SERVER_TIMEOUT, f"`{text}` is not a positive number of seconds", "set it to e.g. 30")
    return seconds


def padded_environment(padding: int) -> dict[str, str]:
    """Return this process's environment with ``padding`` more bytes, which move the stack of a child process."""
    return {**os.environ, "DBDYNO_PADDING": "x" * padding}


class Stoppable:
    """A worker, local or remote, that can be asked to stop and is killed if it doesn't stop in time."""

    def __init__(self) -> None:
        """Create it without a time limit."""
        self.asked_to_stop = False
        self.timed_out = False
        self.given_up = False
        self._timers: list[threading.Timer] = []

    def limit(self, timeout_s: float | None) -> None:
        """Call :meth:`stop` after ``timeout_s`` seconds."""
        if timeout_s is not None:
            self._after(timeout_s, self._time_out)

    def stop(self) -> None:
        """Ask it to end its window now and report its result; kill it after ``GRACE_S``."""
        self.asked_to_stop = True
        if self.alive:
            self._request_stop()
            self._after(GRACE_S, self._give_up)

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        raise NotImplementedError

    def kill(self) -> None:
        """Kill it."""
        raise NotImplementedError

    def _request_stop(self) -> None:
        raise NotImplementedError

    def _give_up(self) -> None:
        self.given_up = True
        self.kill()

    def _time_out(self) -> None:
        self.timed_out = True
        self.stop()

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def _cancel(self) -> None:
        for timer in self._timers:
            timer.cancel()


class Worker(Stoppable):
    """A worker that executes a plan. Iterating over it yields its events; it has ended when the iteration ends."""

    def __init__(
        self,
        plan: WorkerPlan[Any] | JsonObject,
        timeout_s: float | None = None,
        padding: int = 0,
        under: Sequence[str] = (),
        coordinated: bool = False,
    ) -> None:
        """Start it. After ``timeout_s`` seconds it is asked to stop, and killed ``GRACE_S`` later.

        ``padding``: bytes added to its environment, which move its stack. ``under``: a program that runs the worker,
        with its options, such as valgrind. ``coordinated``: keep its standard input open for :meth:`send`.
        """
        super().__init__()
        self._process = subprocess.Popen(
            [*under, worker_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # The worker exits if its parent is no longer this process.
            env=padded_environment(padding) | {"DBDYNO_PARENT": str(getpid())},
            # Ctrl-C must not reach the worker: this process asks it to stop and keeps its results.
            start_new_session=True,
        )
        self._plan = plan_text(plan)
        self._coordinated = coordinated
        self.limit(timeout_s)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    def __iter__(self) -> Iterator[ReceivedEvent]:
        """Yield the events. Raises WorkerFailed for a line that is not an event, and if the worker fails."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101
        errors: list[str] = []
        # Read standard error in parallel, so that neither pipe can fill up and block the worker.
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
        reader.start()

        def ended() -> tuple[int, str]:
            code = process.wait()
            reader.join(timeout=5)
            return code, "".join(errors)

        try:
            try:
                process.stdin.write(self._plan + "\n")
                process.stdin.flush()
                if not self._coordinated:
                    process.stdin.close()
            except BrokenPipeError:
                pass  # It has ended; read_events raises its error.
            yield from read_events(process.stdout, ended, self)
        finally:
            self._end()

    def send(self, line: str) -> None:
        """Write a line to its standard input. If it has ended, iterating over it raises the reason."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101
        # Writing to a closed file raises ValueError.
        with contextlib.suppress(BrokenPipeError, ValueError):
            stdin.write(line + "\n")
            stdin.flush()

    def kill(self) -> None:
        """Kill it."""
        if self._process.poll() is None:
            self._process.kill()

    def _request_stop(self) -> None:
        self._process.terminate()

    def _end(self) -> None:
        self._cancel()
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def read_events(
    lines: Iterable[str], ended: Callable[[], tuple[int, str]], worker: Stoppable
) -> Iterator[ReceivedEvent]:
    """Yield the events in the lines that a worker writes.

    ``ended``: called after the last line; returns the exit code and standard error. Raises WorkerFailed if a line is
    not an event, if the last event is an error, or if a signal that dbdyno didn't send ended the window early.
    """
    failure: Error | None = None
    for line in lines:
        try:
            received = read_line(line)
        except InvalidEvent as error:
            raise WorkerFailed(f"the worker wrote a line that is not an event: {error}") from None
        if isinstance(received.event, Error):
            failure = received.event
        else:
            failure = None
            if isinstance(received.event, TrialResult):
                _check_not_stopped(received.event, worker)
            yield received
    code, errors = ended()
    if failure is not None:
        raise WorkerFailed(failure.message, failure.kind, failure.code)
    if code != 0:
        raise WorkerFailed(_ending(code, errors, worker.given_up), KILLED if code < 0 else "worker")


def _check_not_stopped(result: TrialResult, worker: Stoppable) -> None:
    if result.ended_by == "interrupted" and not worker.asked_to_stop:
        after = f"{result.elapsed_s:.3g} s into the measured window"
        raise WorkerFailed(f"the worker was stopped {after} by a signal that dbdyno did not send", "stopped")


def _ending(code: int, errors: str, given_up: bool) -> str:
    if code < 0:
        failed = next((line for line in errors.splitlines() if line.startswith("memory allocation of ")), None)
        if failed is not None:
            return f"the worker ran out of memory ({failed}); use fewer clients, or raise the limit (`ulimit -v`)"
        late = f"it did not stop within {GRACE_S:g} s: a statement takes long, or the server doesn't answer"
        why = late if given_up else "by another program, or because the machine ran out of memory"
        return f"the worker was killed by signal {-code} ({why})"
    tail = errors.strip().splitlines()
    return f"the worker ended with code {code}" + (f": {tail[-1]}" if tail else "")


def plan_text(plan: WorkerPlan[Any] | JsonObject) -> str:
    """Return a plan as the worker reads it."""
    return json.dumps(plan.json if isinstance(plan, WorkerPlan) else plan)


def ask(
    plan: WorkerPlan[Any] | JsonObject,
    wanted: type[E],
    timeout_s: float = 3600.0,
    interrupted: Interruption | None = None,
    started: Callable[[int], None] | None = None,
) -> E:
    """Execute a plan and return its last event of the type ``wanted``. Raises SystemFailed.

    ``interrupted``: the first Ctrl-C kills the worker and raises RunInterrupted. ``started``: called with the worker's
    process id before it begins.
    """
    interrupted = Interruption() if interrupted is None else interrupted
    worker = Worker(plan, timeout_s)
    if started is not None:
        started(worker.pid)
    try:
        with interrupted.forward_to(KillOnStop(worker.kill)):
            found = [received.event for received in worker if isinstance(received.event, wanted)]
    except WorkerFailed as error:
        interrupted.check()
        raise SystemFailed(str(error)) from error
    if not found:
        raise SystemFailed(f"the worker wrote no {wanted.__name__} event")
    return found[-1]


def write_amalgamation(directory: Path) -> None:
    """Write the source of the bundled SQLite into a directory. Raises SystemFailed."""
    done = subprocess.run(
        [worker_path(), "amalgamation", directory], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode != 0:
        raise SystemFailed(f"could not write the source of the bundled SQLite to {directory}: {done.stdout.strip()}")


__all__ = ["KILLED", "JsonObject", "Worker", "WorkerFailed", "ask", "worker_path", "write_amalgamation"]
