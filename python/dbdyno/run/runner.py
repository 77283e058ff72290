"""Carrying out a run: its blocks of trials in order, each stored as it ends."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from dbdyno.design import block_order, block_seed
from dbdyno.engines import engine_of
from dbdyno.errors import DbdynoError, InputError
from dbdyno.events.program import ProgramResult
from dbdyno.events.reading import Heard
from dbdyno.events.trial import Interval, TrialResult
from dbdyno.moments import utc_now
from dbdyno.plan.cell import Cell, CompiledCell
from dbdyno.results.derived import derived
from dbdyno.results.rounds import Measure, build_round
from dbdyno.run.coordinated import CoordinatedWorkers
from dbdyno.run.counting import count_instructions
from dbdyno.run.idle import wait_until_idle
from dbdyno.run.machine import in_memory
from dbdyno.run.processes import Processes
from dbdyno.run.program import run_program
from dbdyno.run.provisioners import Provisioners, Ready
from dbdyno.stats import Stopping
from dbdyno.store import Store, TrialRecord
from dbdyno.stored.build import asked_intervals
from dbdyno.worker import JsonObject, Worker, WorkerFailed
from dbdyno.workplace.listening import Interrupted

# A trial that has no time limit of its own is stopped after this long.
LONGEST_TRIAL_S = 3600.0

# Added to a trial's own time limit: opening, warming up, and one transaction that began just before the end.
_SLACK_S = 120.0


class Watcher(Protocol):
    """Is told how a run goes on."""

    def loading(self, _cell: Cell) -> None:
        """The tables of a cell are about to be made or copied."""

    def trials(self, block: int, cells: Sequence[Cell]) -> None:
        """A trial begins, or several that are interleaved."""

    def interval(self, cell: Cell, event: Interval) -> None:
        """A second of a trial is over."""

    def trial_ended(self, record: TrialRecord, throughput: float | None) -> None:
        """A trial has ended and is stored; with its ``throughput`` if it is done."""


@dataclass
class Plan:
    """What a run is to do. ``done``: the trials, by cell and block, that were measured already.

    ``rounds``: how many, or with a rule for ``stopping`` the most; ``wait_idle``: wait for a quiet machine before each
    trial; ``instructions``: count those of each trial too; ``slice_s``: the trials of a block are interleaved in
    slices of so many seconds, in place of running one after another.
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


def carry_out(
    plan: Plan, store: Store, provisioners: Provisioners, watcher: Watcher, interrupted: Interrupted
) -> dict[str, Any] | None:
    """Measure every cell of every block that is not done yet. Each trial is stored before the next begins.

    A trial that fails is stored with its cause, and the run goes on. Returns early when interrupted. Gives what
    is observed of why it ended when it did, where a rule decided that.
    """
    began = time.monotonic()
    compiled = {each.cell.id: each for each in plan.cells}
    cells = [each.cell for each in plan.cells]
    # The last block that a run which goes on has already: what is missing before it is measured, and then it may end.
    known = max((block for _, block in plan.done), default=0)
    for block in range(plan.rounds):
        todo = [
            (position, cell)
            for position, cell in enumerate(block_order(cells, block, plan.seed))
            if (cell.id, block) not in plan.done
        ]
        # Those of a group are interleaved; without slices each trial is a group of its own.
        for group in [todo] if plan.slice_s is not None and todo else [[each] for each in todo]:
            if interrupted:
                return None
            watcher.trials(block, [cell for _, cell in group])
            if plan.wait_idle:
                wait_until_idle(interrupted)
            trials = [Trial(compiled[cell.id], block, position, plan) for position, cell in group]
            for record in measure(trials, provisioners, watcher, interrupted):
                store.add_trial(plan.run_id, record)
                if record.status == "done":
                    # What is drawn is in the store.
                    bare = _without_intervals(record.parts)
                    plan.done[record.cell, block] = replace(record, intervals=[], parts=bare)
                watcher.trial_ended(record, _throughput(record, compiled[record.cell]))
        ended = _ended(plan, store, block + 1, time.monotonic() - began) if block >= known else None
        if ended:
            return ended
    return None


def _ended(plan: Plan, store: Store, rounds: int, seconds: float) -> dict[str, Any] | None:
    """Give why no further round is needed; None where one is. The last round of a fixed number says nothing."""
    rule = plan.stopping
    if rule is None:
        return None
    why = None
    if rounds >= rule.minimum and rule.enough(asked_intervals(store.run(plan.run_id), plan.done.values())):
        why = "precise"
    elif rule.budget_s is not None and seconds >= rule.budget_s:
        why = "budget"
    elif rounds >= rule.maximum:
        why = "most"
    return None if why is None else {"kind": "ended", "rounds": rounds, "why": why}


def _throughput(record: TrialRecord, compiled: CompiledCell) -> float | None:
    """Return a trial's throughput in the unit of its experiment, as its result document will have it."""
    if record.status != "done":
        return None
    (trial,) = derived([record])
    return build_round(trial, Measure.of({"measure": compiled.definition.measure.model_dump()}))["throughput"]


def _without_intervals(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each | {"intervals": []} for each in parts]


@dataclass
class Trial:
    """A cell in a block: what it is, and what comes of it."""

    compiled: CompiledCell
    block: int
    position: int
    plan: Plan
    request: JsonObject = field(default_factory=dict)
    durations: dict[str, Any] = field(default_factory=dict)
    result: TrialResult | ProgramResult | None = None
    said: JsonObject | None = None
    """The result as it is stored: the worker's own words."""
    intervals: list[JsonObject] = field(default_factory=list)
    parts: list[JsonObject] = field(default_factory=list)
    around: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    started: str = field(default_factory=utc_now)
    begun: float = field(default_factory=time.monotonic)

    @property
    def padding(self) -> int:
        """Bytes by which the environment of its process is made longer."""
        return _padding(self.plan.seed, self.block, self.compiled.cell)

    @property
    def lost_system(self) -> bool:
        """Whether what came of it may be for want of its system."""
        return self.error is not None or (isinstance(self.result, TrialResult) and "connection" in self.result.failures)

    def failed(self, error: DbdynoError) -> None:
        """Keep why it came to nothing. Raises InputError again."""
        if isinstance(error, InputError):
            raise error
        self.error, self.kind = str(error), getattr(error, "kind", "system")

    def record(self, interrupted: Interrupted) -> TrialRecord:
        """Give what is stored of it."""
        result = self.result
        if result is not None and not self.error:
            self.error, self.kind = nothing_done(result)
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
            plan=self.request,
            # Each worker's own words are kept; the one result of several is for the run alone.
            result=None if self.parts else self.said,
            intervals=[] if self.parts else self.intervals,
            parts=self.parts,
            around=self.around,
            error=self.error,
            error_kind=self.kind,
            started=self.started,
            durations=self.durations,
        )


def measure(
    trials: Sequence[Trial], provisioners: Provisioners, watcher: Watcher, interrupted: Interrupted
) -> Iterator[TrialRecord]:
    """Carry out a trial, or several that are interleaved, and give their records, whatever comes of them."""
    if engine_of(trials[0].compiled.cell.system.engine).runs_programs:
        for trial in trials:
            _measure_program(trial, interrupted)
    else:
        _measure(trials, provisioners, watcher, interrupted)
    for trial in trials:
        yield trial.record(interrupted)


def _measure_program(trial: Trial, interrupted: Interrupted) -> None:
    compiled = trial.compiled
    trial.request = {"task": compiled.trial | {"command": compiled.command}}
    try:
        folder = compiled.cell.system.folder
        trial.result = run_program(
            compiled.command, compiled.trial, trial.padding, interrupted, LONGEST_TRIAL_S, folder
        )
        trial.said = trial.result.model_dump(mode="json")
    except DbdynoError as error:
        trial.failed(error)


def _measure(trials: Sequence[Trial], provisioners: Provisioners, watcher: Watcher, interrupted: Interrupted) -> None:
    ready: list[tuple[Trial, Ready]] = []
    try:
        with ExitStack() as stack:
            for trial in trials:
                system = _made_ready(trial, stack, provisioners, watcher)
                if system is not None:
                    ready.append((trial, system))
            slice_s = trials[0].plan.slice_s
            if ready and slice_s is None:
                _run(ready[0][0], watcher, interrupted)
            elif ready and slice_s is not None:
                _run_interleaved([trial for trial, _ in ready], slice_s, watcher, interrupted)
            for trial, system in ready:
                trouble = system.trouble(trial.lost_system)
                if trouble is not None:
                    trial.error, trial.kind = trouble, "server"
                if isinstance(trial.result, TrialResult):
                    system.check(trial.result)
    except InputError:
        # An error in what was asked for is told at once, and not once for each trial.
        raise
    except DbdynoError as error:
        for trial, _ in ready:
            trial.failed(error)
    for trial, system in ready:
        _look_around(trial, system, provisioners, interrupted)


def _made_ready(trial: Trial, stack: ExitStack, provisioners: Provisioners, watcher: Watcher) -> Ready | None:
    """Have a trial's system ready as long as the stack is; None where that failed, as the trial then says."""
    compiled = trial.compiled
    watcher.loading(compiled.cell)
    try:
        system = stack.enter_context(provisioners.of(compiled).ready(compiled, trial.block))
    except DbdynoError as error:
        trial.failed(error)
        return None
    trial.durations |= system.durations
    trial.request = compiled.trial_plan(system.target, block_seed(trial.plan.seed, trial.block))
    return system


def _look_around(trial: Trial, system: Ready, provisioners: Provisioners, interrupted: Interrupted) -> None:
    """Count a trial's instructions, where that is asked for, and keep where its data were and how they got there."""
    if not isinstance(trial.result, TrialResult):
        return
    compiled = trial.compiled
    place = system.target.get("path") or system.target.get("process", {}).get("data")
    kind = in_memory(Path(place).resolve()) if place else None
    if kind:
        trial.around["in_memory"] = kind
    if trial.plan.instructions and not interrupted:
        try:
            with provisioners.of(compiled).ready(compiled, trial.block):
                counted = count_instructions(trial.request, trial.result, interrupted)
            trial.around["counted"] = counted.model_dump(mode="json")
        except DbdynoError as error:
            trial.failed(error)
    if system.loaded:
        names = dict.fromkeys(table["name"] for table in compiled.tables)
        trial.around["loaded"] = system.loaded | {"names": list(names)}


def _padding(seed: int, block: int, cell: Cell) -> int:
    """Draw the bytes by which a worker's environment is made longer, up to 4 KiB.

    The size of the environment moves the stack, and with it the speed of a program, by percents (Mytkowicz et al. 2009,
    "Producing wrong data without doing anything obviously wrong!", doi:10.1145/1508284.1508275). Kept the same it would
    be part of every result; drawn for each trial it is part of the noise, which the interval knows.
    """
    draw = hashlib.sha256(f"{seed}/{block}/{cell.id}/environment".encode()).digest()
    return int.from_bytes(draw[:2], "big") % 4096


def _longest(request: JsonObject, of: int = 1) -> float:
    """Return the seconds after which a trial that takes one of ``of`` slices is stopped."""
    window = request["task"]["window"].get("seconds")
    warmup = request["task"]["warmup"].get("seconds") or 0
    return LONGEST_TRIAL_S if window is None else float(window * of + warmup + _SLACK_S)


def _run(trial: Trial, watcher: Watcher, interrupted: Interrupted) -> None:
    request, longest = trial.request, _longest(trial.request)
    apart = trial.compiled.definition.load.clients_as == "processes"
    processes = Processes(request, longest, trial.padding) if apart else None
    worker = processes or Worker(request, longest, trial.padding)
    try:
        with interrupted.passing_on_to(worker):
            for heard in worker:
                _hear(trial, heard, watcher)
    except WorkerFailed as error:
        trial.failed(error)
    if processes is not None and trial.result is not None:
        trial.parts = processes.said
    _time_out(trial, worker.timed_out)


def _run_interleaved(trials: Sequence[Trial], slice_s: float, watcher: Watcher, interrupted: Interrupted) -> None:
    # Each block begins on another processor.
    cpu = trials[0].block
    common = {"length_ms": slice_s * 1e3, "of": len(trials), "cpu": cpu}
    for index, trial in enumerate(trials):
        own = {**common, "index": index}
        # When the first of them began tells them from those of another time.
        trial.around["together"] = trials[0].started
        trial.request = trial.request | {"task": trial.request["task"] | {"interleaving": own}}
    longest = max(_longest(trial.request, len(trials)) for trial in trials)
    workers = CoordinatedWorkers([trial.request for trial in trials], longest, [trial.padding for trial in trials])
    with interrupted.passing_on_to(workers):
        for number, heard in workers:
            if number is None:
                continue
            if isinstance(heard, WorkerFailed):
                trials[number].failed(heard)
            else:
                _hear(trials[number], heard, watcher)
    for number, trial in enumerate(trials):
        _time_out(trial, workers.timed_out(number))


def _hear(trial: Trial, heard: Heard, watcher: Watcher) -> None:
    match heard.event:
        case Interval() as interval:
            trial.intervals.append(heard.said)
            watcher.interval(trial.compiled.cell, interval)
        case TrialResult() as result:
            trial.result, trial.said = result, heard.said


def _time_out(trial: Trial, timed_out: bool) -> None:
    if timed_out and trial.error is None:
        trial.error, trial.kind = "the trial did not end in time and was stopped", "timeout"


def nothing_done(result: TrialResult | ProgramResult) -> tuple[str | None, str | None]:
    """Say why a trial in which no transaction succeeded is no measurement; nothing where one did."""
    if result.completed > 0:
        return None, None
    for kind, message in result.failures.items() if isinstance(result, TrialResult) else ():
        return f"no transaction succeeded: {message}", kind
    if result.ended_by == "interrupted":
        return None, None
    return "no transaction ended within the window: give it more time", "too_short"
