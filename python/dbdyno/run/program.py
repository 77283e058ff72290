"""Trials of a user's program, each run of which is timed as a whole process."""

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import psutil

from dbdyno.analysis.measured.histograms import encode_ns
from dbdyno.base.errors import TrialFailed, reason
from dbdyno.model.events.accounting import Accounting, Cycles, Few, Rate, TransactionCounts, Warmup, Whole
from dbdyno.model.events.latency import Times
from dbdyno.model.events.machine import Memory
from dbdyno.model.events.program import ProgramCpu, ProgramFacts, ProgramResult
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.run.machine import busy_seconds
from dbdyno.runtime.worker import padded_environment

# Lines and characters of a failed program's output that the error shows.
_OUTPUT_LINES = 10
_OUTPUT_CHARACTERS = 1000
# Number of bytes to read from the end of its output.
_LOOKED_AT = 1 << 16

# Interval in seconds for checking a running program for Ctrl-C and its time limit.
_LOOK_S = 0.05


@dataclass
class _Runs:
    """The runs of a window: the time of each in seconds, and their CPU time and peak memory together."""

    seconds: list[float] = field(default_factory=list)
    user_s: float = 0.0
    system_s: float = 0.0
    peak_rss_bytes: int = 0

    def add(self, took_s: float, usage: resource.struct_rusage) -> None:
        self.seconds.append(took_s)
        self.user_s += usage.ru_utime
        self.system_s += usage.ru_stime
        self.peak_rss_bytes = max(self.peak_rss_bytes, usage.ru_maxrss * 1024)


def run_program(
    command: Sequence[str],
    task: TrialTask,
    *,
    padding: int,
    interrupted: object,
    longest_s: float,
    folder: str | None = None,
) -> ProgramResult:
    """Run ``command`` as often as the task says and return the result.

    A transaction is one run of the program. Its time is the time from before the process is started until it was waited
    for, and its CPU time includes the children that it waited for. ``padding``: bytes added to its environment;
    ``folder``: its working directory. Raises TrialFailed if the program cannot be started, fails, or runs longer than
    ``longest_s`` seconds.
    """
    warmup, times = task.warmup.transactions, task.window.transactions or 0
    runs = _Runs()
    before = psutil.cpu_times()
    began = time.monotonic()
    for number in range(warmup + times):
        if number == warmup:
            before, began = psutil.cpu_times(), time.monotonic()
        took, usage = _once(command, padding, interrupted, longest_s, folder)
        if number >= warmup:
            runs.add(took, usage)
        if interrupted:
            break
    after, wall = psutil.cpu_times(), max(time.monotonic() - began, 1e-9)
    if not runs.seconds:
        raise TrialFailed("the run was interrupted before the program had been run once")
    cut_short = bool(interrupted) and len(runs.seconds) < times
    return _result(command, runs, _cpu(runs, before, after, wall), cut_short=cut_short)


def _cpu(runs: _Runs, before: Any, after: Any, wall_s: float) -> ProgramCpu:
    """Return the CPU use of the runs, and of the machine between two readings of its CPU times."""
    elapsed = sum(runs.seconds)
    return ProgramCpu(
        process_percent=(runs.user_s + runs.system_s) / elapsed * 100,
        user_percent=runs.user_s / elapsed * 100,
        system_percent=runs.system_s / elapsed * 100,
        machine_percent=(busy_seconds(after) - busy_seconds(before)) / wall_s * 100,
        steal_percent=(getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)) / wall_s * 100,
        cores=len(os.sched_getaffinity(0)),
    )


def _result(command: Sequence[str], runs: _Runs, cpu: ProgramCpu, *, cut_short: bool) -> ProgramResult:
    done, elapsed = len(runs.seconds), sum(runs.seconds)
    return ProgramResult(
        event="program",
        engine=ProgramFacts(engine="exec", settings={"command": " ".join(command)}),
        accounting=Accounting(issued=done, ok=done, failed={}, skipped=0, in_flight=0, retries=0),
        completed=done,
        rate=Rate(
            many_per_s=0.0,
            few=Few(clients=0, completed=0, seconds=0.0, within=0.0, window_s=0.0),
            whole=Whole(completed=done, seconds=elapsed),
            client_s=elapsed,
            clients=1,
        ),
        cycles=Cycles(count=done, seconds=elapsed, squares=sum(each**2 for each in runs.seconds)),
        elapsed_s=elapsed,
        ended_by="interrupted" if cut_short else "transactions",
        warmup=Warmup(seconds=0.0),
        transactions={"run": TransactionCounts(ok=done, failed=0)},
        histograms={"service": encode_ns(int(each * 1e9) for each in runs.seconds)},
        latency_ms={"service": _latency(runs.seconds)},
        cpu=cpu,
        memory=Memory(peak_rss_bytes=runs.peak_rss_bytes),
    )


def _once(
    command: Sequence[str], padding: int, interrupted: object, longest_s: float, folder: str | None
) -> tuple[float, Any]:
    """Run the program once; return the seconds and the resource usage of it and its children (``getrusage``)."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        try:
            # Write the output to a file, and read the error from its end.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=padded_environment(padding),
                start_new_session=True,
            )
        except OSError as error:
            raise TrialFailed(f"{command[0]} cannot be started: {reason(error)}") from error
        timer = _Stopper(process.pid, interrupted, longest_s)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            timer.end()
        took = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == 0:
            return took, usage
        text = _end_of(output)
    how = f"ended with {process.returncode}" if process.returncode > 0 else f"was ended by signal {-process.returncode}"
    if timer.late:
        how = f"was still running after {longest_s:g} s and was stopped"
    raise TrialFailed(f"{command[0]} {how}" + (f": {text}" if text else ""))


def _end_of(output: IO[bytes]) -> str:
    """Return the last lines of a program's output, with a mark if earlier lines are left out."""
    # The program wrote to the file behind this object's buffer.
    size = os.fstat(output.fileno()).st_size
    first = max(0, size - _LOOKED_AT)
    text = os.pread(output.fileno(), size - first, first).decode(errors="replace").strip()
    shown = "\n".join(text.splitlines()[-_OUTPUT_LINES:])[-_OUTPUT_CHARACTERS:]
    return shown if shown == text and not first else f"…{shown}"


class _Stopper:
    """Ends a program and its children if the run is interrupted or the program exceeds its time limit."""

    def __init__(self, pid: int, interrupted: object, longest_s: float) -> None:
        """Start watching the process."""
        self.late = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(pid, interrupted, longest_s), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop watching, because the program has ended."""
        self._over.set()
        self._thread.join()

    def _watch(self, pid: int, interrupted: object, longest_s: float) -> None:
        start = time.monotonic()
        while not self._over.wait(_LOOK_S):
            self.late = time.monotonic() - start > longest_s
            if interrupted or self.late:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                return


def _latency(seconds: list[float]) -> Times:
    """Return the quantiles of the runs in milliseconds, by rank because there are few runs."""
    ordered = sorted(each * 1000 for each in seconds)

    def rank(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Times(
        p50=rank(0.5),
        p90=rank(0.9),
        p99=rank(0.99),
        p99_9=rank(0.999),
        max=ordered[-1],
        mean=sum(ordered) / len(ordered),
        count=len(ordered),
        at_least=[],
    )
