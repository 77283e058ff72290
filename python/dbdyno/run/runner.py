"""Carry out a run: its rounds in order. Each trial is stored when it ends."""

import time
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import ceil
from typing import Any, Self

from dbdyno.analysis.document.build import gate_settled, target_intervals
from dbdyno.analysis.measured.derived import derived
from dbdyno.analysis.measured.rounds import Measure, build_round
from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.engines import engine_of
from dbdyno.experiment.design import block_order, block_seed
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import Cell, CompiledCell
from dbdyno.model.plan.tasks import Interleaving, program_task
from dbdyno.model.plan.worker_plan import TrialPlan
from dbdyno.model.result.reading import number, part
from dbdyno.run.applied_change import apply_change
from dbdyno.run.coordinated_workers import CoordinatedWorkers
from dbdyno.run.data_inspection import inspect_data, violated_checks
from dbdyno.run.growth import grow
from dbdyno.run.idle import wait_until_idle
from dbdyno.run.instruction_counts import count_instructions
from dbdyno.run.listen_queues import new_drops, read_queues
from dbdyno.run.memory_limit import Limiting
from dbdyno.run.pace import Pace
from dbdyno.run.program import run_program
from dbdyno.run.provisioners import Provisioners, Ready
from dbdyno.run.start_failures import StartFailures
from dbdyno.run.tiers import with_tiers
from dbdyno.run.trial import (
    MAX_TRIAL_S,
    Plan,
    Trial,
    Watcher,
    longest_s,
    record_event,
    record_surroundings,
    record_system_state,
    run_trial,
    time_out,
)
from dbdyno.run.worker_places import Here
from dbdyno.runtime.cluster.machine import LOST
from dbdyno.runtime.worker import WorkerFailed
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.runtime.workspace.processors import bound_to
from dbdyno.stats import Stopping
from dbdyno.store import RunRecord, Store, TrialRecord

# Maximum number of tries of a trial that loses a load machine.
_TRIES = 3

# Minimum seconds that interleaved trials wait for a trial with a longer warm-up. It is then measured alone.
_PATIENCE_S = 5.0

# Seconds of the first warm-up on a server that was just started. It fills the server's caches, as earlier trials do
# for later ones.
FRESH_WARMUP_S = 0.5


def carry_out(
    plan: Plan, store: Store, provisioners: Provisioners, watcher: Watcher, interrupted: Interruption
) -> dict[str, Any] | None:
    """Measure the missing cells of every round. Each trial is stored before the next one starts.

    A failed trial is stored with its error, and the run continues. Returns early if it is interrupted. If a rule ended
    the run, the observation that describes it is returned.
    """
    pace = Pace(plan.stopping, len(plan.cells), plan.began)
    compiled = {cell.cell.id: cell for cell in plan.cells}
    start_failures = StartFailures(plan.cells)
    for trial in plan.done.values():
        if trial.cell in compiled:
            start_failures.observe(trial)
    # The last round that a resumed run already has. Rounds up to this one are completed before a rule can end the run.
    known = max((block for _, block in plan.done), default=plan.first)
    # A growing table passes through its sizes once for several rounds: one round per window at a size.
    at_once = plan.growth.windows if plan.growth is not None else 1
    for block in range(plan.first, plan.first + plan.rounds, at_once):
        plan.longest_window_s = pace.begin_round(block - plan.first)
        windows_s = load_s = 0.0
        if plan.growth is not None:
            records = grow(plan.growth, block, plan, provisioners, watcher, interrupted=interrupted)
        else:
            records = _block(block, plan, compiled, provisioners=provisioners, watcher=watcher, interrupted=interrupted)
        for record in records:
            store.add_trial(plan.run_id, record)
            windows_s += _window_s(record)
            load_s += _loaded_once_s(record)
            if record.status == "done":
                # The intervals are in the store.
                bare = _without_intervals(record.parts)
                plan.done[record.cell, record.block] = replace(record, intervals=[], parts=bare)
            start_failures.observe(record)
            watcher.trial_ended(record, _throughput(record, compiled[record.cell]))
        if interrupted:
            return None
        blocks = block + at_once
        pace.end_round(windows_s, load_s)
        ended = _ended(plan, store, blocks - plan.first, pace) if blocks > known else None
        if ended:
            return ended
    return None


def _block(
    block: int,
    plan: Plan,
    compiled: dict[str, CompiledCell],
    *,
    provisioners: Provisioners,
    watcher: Watcher,
    interrupted: Interruption,
) -> Iterator[TrialRecord]:
    """Measure the missing trials of a round, and return their records."""
    todo = [
        (position, cell)
        for position, cell in enumerate(
            block_order([compiled_cell.cell for compiled_cell in plan.cells], block, plan.seed)
        )
        if (cell.id, block) not in plan.done
    ]
    if plan.keeps:
        yield from _on_kept_systems(
            todo, block, plan, compiled, provisioners=provisioners, watcher=watcher, interrupted=interrupted
        )
        return
    for group in _groups(todo, plan):
        if interrupted:
            return
        watcher.trials(block, [cell for _, cell in group])
        if plan.wait_idle:
            wait_until_idle(interrupted)
        lost: list[str] = []
        for _ in range(_TRIES):
            trials = [Trial(compiled[cell.id], block, position, plan, lost=lost) for position, cell in group]
            yield from measure(trials, provisioners, watcher, interrupted)
            # The load machines failed, not the system: repeat the trial with the same number of machines.
            again = [trial.error or "" for trial in trials if trial.kind == LOST]
            if not again or interrupted:
                break
            lost = [*lost, *again]


def _groups(todo: Sequence[tuple[int, Cell]], plan: Plan) -> list[list[tuple[int, Cell]]]:
    """Divide the trials of a round into groups. The trials of a group are interleaved."""
    todo = [each for each in todo if each[1].id not in plan.too_long]
    together = [] if plan.slice_s is None else [each for each in todo if each[1].id not in plan.alone]
    return [*([together] if together else []), *([each] for each in todo if each not in together)]


def _on_kept_systems(
    todo: Sequence[tuple[int, Cell]],
    block: int,
    plan: Plan,
    compiled: dict[str, CompiledCell],
    *,
    provisioners: Provisioners,
    watcher: Watcher,
    interrupted: Interruption,
) -> Iterator[TrialRecord]:
    """Measure the trials of a round. Trials that need the same system share it, in their order."""
    groups: dict[Hashable, list[tuple[int, Cell]]] = {}
    for position, cell in todo:
        groups.setdefault(_asks_of_system(compiled[cell.id]), []).append((position, cell))
    for group in groups.values():
        if interrupted:
            return
        steps = {cell.id: compiled[cell.id].task.counter_step for _, cell in group}
        least = min(steps.values())
        with KeptSystem(provisioners, watcher, interrupted) as kept:
            for position, cell in group:
                if interrupted:
                    return
                watcher.trials(block, [cell])
                # A change may use several counter values per transaction.
                values = ceil(steps[cell.id] / least)
                yield kept.measure(Trial(compiled[cell.id], block, position, plan), values)


class KeptSystem:
    """A system that several trials use in order, with the data as earlier trials left them."""

    def __init__(self, provisioners: Provisioners, watcher: Watcher, interrupted: Interruption) -> None:
        self._provisioners = provisioners
        self._watcher = watcher
        self._interrupted = interrupted
        self._stack = ExitStack()
        self._system: Ready | None = None
        self._used = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def measure(self, trial: Trial, values: int = 1) -> TrialRecord:
        """Carry out a trial and return its record. ``values``: counter values per transaction.

        The system is started for the first trial, and again after a trial in which the server ended.
        """
        if self._system is None:
            self._system = _prepare_system(trial, self._stack, self._provisioners, self._watcher)
            trial.request = _warmed(trial)
        else:
            _set_request(trial, self._system, ceil(self._used / values))
        if self._system is not None and trial.error is None:
            used = _measure_on(trial, self._system, self._watcher, self._interrupted)
            self._used = max(self._used, values * used)
        record = trial.record(self._interrupted)
        if trial.kind == "server":
            self._system, self._used = None, 0
        if self._system is None:
            self._stack.close()
        return record


def _warmed(trial: Trial) -> TrialPlan | None:
    """Return the plan of a server's first trial, with a warm-up that fills the server's caches."""
    request = trial.request
    if request is None or not engine_of(trial.compiled.cell.system.engine).is_server:
        return request
    warmup = replace(request.task.warmup, seconds=max(request.task.warmup.seconds, FRESH_WARMUP_S))
    return request.with_task(replace(request.task, warmup=warmup))


def _asks_of_system(compiled: CompiledCell) -> Hashable:
    """Return a cell's requirements for its system: settings, CPUs, whether writes are flushed, and added statements."""
    changed = compiled.task.changes
    skips = changed is not None and changed.sync is not None and changed.sync.skip
    processors = () if compiled.change is None else compiled.change.processors
    return (*compiled.settings.shown(), processors, skips, compiled.added)


def _set_request(trial: Trial, system: Ready, used: int) -> None:
    """Plan a trial on a system that had earlier trials. ``used``: counter values that they used."""
    compiled = trial.compiled
    seed = block_seed(trial.plan.seed, trial.block)
    try:
        request = compiled.plan(system.target, seed, used, analyzed=trial.analyzed)
        request = with_tiers(system.watched(request), compiled)
        trial.request = _within_budget(request, trial.plan.longest_window_s)
    except DbdynoError as error:
        trial.failed(error)


def _within_budget(request: TrialPlan, longest_s: float | None) -> TrialPlan:
    """Lower the time limit of a window that ends by an amount of work. A length in seconds stays unchanged."""
    window = request.task.window
    if longest_s is None or not window.ends_by_amount or (window.seconds is not None and window.seconds <= longest_s):
        return request
    return request.with_task(replace(request.task, window=replace(window, seconds=round(longest_s, 3))))


def _window_s(record: TrialRecord) -> float:
    results = [record.result, *record.parts]
    return max(
        (number(part(result, "result") or result, "elapsed_s") or 0.0 for result in results if result), default=0.0
    )


def _loaded_once_s(record: TrialRecord) -> float:
    """Return the seconds of loading that later rounds don't repeat. Without copies, every trial loads."""
    return number(record.durations, "load_s") or 0.0 if "copy_s" in record.durations else 0.0


def _measure_on(trial: Trial, system: Ready, watcher: Watcher, interrupted: Interruption) -> int:
    """Carry out a trial on a prepared system; return the number of counter values used so far."""
    try:
        _run_alone(trial, system, watcher, interrupted)
    except InputError:
        raise
    except DbdynoError as error:
        trial.failed(error)
    record_surroundings(trial, system)
    return trial.result.next_use if isinstance(trial.result, TrialResult) else 0


def _ended(plan: Plan, store: Store, rounds: int, pace: Pace) -> dict[str, Any] | None:
    """Return the observation of the rule that ends the run; None to continue, or after a fixed number of rounds."""
    rule = plan.stopping
    if rule is None:
        return None
    why = None
    if rule.looks_after(rounds) and _precise(rule, store.run(plan.run_id), plan.done.values()):
        why = "precise"
    elif pace.spent(rounds):
        why = "budget"
    elif rounds >= rule.maximum:
        why = "most"
    return None if why is None else {"kind": "ended", "rounds": rounds, "why": why}


def _precise(rule: Stopping, run: RunRecord, trials: Collection[TrialRecord]) -> bool:
    if rule.margin is not None:
        return gate_settled(run, trials, rule.margin, rule.metric)
    return rule.enough(target_intervals(run, trials))


def _throughput(record: TrialRecord, compiled: CompiledCell) -> float | None:
    """Return a trial's throughput in the unit of its experiment, as in the result document."""
    if record.status != "done":
        return None
    (trial,) = derived([record])
    return build_round(trial, Measure.of({"measure": compiled.definition.measure.model_dump()})).throughput


def _without_intervals(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each | {"intervals": []} for each in parts]


def measure(
    trials: Sequence[Trial], provisioners: Provisioners, watcher: Watcher, interrupted: Interruption
) -> Iterator[TrialRecord]:
    """Carry out a trial, or several interleaved ones, and return their records, even if they failed."""
    if engine_of(trials[0].compiled.cell.system.engine).runs_programs:
        for trial in trials:
            _measure_program(trial, interrupted)
    else:
        _measure(trials, provisioners, watcher, interrupted)
    for trial in trials:
        yield trial.record(interrupted)


def _measure_program(trial: Trial, interrupted: Interruption) -> None:
    compiled = trial.compiled
    trial.program = program_task(compiled.task, compiled.command)
    try:
        folder = compiled.cell.system.folder
        trial.result = run_program(
            compiled.command,
            compiled.task,
            padding=trial.padding,
            interrupted=interrupted,
            longest_s=MAX_TRIAL_S,
            folder=folder,
        )
        trial.raw_result = trial.result.model_dump(mode="json")
    except DbdynoError as error:
        trial.failed(error)


def _measure(trials: Sequence[Trial], provisioners: Provisioners, watcher: Watcher, interrupted: Interruption) -> None:
    ready: list[tuple[Trial, Ready]] = []
    try:
        with ExitStack() as stack:
            for trial in trials:
                system = _prepare_system(trial, stack, provisioners, watcher)
                if system is not None:
                    ready.append((trial, system))
            plan = trials[0].plan
            is_alone = plan.slice_s is None or trials[0].compiled.cell.id in plan.alone
            if ready and is_alone and not interrupted:
                _run_alone(*ready[0], watcher, interrupted)
            elif ready and plan.slice_s is not None and not is_alone:
                _run_group(ready, plan.slice_s, watcher, interrupted)
    except InputError:
        # An error of the user is reported at once, not per trial.
        raise
    except DbdynoError as error:
        for trial, _ in ready:
            trial.failed(error)
    for trial, system in ready:
        record_surroundings(trial, system)
        if trial.plan.instructions and not interrupted:
            _count(trial, provisioners, interrupted)


def _run_group(
    ready: Sequence[tuple[Trial, Ready]], slice_s: float, watcher: Watcher, interrupted: Interruption
) -> None:
    """Measure trials in slices, and then each trial alone whose transactions take too long for that."""
    late = _run_interleaved([trial for trial, _ in ready], slice_s, watcher, interrupted)
    for index, (trial, system) in enumerate(ready):
        if index not in late and record_system_state(trial, system) and not interrupted:
            _check_data(trial, system, interrupted)
    for index in late:
        if not interrupted:
            trial, system = ready[index]
            # It waited for its group.
            trial.begun = time.monotonic()
            _run_alone(trial, system, watcher, interrupted)


def _run_alone(trial: Trial, system: Ready, watcher: Watcher, interrupted: Interruption) -> None:
    with Limiting(trial.compiled, system.target) as limiting:
        limiting.begin()
        trial.limiting = limiting
        before = read_queues()
        with apply_change(trial, system):
            run_trial(trial, watcher, interrupted)
        listeners = new_drops(before, trial.task)
        if listeners is not None:
            trial.around["listeners"] = listeners.model_dump(mode="json")
        limiting.end()
        if record_system_state(trial, system) and not interrupted:
            _check_data(trial, system, interrupted)
            trial.around |= inspect_data(trial.compiled, system.target, interrupted, limiting)


def _check_data(trial: Trial, system: Ready, interrupted: Interruption) -> None:
    """Fail a trial whose data violate a condition of the experiment."""
    violation = violated_checks(trial.compiled, system.target, interrupted)
    if violation is not None:
        trial.error, trial.kind = violation, "check"


def _count(trial: Trial, provisioners: Provisioners, interrupted: Interruption) -> None:
    """Count a trial's instructions, on data as fresh as the timed trial's."""
    if not isinstance(trial.result, TrialResult):
        return
    compiled = trial.compiled
    try:
        with provisioners.of(compiled).ready(compiled, trial.block):
            counted = count_instructions(trial.ready_request, trial.result, interrupted)
        trial.around["counted"] = counted.model_dump(mode="json")
    except DbdynoError as error:
        trial.failed(error)


def _prepare_system(trial: Trial, stack: ExitStack, provisioners: Provisioners, watcher: Watcher) -> Ready | None:
    """Prepare a trial's system until the stack is closed. On failure, the trial has the error, and None is returned."""
    compiled = trial.compiled
    watcher.loading(compiled.cell)
    try:
        system = stack.enter_context(provisioners.of(compiled).ready(compiled, trial.block))
    except DbdynoError as error:
        trial.failed(error)
        return None
    trial.durations |= system.durations
    _set_request(trial, system, 0)
    return None if trial.error is not None else system


def _run_interleaved(trials: Sequence[Trial], slice_s: float, watcher: Watcher, interrupted: Interruption) -> list[int]:
    """Measure trials in slices. Return the numbers of trials with transactions too long for that, unmeasured."""
    # Each round starts on a different CPU.
    cpu = trials[0].block
    for index, trial in enumerate(trials):
        own = Interleaving(length_ms=slice_s * 1e3, of=len(trials), cpu=cpu, index=index)
        # The start of the first trial identifies the group.
        trial.around["together"] = trials[0].started
        trial.request = trial.ready_request.with_task(replace(trial.task, interleaving=own))
    plan = trials[0].plan
    patience_s = max(sum(trial.task.window.seconds or 0.0 for trial in trials), _PATIENCE_S)
    longest = max(longest_s(trial.task, plan.left_s, len(trials)) for trial in trials) + patience_s
    place = Here(lambda number: bound_to(trials[number].load))
    paddings = [trial.padding for trial in trials]
    requests = [trial.ready_request for trial in trials]
    workers = CoordinatedWorkers(requests, longest, paddings, place, patience_s)
    with interrupted.forward_to(workers):
        for number, received in workers:
            if number is None:
                continue
            if isinstance(received, WorkerFailed):
                trials[number].failed(received)
            else:
                record_event(trials[number], received, watcher)
    for number, trial in enumerate(trials):
        if number in workers.late:
            plan.alone.add(trial.compiled.cell.id)
            trial.request = trial.ready_request.with_task(replace(trial.task, interleaving=None))
            del trial.around["together"]
        else:
            time_out(trial, workers.timed_out(number))
    return sorted(workers.late)
