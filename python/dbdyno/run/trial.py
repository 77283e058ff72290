"""One trial: its worker process, its events, and its record."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.analysis.measured.stages import beside_error
from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.base.numbers import duration
from dbdyno.base.timestamps import utc_now
from dbdyno.experiment.head import Growth
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.events.surroundings import Refused
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.plan.cell import Cell, CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.tasks import ProgramTask, TrialTask
from dbdyno.model.plan.worker_plan import TrialPlan
from dbdyno.run.machine import in_memory
from dbdyno.run.memory_limit import Limiting
from dbdyno.run.processes import Processes
from dbdyno.run.provisioners import Ready
from dbdyno.run.worker_places import Here
from dbdyno.runtime.cluster.client_distribution import distribute_clients
from dbdyno.runtime.cluster.machines import LoadMachines
from dbdyno.runtime.worker import KILLED, JsonObject, Worker, WorkerFailed, server_timeout
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.runtime.workspace.processors import bound_to, processors_of
from dbdyno.stats import Stopping
from dbdyno.store import TrialRecord

# Seconds after which a trial without a time limit is stopped.
MAX_TRIAL_S = 3600.0

# Seconds added to a trial's time limit: for opening, warming up, and a transaction that starts just before the end.
# `DBDYNO_SERVER_TIMEOUT` sets another time.
_SLACK_S = 120.0

# The same if the run's budget is spent.
_MIN_SLACK_S = 10.0


class Watcher:
    """Receives the progress of a run. This base class ignores it."""

    def loading(self, _cell: Cell) -> None:
        """Called before the tables of a cell are created or copied."""

    def trials(self, block: int, cells: Sequence[Cell]) -> None:
        """Called when a trial begins, or several interleaved ones."""

    def interval(self, cell: Cell, event: Interval) -> None:
        """Called for each interval of a trial."""

    def machine(self, number: int, machines: int, event: Interval) -> None:
        """Called when one of several load machines reports an interval."""

    def trial_ended(self, record: TrialRecord, throughput: float | None) -> None:
        """Called when a trial has ended and is stored, with its ``throughput`` if it succeeded."""


@dataclass
class Plan:
    """The trials of a run. ``done``: earlier trials of the run, by cell and block.

    ``rounds``: their number, or the maximum if ``stopping`` is a rule; ``wait_idle``: wait for an idle machine before
    each trial; ``instructions``: count them in each trial, too; ``slice_s``: seconds of the slices of interleaved
    trials, None for one trial after another; ``growth``: a table grows from trial to trial; ``machines``: generate the
    load, None for this machine; ``keeps``: trials of a round that need the same system share it and its data;
    ``first``: number of the first round; ``began``: the monotonic time at which the budget starts;
    ``longest_window_s``: the longest window that fits the budget in this round; ``alone``: cells that are not
    interleaved, because their transactions take long; ``too_long``: cells whose trial exceeded the budget.
    """

    run_id: str
    cells: list[CompiledCell]
    rounds: int
    seed: int
    done: dict[tuple[str, int], TrialRecord] = field(default_factory=dict)
    stopping: Stopping | None = None
    wait_idle: bool = False
    instructions: bool = False
    slice_s: float | None = None
    growth: Growth | None = None
    machines: LoadMachines | None = None
    keeps: bool = False
    first: int = 0
    began: float = field(default_factory=time.monotonic)
    longest_window_s: float | None = None
    alone: set[str] = field(default_factory=set)
    too_long: set[str] = field(default_factory=set)

    @property
    def left_s(self) -> float | None:
        """Seconds that are left of the budget; None without one."""
        if self.stopping is None or self.stopping.budget_s is None:
            return None
        return max(self.stopping.budget_s - (time.monotonic() - self.began), 0.0)


@dataclass
class Trial:
    """A cell in a round, from its plan to its result."""

    compiled: CompiledCell
    block: int
    position: int
    plan: Plan
    request: TrialPlan | None = None
    """Its plan, once the system is ready."""
    program: ProgramTask | None = None
    """The task of a user's program, which has no plan."""
    durations: dict[str, Any] = field(default_factory=dict)
    result: TrialResult | ProgramResult | None = None
    raw_result: JsonObject | None = None
    """The result to store: the worker's unchanged JSON."""
    intervals: list[JsonObject] = field(default_factory=list)
    parts: list[JsonObject] = field(default_factory=list)
    around: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    started: str = field(default_factory=utc_now)
    begun: float = field(default_factory=time.monotonic)
    limiting: Limiting | None = None
    """Its memory limit; None: unlimited."""
    lost: list[str] = field(default_factory=list)
    """Errors of the load machines that earlier tries lost."""
    load: Sequence[int] | None = None
    """The CPUs to which its workers are bound; None: all CPUs."""

    @property
    def task(self) -> TrialTask:
        """The task of its plan."""
        return self.ready_request.task

    @property
    def ready_request(self) -> TrialPlan:
        """Its plan, for code that runs only when the system is ready."""
        assert self.request is not None  # noqa: S101
        return self.request

    @property
    def padding(self) -> int:
        """Bytes added to the environment of its process."""
        return _padding(self.plan.seed, self.block, self.compiled.cell)

    @property
    def analyzed(self) -> bool:
        """Whether an earlier trial of its cell has run the statements for their estimates."""
        return any(cell == self.compiled.cell.id for cell, _ in self.plan.done)

    @property
    def lost_system(self) -> bool:
        """Whether the trial may have failed because its system ended."""
        return self.error is not None or (isinstance(self.result, TrialResult) and "connection" in self.result.failures)

    def failed(self, error: DbdynoError) -> None:
        """Record the reason for its failure. Raises InputError again."""
        if isinstance(error, InputError):
            raise error
        self.error, self.kind = str(error), getattr(error, "kind", "system")
        if isinstance(error, WorkerFailed) and error.code is not None:
            self.around["refused"] = Refused(code=error.code).model_dump(mode="json")

    def record(self, interrupted: Interruption) -> TrialRecord:
        """Return the record to store."""
        result = self.result
        if result is not None and not self.error:
            self.error, self.kind = empty_trial_error(result)
        status: Any = "failed" if self.error else "done"
        if interrupted and (result is None or result.ended_by == "interrupted"):
            status = "interrupted"
            self.error = self.error or "the run was interrupted in this trial"
        self.durations["total_s"] = time.monotonic() - self.begun
        return TrialRecord(
            cell=self.compiled.cell.id,
            block=self.block,
            position=self.position,
            status=status,
            plan=self._stored_plan(),
            # Store each worker's own result; the merged result of several workers is not stored.
            result=None if self.parts else self.raw_result,
            intervals=[] if self.parts else self.intervals,
            parts=self.parts,
            around=self.around,
            error=self.error,
            error_kind=self.kind,
            started=self.started,
            durations=self.durations,
        )

    def _stored_plan(self) -> JsonObject:
        if self.program is not None:
            return {"task": as_json(self.program)}
        return {} if self.request is None else self.request.json


def run_trial(trial: Trial, watcher: Watcher, interrupted: Interruption) -> None:
    """Carry out the plan of a trial, and record its events."""
    machines = trial.plan.machines
    if machines is not None:
        _run_on(machines, trial, watcher, interrupted)
        return
    request, longest = trial.ready_request, longest_s(trial.task, trial.plan.left_s)
    apart = trial.compiled.definition.load.clients_as == "processes"
    under = bound_to(trial.load)
    sizes = [1] * request.task.clients
    processes = (
        Processes(request, sizes, timeout_s=longest, padding=trial.padding, host=Here(lambda _: under))
        if apart
        else None
    )
    worker = processes or Worker(request, longest, trial.padding, under)
    if trial.limiting is not None:
        if isinstance(worker, Worker):
            trial.limiting.covers(worker.pid)
        if trial.limiting.told is not None:
            trial.around["memory_limit"] = trial.limiting.told
    try:
        _listen(worker, trial, watcher, interrupted)
    except WorkerFailed as error:
        trial.failed(error)
    if processes is not None and trial.result is not None:
        trial.parts = processes.outputs
    time_out(trial, worker.timed_out)


def _run_on(machines: LoadMachines, trial: Trial, watcher: Watcher, interrupted: Interruption) -> None:
    """Run the trial on load machines, each with a part of the clients. Raises SystemFailed if they are unavailable."""
    machines.ready()
    sizes = distribute_clients(trial.task.clients, len(machines))
    try:
        processes = Processes(
            trial.ready_request,
            sizes,
            timeout_s=longest_s(trial.task, trial.plan.left_s),
            padding=trial.padding,
            host=machines,
            tell=lambda number, interval: watcher.machine(number, len(sizes), interval),
        )
    except WorkerFailed as error:
        trial.failed(error)
        return
    try:
        _listen(processes, trial, watcher, interrupted)
    except WorkerFailed as error:
        trial.failed(error)
    if trial.result is not None:
        trial.parts = processes.outputs
    trial.around["load_machines"] = machines.client_facts(sizes) | {"lost": trial.lost}
    time_out(trial, processes.timed_out)


def _listen(worker: Worker | Processes, trial: Trial, watcher: Watcher, interrupted: Interruption) -> None:
    with interrupted.forward_to(worker):
        for received in worker:
            record_event(trial, received, watcher)


def record_system_state(trial: Trial, system: Ready) -> bool:
    """Store the system's state if it explains the trial; return whether both are fine.

    Raises InputError.
    """
    trouble = system.trouble(trial.lost_system)
    if trouble is not None:
        trial.error, trial.kind = trouble, "server"
    gone = [] if trial.error is not None else _ended_parts(trial.result)
    if gone:
        names = ", ".join(gone)
        trial.error, trial.kind = f"measure.processes: no process of {names} was left at the window's end", "server"
    if trial.error is None and isinstance(trial.result, TrialResult):
        allowed = {beside.name for beside in trial.compiled.definition.beside if beside.allow_errors}
        trial.error = beside_error(trial.result, allowed)
        trial.kind = "beside" if trial.error is not None else trial.kind
    too_little = None if trial.limiting is None else trial.limiting.too_little()
    if trial.error is not None and too_little is not None:
        trial.error += f": {too_little}"
    if isinstance(trial.result, TrialResult):
        system.check(trial.result)
    return trouble is None and isinstance(trial.result, TrialResult)


def _ended_parts(result: TrialResult | ProgramResult | None) -> list[str]:
    """Return the names of the system's parts whose processes ended during the window."""
    if not isinstance(result, TrialResult):
        return []
    return [tier.name for tier in result.tiers if tier.cpu_percent is None]


def record_surroundings(trial: Trial, system: Ready, *, own_data: bool = True) -> None:
    """Store the place of a trial's data and how they were loaded, unless they are the user's (``own_data``)."""
    if not isinstance(trial.result, TrialResult):
        return
    if system.processors or system.load is not None:
        # A worker bound to some CPUs assumes that the machine has only these.
        cores = len(processors_of(os.getpid()))
        load = None if system.load is None else list(system.load)
        trial.around["allowed"] = {"processors": system.processors, "load": load, "cores": cores}
    if system.behind is not None:
        trial.around["behind"] = system.behind
    kind = in_memory(Path(system.data).resolve()) if system.data else None
    if kind:
        trial.around["in_memory"] = kind
    if system.loaded and own_data:
        names = dict.fromkeys(table.name for table in trial.compiled.tables)
        trial.around["loaded"] = system.loaded | {"names": list(names)}


def _padding(seed: int, block: int, cell: Cell) -> int:
    """Return a random number of bytes, up to 4 KiB, to add to a worker's environment.

    The size of the environment moves the stack, and with it the speed of a program, by percents (Mytkowicz et al. 2009,
    "Producing wrong data without doing anything obviously wrong!", doi:10.1145/1508284.1508275). A constant size would
    bias every result; a random size per trial becomes noise, which the interval covers.
    """
    draw = hashlib.sha256(f"{seed}/{block}/{cell.id}/environment".encode()).digest()
    return int.from_bytes(draw[:2], "big") % 4096


def longest_s(task: TrialTask, left_s: float | None, windows: int = 1) -> float:
    """Return the seconds after which a trial is stopped.

    ``left_s``: seconds that are left of the run's budget; ``windows``: interleaved trials. Raises InputError.
    """
    window = task.window.seconds
    if window is None:
        return MAX_TRIAL_S
    slack_s = server_timeout(_SLACK_S)
    if left_s is not None:
        slack_s = min(slack_s, max(left_s, _MIN_SLACK_S))
    return float(window * windows + task.warmup.seconds + slack_s)


def record_event(trial: Trial, received: ReceivedEvent, watcher: Watcher) -> None:
    """Record a worker's event, and notify the watcher."""
    match received.event:
        case Interval() as interval:
            trial.intervals.append(received.raw)
            watcher.interval(trial.compiled.cell, interval)
        case TrialResult() as result:
            trial.result, trial.raw_result = result, received.raw


def time_out(trial: Trial, timed_out: bool) -> None:
    """Mark a trial that exceeded its time limit as failed, unless it has already failed."""
    if not timed_out:
        return
    is_empty = trial.result is None or trial.result.completed == 0
    if trial.plan.left_s is not None and is_empty and trial.kind in (None, KILLED):
        trial.plan.too_long.add(trial.compiled.cell.id)
        taken = duration(time.monotonic() - trial.begun)
        causes = "a long statement, a lock, or a server that doesn't answer"
        trial.error = f"stopped after {taken} without a result ({causes}); `--budget` allows more time"
        trial.kind = "timeout"
    elif trial.error is None:
        trial.error, trial.kind = "the trial did not end in time and was stopped", "timeout"


def empty_trial_error(result: TrialResult | ProgramResult) -> tuple[str | None, str | None]:
    """Return why a trial without a successful transaction is not a measurement; empty if one succeeded."""
    if result.completed > 0:
        return None, None
    for kind, message in result.failures.items() if isinstance(result, TrialResult) else ():
        return f"no transaction succeeded: {message}", kind
    if result.ended_by == "interrupted":
        return None, None
    return "no transaction ended within the window: give it more time", "too_short"
