"""Carrying out a run: its blocks of trials in order, each stored as it ends."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from dbdyno.compile import CompiledCell
from dbdyno.design import Cell, block_order, block_seed
from dbdyno.diagnose import diagnose
from dbdyno.diagnose_server import diagnose_server
from dbdyno.engines import EXEC, SERVERS
from dbdyno.errors import DbdynoError, InputError
from dbdyno.results.rounds import Measure, build_round
from dbdyno.run.counting import count_instructions
from dbdyno.run.hosts import Hosts
from dbdyno.run.listening import Interrupted
from dbdyno.run.processes import Processes
from dbdyno.run.program import run_program
from dbdyno.run.rest import wait_for_rest
from dbdyno.stats import Stopping
from dbdyno.store import Store, TrialRecord, utc_now
from dbdyno.worker import Event, Worker, WorkerFailed

# A trial that has no time limit of its own is stopped after this long.
LONGEST_TRIAL_S = 3600.0

# Added to a trial's own time limit: opening, warming up, and one transaction that began just before the end.
_SLACK_S = 120.0


class Watcher(Protocol):
    """Is told how a run goes on."""

    def loading(self, _cell: Cell) -> None:
        """The tables of a cell are about to be made or copied."""

    def trial(self, block: int, position: int, cell: Cell) -> None:
        """A trial begins."""

    def interval(self, event: Event) -> None:
        """A second of a trial is over."""

    def trial_ended(self, record: TrialRecord, throughput: float | None) -> None:
        """A trial has ended and is stored; with its ``throughput`` if it is done."""


@dataclass
class Plan:
    """What a run is to do. ``done``: the throughput of the trials, by cell and block, that were measured already.

    ``rounds``: how many, or with a rule for ``stopping`` the most; ``rest``: wait for a quiet machine before each
    trial; ``instructions``: count those of each trial too.
    """

    run_id: str
    cells: list[CompiledCell]
    rounds: int
    seed: int
    done: dict[tuple[str, int], float | None] = field(default_factory=dict)
    stopping: Stopping | None = None
    rest: bool = False
    instructions: bool = False


def carry_out(plan: Plan, store: Store, hosts: Hosts, watcher: Watcher, interrupted: Interrupted) -> str | None:
    """Measure every cell of every block that is not done yet. Each trial is stored before the next begins.

    A trial that fails is stored with its cause, and the run goes on. Returns early when interrupted. Gives a sentence
    on why it ended when it did, where a rule decided that.
    """
    began = time.monotonic()
    compiled = {each.cell.id: each for each in plan.cells}
    cells = [each.cell for each in plan.cells]
    for block in range(plan.rounds):
        for position, cell in enumerate(block_order(cells, block, plan.seed)):
            if (cell.id, block) in plan.done:
                continue
            if interrupted:
                return None
            watcher.trial(block, position, cell)
            if plan.rest:
                wait_for_rest(interrupted)
            record = measure(compiled[cell.id], block, position, plan, hosts, watcher, interrupted)
            store.add_trial(plan.run_id, record)
            if record.status == "done":
                plan.done[cell.id, block] = throughput_of(record, compiled[cell.id])
            watcher.trial_ended(record, plan.done.get((cell.id, block)))
        ended = _ended(plan, block + 1, time.monotonic() - began)
        if ended:
            return ended
    return None


def _ended(plan: Plan, rounds: int, seconds: float) -> str | None:
    """Say why no further round is needed; None where one is. The last round of a fixed number says nothing."""
    rule = plan.stopping
    if rule is None:
        return None
    throughput: dict[str, dict[int, float]] = {each.cell.id: {} for each in plan.cells}
    for (cell, block), value in plan.done.items():
        if value:
            throughput[cell][block] = value
    target = f"±{rule.target * 100:.3g} %"
    if rule.enough(list(throughput.values())):
        return f"Stopped after {rounds} rounds: every interval asked for is within {target}."
    if rule.budget_s is not None and seconds >= rule.budget_s:
        return (
            f"Stopped after {rounds} rounds: the time budget of {rule.budget_s:g} s is spent, {target} is not reached."
        )
    if rounds >= rule.maximum:
        return f"Stopped after {rounds} rounds, the most allowed: {target} is not reached."
    return None


def throughput_of(record: TrialRecord, compiled: CompiledCell) -> float | None:
    """Return a trial's throughput in the unit of its experiment, as its result document will have it."""
    return build_round(record, Measure.of({"measure": compiled.definition.measure.model_dump()}))["throughput"]


def measure(
    compiled: CompiledCell,
    block: int,
    position: int,
    plan: Plan,
    hosts: Hosts,
    watcher: Watcher,
    interrupted: Interrupted,
) -> TrialRecord:
    """Carry out one trial and give its record, whatever comes of it."""
    started, begun = utc_now(), time.monotonic()
    durations: dict[str, Any] = {}
    request: Event = {}
    outcome = _Outcome()
    try:
        padding = _padding(plan.seed, block, compiled.cell)
        if compiled.cell.system.engine == EXEC:
            request = {"task": compiled.trial | {"command": compiled.command}}
            outcome = _Outcome(run_program(compiled.command, compiled.trial, padding, interrupted, LONGEST_TRIAL_S))
        else:
            host = hosts.of(compiled)
            watcher.loading(compiled.cell)
            with host.ready(compiled, block) as ready:
                durations |= ready.durations
                request = compiled.trial_plan(ready.target, block_seed(plan.seed, block))
                apart = compiled.definition.load.clients_as == "processes"
                outcome = _run(request, watcher.interval, interrupted, padding, apart)
                trouble = ready.trouble()
            if trouble is not None:
                outcome.error, outcome.kind = trouble, "server"
            if plan.instructions and outcome.result is not None and not interrupted:
                with host.ready(compiled, block):
                    outcome.result["counted"] = count_instructions(request, outcome.result, interrupted)
            if ready.loaded and outcome.result is not None:
                names = dict.fromkeys(table["name"] for table in compiled.tables)
                outcome.result["loaded"] = ready.loaded | {"names": list(names)}
    except InputError:
        # A mistake in what was asked for is told at once, and not once for each trial.
        raise
    except DbdynoError as error:
        outcome.error, outcome.kind = str(error), getattr(error, "kind", "system")
    result = outcome.result
    if result is not None and not outcome.error:
        outcome.error, outcome.kind = nothing_done(result)
    status: Any = "failed" if outcome.error else "done"
    if interrupted and (result is None or result.get("ended_by") == "interrupted"):
        status = "interrupted"
        outcome.error = outcome.error or "the run was interrupted in this trial"
    durations["total_s"] = time.monotonic() - begun
    return TrialRecord(
        cell=compiled.cell.id,
        block=block,
        position=position,
        status=status,
        plan=request,
        result=result,
        intervals=outcome.intervals,
        error=outcome.error,
        error_kind=outcome.kind,
        diagnosis=_limit(result, compiled) if result and status == "done" else None,
        started=started,
        durations=durations,
    )


def _limit(result: Event, compiled: CompiledCell) -> dict[str, str] | None:
    judge = diagnose_server if compiled.cell.system.engine in SERVERS else diagnose
    return judge(result, compiled.definition.load.clients)


@dataclass
class _Outcome:
    result: Event | None = None
    intervals: list[Event] = field(default_factory=list)
    error: str | None = None
    kind: str | None = None


def _padding(seed: int, block: int, cell: Cell) -> int:
    """Draw the bytes by which a worker's environment is made longer, up to 4 KiB.

    The size of the environment moves the stack, and with it the speed of a program, by percents (Mytkowicz et al. 2009,
    "Producing wrong data without doing anything obviously wrong!", doi:10.1145/1508284.1508275). Kept the same it would
    be part of every result; drawn for each trial it is part of the noise, which the interval knows.
    """
    draw = hashlib.sha256(f"{seed}/{block}/{cell.id}/environment".encode()).digest()
    return int.from_bytes(draw[:2], "big") % 4096


def _run(
    request: Event, each_interval: Callable[[Event], None], interrupted: Interrupted, padding: int, apart: bool
) -> _Outcome:
    outcome = _Outcome()
    window = request["task"]["window"].get("seconds")
    warmup = request["task"]["warmup"].get("seconds") or 0
    longest = LONGEST_TRIAL_S if window is None else window + warmup + _SLACK_S
    worker = Processes(request, longest, padding) if apart else Worker(request, longest, padding)
    try:
        with interrupted.passing_on_to(worker):
            for event in worker:
                if event["event"] == "interval":
                    outcome.intervals.append(event)
                    each_interval(event)
                elif event["event"] == "result":
                    outcome.result = event
    except WorkerFailed as error:
        outcome.error, outcome.kind = str(error), error.kind
    if worker.timed_out and outcome.error is None:
        outcome.error, outcome.kind = "the trial did not end in time and was stopped", "timeout"
    return outcome


def nothing_done(result: Event) -> tuple[str | None, str | None]:
    """Say why a trial in which no transaction succeeded is no measurement; nothing where one did."""
    books = result["books"]
    if books["ok"] > 0:
        return None, None
    failures = result.get("failures") or {}
    for kind, message in failures.items():
        return f"no transaction succeeded: {message}", kind
    if result.get("ended_by") == "interrupted":
        return None, None
    return "no transaction ended within the window: give it more time", "too_short"
