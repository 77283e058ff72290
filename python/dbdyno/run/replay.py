"""Replay a recording on one system, or on two in turns."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdyno.base.errors import InputError, RunInterrupted
from dbdyno.engines import engine_of
from dbdyno.engines.server.engine import ServerEngine
from dbdyno.engines.url import with_settings
from dbdyno.engines.writes import ALLOW
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells
from dbdyno.experiment.statements import statements_experiment
from dbdyno.model.plan.system import SystemSpec
from dbdyno.run.provisioners import Provisioners
from dbdyno.runtime.line_worker import LineWorker
from dbdyno.runtime.workspace.interruption import Interruption, KillOnStop
from dbdyno.trace.header import role_of
from dbdyno.trace.recording import ENDS_UNIT, Executions, Recording

CAUSES = ("system", "machine", "tool")
"""What makes statements begin late."""

_LINES = 1000
# Segments of a recording, which two systems replay in turns.
_SEGMENTS = 20


@dataclass(frozen=True)
class ReplayOptions:
    """How to replay. ``speed``: times as fast as recorded; ``None``: as fast as possible."""

    speed: float | None = 1.0
    directory: str | None = None
    allow_writes: bool = False


@dataclass
class Replayed:
    """A replay on a system.

    ``late_s``: by how much each statement began late. ``causes_s``: the sum by cause (:data:`CAUSES`). ``seconds``: how
    long it took. ``blocked``: statements that waited for others at the end of a segment. ``messages``: the first
    message of each error code. ``done``: whether a statement has ended.
    """

    system: SystemSpec
    executions: Executions
    late_s: NDArray[np.float32]
    done: NDArray[np.bool_]
    start_us: NDArray[np.int64]
    causes_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(CAUSES)))
    seconds: float = 0.0
    blocked: int = 0
    messages: dict[str, str] = field(default_factory=dict)
    begin_us: int = field(default_factory=lambda: time.time_ns() // 1000)
    cpu_s: float | None = None
    counters: dict[str, float] = field(default_factory=dict)


class _Replayer:
    """A worker that replays segments of a recording in order."""

    def __init__(self, recording: Recording, system: SystemSpec, target: dict[str, Any], speed: float | None) -> None:
        self._recording = recording
        self._lines = recording.lines()
        self._worker = LineWorker("replay", {"target": target, "speed": speed, "sessions": recording.most_sessions})
        self._reports = self._worker.reports()
        count = len(recording)
        executions = Executions(
            np.full(count, np.nan, dtype=np.float32), np.full(count, -1, dtype=np.int32), np.zeros(count, np.int16)
        )
        self.replayed = Replayed(
            system, executions, np.zeros(count, np.float32), np.zeros(count, np.bool_), np.zeros(count, np.int64)
        )

    def replay(self, segment: tuple[int, int], interrupted: Interruption, progress: Callable[[int], None]) -> None:
        """Replay the next segment. Raises SystemFailed, RunInterrupted, InputError."""
        failed: list[Exception] = []
        feeder = threading.Thread(target=self._feed, args=(*segment, failed), daemon=True)
        began = time.monotonic()
        with interrupted.forward_to(KillOnStop(self._worker.kill)):
            feeder.start()
            try:
                self._read(progress)
            finally:
                self.replayed.seconds += time.monotonic() - began
                interrupted.check()
        feeder.join()
        if failed:
            raise failed[0]

    def _feed(self, first: int, last: int, failed: list[Exception]) -> None:
        self._worker.write([f'["begin",{self._recording.start_us[first]}]\n'])
        left, queued = last - first, _queued_ns()
        try:
            while left:
                lines = list(islice(self._lines, min(left, _LINES)))
                if not lines:
                    raise InputError(str(self._recording.path), "the file changed", "replay it again")
                before, queued = queued, _queued_ns()
                self._worker.write([f'["queued",{max(queued - before, 0)}]\n', *lines])
                left -= len(lines)
        except Exception as error:
            failed.append(error)
        self._worker.write(['["end",0]\n'])

    def _read(self, progress: Callable[[int], None]) -> None:
        replayed, codes = self.replayed, self._recording.codes
        executions = replayed.executions
        ended = 0
        for report in self._reports:
            match report:
                case None:
                    progress(ended)
                    ended = 0
                case ["ended", blocked]:
                    replayed.blocked += blocked
                    break
                case ["used", cpu_s, counters]:
                    replayed.cpu_s, replayed.counters = cpu_s, counters
                case [number, begun_ns, duration_ns, rows, code, message, late_ns]:
                    executions.seconds[number] = duration_ns / 1e9
                    executions.rows[number] = -1 if rows is None else min(rows, 2**31 - 1)
                    if code is not None:
                        executions.error[number] = codes.number(code)
                        replayed.messages.setdefault(code, message)
                    replayed.late_s[number] = sum(late_ns) / 1e9
                    replayed.causes_s += np.array(late_ns) / 1e9
                    replayed.done[number] = True
                    replayed.start_us[number] = begun_ns // 1000
                    ended += 1
        progress(ended)

    def finish(self, interrupted: Interruption) -> None:
        """Read the reports of statements that were blocked until the sessions ended."""
        self._worker.end_input()
        with interrupted.forward_to(KillOnStop(self._worker.kill)):
            self._read(lambda _ended: None)

    def kill(self) -> None:
        """End the worker."""
        self._worker.kill()


def _queued_ns() -> int:
    """Return how long the threads of this process were ready and had no CPU; 0 if the kernel doesn't report it."""
    total = 0
    for each in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int(each.read_text(encoding="ascii").split()[1])
    return total


@dataclass(frozen=True)
class Replays:
    """Replays of one recording. ``segments``: its parts, for which the systems are compared."""

    recording: Recording
    segments: Sequence[tuple[int, int]]
    replayed: Sequence[Replayed]
    is_complete: bool

    def transactions(self, replayed: Replayed) -> int:
        """Return the transactions that a system ended, with statements outside of transactions.

        Statements that a workload doesn't contain, such as reading a cursor, aren't counted.
        """
        recording = self.recording
        counted = np.array([role_of(text) in ("query", "end") for text in recording.texts])
        is_end = (recording.flags & ENDS_UNIT != 0) & counted[recording.statement]
        return int((is_end & replayed.done).sum())


def replay(
    recording: Recording, systems: Sequence[SystemSpec], options: ReplayOptions, progress: Callable[[int], None]
) -> Replays:
    """Replay a recording on one or two systems. Two systems replay its segments in turns: A and B, B and A, A and B.

    ``progress``: called with the number of statements that have ended since the last call. After Ctrl-C, the result
    has what was replayed. Raises DbdynoError.
    """
    for system in systems:
        _check(recording, system, options)
    _check_copies(recording, systems)
    segments = recording.segments(_SEGMENTS)
    with ExitStack() as stack:
        interrupted = stack.enter_context(Interruption().handle_signals())
        replayers: list[_Replayer] = []
        for system in systems:
            target = stack.enter_context(_target(system, options))
            replayer = _Replayer(recording, system, target, options.speed)
            stack.callback(replayer.kill)
            replayers.append(replayer)
        is_complete = True
        try:
            for number, segment in enumerate(segments if len(replayers) > 1 else [(0, len(recording))]):
                for each in replayers[:: -1 if number % 2 else 1]:
                    each.replay(segment, interrupted, progress)
            for each in replayers:
                each.finish(interrupted)
        except RunInterrupted:
            is_complete = False
        return Replays(recording, segments, [each.replayed for each in replayers], is_complete)


def _check(recording: Recording, system: SystemSpec, options: ReplayOptions) -> None:
    """Raise InputError if a recording can't be replayed on a system."""
    engine, own = engine_of(system.engine), engine_of(recording.header.engine)
    if engine.name != own.name:
        problem = f"the trace has statements of {own.title}"
        raise InputError(f"--system {system.name}", problem, "name a database of this engine")
    if not engine.replays:
        hint = "name a SQLite, PostgreSQL, MySQL or MariaDB database"
        raise InputError(f"--system {system.name}", f"dbdyno can't replay statements on {engine.title}", hint)
    writing = recording.writing
    if system.host and writing is not None and not options.allow_writes:
        problem = f"the trace has statements that may write, such as `{writing}`"
        raise InputError(system.name, problem, f"name a copy of the database, and allow it with `{ALLOW}`")


def _check_copies(recording: Recording, systems: Sequence[SystemSpec]) -> None:
    """Raise InputError if statements that may write would run twice on one database."""
    places = {(each.host, each.port or _default_port(each.engine), each.database) for each in systems if each.host}
    if len(places) < sum(each.host is not None for each in systems) and recording.writing is not None:
        problem = "both systems are one database, which the first replay of a statement changes"
        raise InputError("--system", problem, "name a copy of the database for each system")


def _default_port(name: str) -> int | None:
    engine = engine_of(name)
    return engine.databases.port if isinstance(engine, ServerEngine) else None


@contextmanager
def _target(system: SystemSpec, options: ReplayOptions) -> Iterator[dict[str, Any]]:
    """Provide a system as in a plan. Files are copied first. Raises DbdynoError if it is unavailable."""
    usual = {
        name: value for name, value in engine_of(system.engine).usual_settings.items() if name not in system.settings
    }
    system = with_settings(system, usual)
    experiment = statements_experiment(["select 1"], engine=system.engine)
    compiled = compile_cell(experiment, make_cells(experiment, {}, [system]).cells[0])
    with Provisioners(options.directory, options.allow_writes) as provisioners:
        provisioner = provisioners.of(compiled)
        provisioner.check(compiled)
        with provisioner.ready(compiled, 0) as ready:
            yield ready.target
