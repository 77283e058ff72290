"""The worker process: one plan in on standard input, one JSON event a line out."""

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
from dbdyno.model.events.reading import E, Heard, NotAnEvent, read_line
from dbdyno.model.events.trial import TrialResult
from dbdyno.runtime.workspace.listening import AtOnce, Interrupted

JsonObject = dict[str, Any]

# Seconds a worker has, after it was asked to stop, to write what it measured.
GRACE_S = 10.0

_SERVER_TIMEOUT = "DBDYNO_SERVER_TIMEOUT"


class WorkerFailed(TrialFailed):
    """A worker ended without the event that was asked for.

    ``kind`` is its own word for why; ``code``: the system's, where it was the system.
    """

    def __init__(self, message: str, kind: str = "worker", code: str | None = None) -> None:
        """``message``: what it said, or how it ended."""
        super().__init__(message)
        self.kind = kind
        self.code = code


def worker_path() -> Path:
    """Find the worker: ``DBDYNO_WORKER``, beside this Python's scripts, or on the PATH. Raises SystemFailed."""
    named = os.environ.get("DBDYNO_WORKER")
    if named:
        if not os.access(named, os.X_OK):
            raise SystemFailed(f"DBDYNO_WORKER={named}: there is no program of that name")
        return Path(named)
    for directory in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        path = Path(directory) / "dbdyno-worker"
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("dbdyno-worker")
    if found is None:
        raise SystemFailed("dbdyno-worker is not installed beside dbdyno: install the package anew")
    return Path(found)


def server_timeout(usual: float) -> float:
    """Return how many seconds to wait for a server that does not answer: ``DBDYNO_SERVER_TIMEOUT``, or the usual.

    The worker reads the same variable for logging in and for dbdyno's own questions. Raises InputError.
    """
    text = os.environ.get(_SERVER_TIMEOUT)
    if not text:
        return usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(_SERVER_TIMEOUT, f"`{text}` is not a number of seconds above 0", "give one, as 30")
    return seconds


def padded_environment(padding: int) -> dict[str, str]:
    """Return this process's environment, made longer by so many bytes, for a process whose stack that is to move."""
    return {**os.environ, "DBDYNO_PADDING": "x" * padding}


class EndsInTime:
    """What is at work, can be asked to end, and is killed where it does not: a worker, wherever it is."""

    def __init__(self) -> None:
        """Nothing is asked of it yet."""
        self.asked_to_stop = False
        self.timed_out = False
        self.given_up = False
        self._timers: list[threading.Timer] = []

    def limit(self, timeout_s: float | None) -> None:
        """After so many seconds ask it to stop, and kill it ``GRACE_S`` later."""
        if timeout_s is not None:
            self._after(timeout_s, self._time_out)

    def stop(self) -> None:
        """Ask it to end its window now and say what it measured; kill it where it has not within ``GRACE_S``."""
        self.asked_to_stop = True
        if self.alive:
            self._ask()
            self._after(GRACE_S, self._give_up)

    @property
    def alive(self) -> bool:
        """Whether it is still at work."""
        raise NotImplementedError

    def kill(self) -> None:
        """End it at once."""
        raise NotImplementedError

    def _ask(self) -> None:
        """Ask it to end."""
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


class Worker(EndsInTime):
    """A worker at work on a plan. Iterate over it for its events; it is gone when the iteration has ended."""

    def __init__(
        self,
        plan: JsonObject,
        timeout_s: float | None = None,
        padding: int = 0,
        under: Sequence[str] = (),
        coordinated: bool = False,
    ) -> None:
        """Start it. After ``timeout_s`` seconds it is asked to stop, and killed ``GRACE_S`` later.

        ``padding``: bytes by which its environment is made longer, which moves its stack; ``under``: a program that
        runs it, with its options, such as valgrind; ``coordinated``: there will be more to :meth:`tell` it than the
        plan.
        """
        super().__init__()
        self._process = subprocess.Popen(
            [*under, worker_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # The worker ends at once if its parent is not this process any more.
            env=padded_environment(padding) | {"DBDYNO_PARENT": str(getpid())},
            # Ctrl-C on the terminal is the laboratory's to hear: it asks the worker to stop and keeps what it has.
            start_new_session=True,
        )
        self._plan = json.dumps(plan)
        self._coordinated = coordinated
        self.limit(timeout_s)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still at work."""
        return self._process.poll() is None

    def __iter__(self) -> Iterator[Heard]:
        """Give the events as they come. Raises WorkerFailed where a line is none, or the last one is no success."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101
        errors: list[str] = []
        # Standard error is read beside standard output, so that neither can fill up and block the worker.
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
                pass  # It has ended already, and says below why.
            yield from events_in(process.stdout, ended, self)
        finally:
            self._end()

    def tell(self, line: str) -> None:
        """Write it a line. One that has ended already does not hear it, and says why when it is listened to."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101
        # A pipe that its listener has closed since is a ValueError.
        with contextlib.suppress(BrokenPipeError, ValueError):
            stdin.write(line + "\n")
            stdin.flush()

    def kill(self) -> None:
        """End it at once."""
        if self._process.poll() is None:
            self._process.kill()

    def _ask(self) -> None:
        self._process.terminate()

    def _end(self) -> None:
        self._cancel()
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def events_in(lines: Iterable[str], ended: Callable[[], tuple[int, str]], worker: EndsInTime) -> Iterator[Heard]:
    """Give the events in what a worker writes, line by line, as they come.

    ``ended``: gives, when the lines have ended, its exit code and what it wrote to standard error. Raises WorkerFailed
    if a line is not an event, if the last event is an error, or if something else than dbdyno ended a window early.
    """
    failure: Error | None = None
    for line in lines:
        try:
            heard = read_line(line)
        except NotAnEvent as error:
            raise WorkerFailed(f"the worker wrote what is no event: {error}") from None
        if isinstance(heard.event, Error):
            failure = heard.event
        else:
            failure = None
            if isinstance(heard.event, TrialResult):
                _check_not_stopped(heard.event, worker)
            yield heard
    code, errors = ended()
    if failure is not None:
        raise WorkerFailed(failure.message, failure.kind, failure.code)
    if code != 0:
        raise WorkerFailed(_ending(code, errors, worker.given_up), "killed" if code < 0 else "worker")


def _check_not_stopped(result: TrialResult, worker: EndsInTime) -> None:
    """Raise WorkerFailed if a signal ended the window that dbdyno did not send."""
    if result.ended_by == "interrupted" and not worker.asked_to_stop:
        after = f"{result.elapsed_s:.3g} s into the measured window"
        raise WorkerFailed(f"the worker was stopped {after} by a signal that dbdyno did not send", "stopped")


def _ending(code: int, errors: str, given_up: bool) -> str:
    if code < 0:
        failed = next((line for line in errors.splitlines() if line.startswith("memory allocation of ")), None)
        if failed is not None:
            return f"the worker ran out of memory ({failed}); use fewer clients, or raise the limit (`ulimit -v`)"
        late = f"it did not end within {GRACE_S:g} s of being asked to, as when a server no longer answers"
        why = late if given_up else "from outside, or for want of memory"
        return f"the worker was killed by signal {-code} ({why})"
    tail = errors.strip().splitlines()
    return f"the worker ended with code {code}" + (f": {tail[-1]}" if tail else "")


def ask(
    plan: JsonObject,
    wanted: type[E],
    timeout_s: float = 3600.0,
    interrupted: Interrupted | None = None,
    started: Callable[[int], None] | None = None,
) -> E:
    """Carry out a plan that gives one event of the type that is wanted, and return it. Raises SystemFailed.

    ``interrupted``: what hears Ctrl-C; the first ends the worker at once, and RunInterrupted is raised. ``started``: is
    told the worker's process id before it begins.
    """
    interrupted = Interrupted() if interrupted is None else interrupted
    worker = Worker(plan, timeout_s)
    if started is not None:
        started(worker.pid)
    try:
        with interrupted.passing_on_to(AtOnce(worker.kill)):
            found = [heard.event for heard in worker if isinstance(heard.event, wanted)]
    except WorkerFailed as error:
        interrupted.check()
        raise SystemFailed(str(error)) from error
    if not found:
        raise SystemFailed(f"the worker gave no {wanted.__name__}")
    return found[-1]


def write_amalgamation(directory: Path) -> None:
    """Write the source of the bundled SQLite into a directory. Raises SystemFailed."""
    done = subprocess.run(
        [worker_path(), "amalgamation", directory], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode != 0:
        raise SystemFailed(
            f"the source of the bundled SQLite could not be written to {directory}: {done.stdout.strip()}"
        )


__all__ = ["JsonObject", "Worker", "WorkerFailed", "ask", "worker_path", "write_amalgamation"]
