"""Prepare a `dbdyno why`: select one cell, measure it briefly, and plan its changes from the result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.why.cells import Why, base_cell
from dbdyno.analysis.why.changes import CandidateChanges, UntestedResource, changes_of
from dbdyno.analysis.why.fixes import MAX_FIXES
from dbdyno.analysis.why.pilot import Assumed, Pilot, read_pilot
from dbdyno.analysis.why.round_trip import round_trip_us
from dbdyno.base.errors import InputError, RunInterrupted, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.engines.server.local import runs_here
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile import refusal
from dbdyno.experiment.design import Chosen, make_cells
from dbdyno.model.cell_choice import choose_cell
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.change import Resource
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.run_options import RunOptions
from dbdyno.run.machine import ceiling, probe_seconds
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.request import check_capacity
from dbdyno.run.runner import FRESH_WARMUP_S, measure
from dbdyno.run.statement_checks import check_each_statement
from dbdyno.run.trial import Plan, Trial, Watcher

# Seconds of the pilot, of a pilot with few arrivals, and of its warm-up.
_PILOT_S, _MAX_PILOT_S, _PILOT_WARMUP_S = 1.0, 5.0, 0.2

# Limits of a window in seconds, and the rounds that have to fit into the budget.
_MIN_WINDOW_S, _MAX_WINDOW_S, _ROUNDS = 0.2, 2.0, 5
# Transactions per client that a window should have, if that keeps it short enough.
_FEW = 20
# Open loops: arrivals that a window should have for its 99th percentile, and its least length in seconds. In a shorter
# window, more than 1% of the arrivals are still waiting at its end.
_ARRIVALS, _MIN_OPEN_S = 200, 1.0
_WARMUP = 0.15
# Seconds of a trial outside its window, with a prepared system.
_WORKER_S = 0.4


@dataclass(frozen=True)
class Picked:
    """The selected cell, and a note if others were possible."""

    cell: ResolvedCell
    note: str


def pick(experiment: Experiment, chosen: Chosen, systems: Sequence[SystemSpec], wanted: str | None) -> Picked:
    """Select the wanted cell, or the last cell of the first system, usually the cell with the highest load.

    Raises InputError.
    """
    cells = make_cells(experiment, chosen, systems, refusal).cells
    if wanted is not None:
        return Picked(choose_cell(wanted, cells), "")
    candidates = [cell for cell in cells if cell.system.name == cells[0].system.name]
    taken = candidates[-1]
    if len(cells) == 1:
        return Picked(taken, "")
    return Picked(taken, f"{len(cells)} cells match; this measures {taken.id} (--cell or --set chooses another)")


def plan_why(
    experiment: Experiment, picked: Picked, options: RunOptions, seed: int, planted: Mapping[str, Any] | None = None
) -> Why:
    """Measure a cell briefly, and plan its changes from the result. Raises DbdynoError.

    ``planted``: delays of all cells in microseconds per kind of call, and the remaining ``processors``.
    """
    budget_s = math.inf if options.budget_s is None else options.budget_s
    cell = picked.cell
    engine = engine_of(cell.system.engine)
    _check(experiment, cell)
    planted = dict(planted or {})
    counted = engine.counted_calls(managed=engine.is_server and cell.system.host is None)
    arrival = cell.definition.load.arrival
    pilot_s = _PILOT_S if arrival is None else min(max(_PILOT_S, _FEW / arrival.rate), _MAX_PILOT_S)
    base = base_cell(experiment, cell, window_s=pilot_s, warmup_s=_PILOT_WARMUP_S, counted=counted, planted=planted)
    check_capacity(base)
    with (
        Provisioners(options.directory, options.allow_writes) as provisioners,
        provisioners.interrupted.handle_signals(),
    ):
        provisioners.of(base).check(base)
        check_each_statement([base], provisioners)
        pilot, target = _pilot(base, seed, provisioners)
        socket = engine.unix_socket(target)
    tried = changes_of(base, pilot, is_local=runs_here(cell.system.host), socket=socket)
    if options.tune:
        tried = _untested(tried)
    # The unchanged cell is measured twice. Changes that don't affect the system share one.
    apart = [change for change in tried.changes if change.settings or change.processors or change.level == "flush free"]
    start_s = pilot.around_s + (FRESH_WARMUP_S if engine.is_server else 0.0)
    enough_s = _FEW * pilot.time_us / 1e6 if arrival is None else max(_ARRIVALS / arrival.rate, _MIN_OPEN_S)
    cells, starts = (MAX_FIXES + 2, MAX_FIXES + 1) if options.tune else (len(tried.changes) + 2, 1 + len(apart))
    window = _window(pilot, cells, starts, start_s=start_s, budget_s=budget_s, enough_s=enough_s)
    return Why(
        cell.id,
        pilot,
        tried.changes,
        [{"resource": resource.resource, "why": resource.why, "share": resource.share} for resource in tried.untried],
        window,
        _WARMUP * window,
        counted,
        planted,
        [picked.note] if picked.note else [],
    )


def _untested(tried: CandidateChanges) -> CandidateChanges:
    """Return no changes; each resource that would be changed is untested and may be the bottleneck."""
    used = dict.fromkeys(change.resource for change in tried.changes)
    return CandidateChanges([], [*(UntestedResource(each, "not changed", None) for each in used), *tried.untried])


def _check(experiment: Experiment, cell: ResolvedCell) -> None:
    """Raise InputError for a cell that cannot be changed."""
    load, location = cell.definition.load, f"{experiment.location}: {cell.id}"
    if engine_of(cell.system.engine).runs_programs:
        raise InputError(
            location, "dbdyno can't change what your program waits for", "give a system with a driver of dbdyno"
        )
    if experiment.head.growth is not None:
        raise InputError(location, "its table grows from trial to trial", "ask about an experiment of one size")
    if load.clients_as == "processes":
        raise InputError(location, "its clients are processes of their own", 'write `clients_as = "threads"`')


def _pilot(base: CompiledCell, seed: int, provisioners: Provisioners) -> tuple[Pilot, dict[str, Any]]:
    """Measure the cell briefly; return the result and the system's target in the plan."""
    trial = Trial(base, 0, 0, Plan("pilot", [base], 1, seed))
    (record,) = measure([trial], provisioners, Watcher(), provisioners.interrupted)
    if provisioners.interrupted:
        raise RunInterrupted("the run was interrupted before it began")
    if record.status != "done" or not isinstance(trial.result, TrialResult):
        raise SystemFailed(f"{base.cell.id}: {record.error}")
    size = float(provisioners.of(base).bytes_of_copy(base)) or None
    total = record.durations["total_s"] - record.durations.get("load_s", 0.0)
    try:
        pilot = read_pilot(trial.result, base.definition.load.clients, _assumed(base, trial.result), size, total)
    except ValueError as error:
        raise SystemFailed(f"{base.cell.id}: {error}") from None
    return pilot, trial.task.target


def _assumed(base: CompiledCell, result: TrialResult) -> Assumed:
    """Return assumed durations of calls that no counter measures."""
    us: dict[Resource, float] = {"client": _client_us(base, result)}
    trip = round_trip_us(base.cell.system)
    if trip is not None:
        us["message"] = trip
    return Assumed(us)


def _client_us(base: CompiledCell, result: TrialResult) -> float:
    """Return the client's own CPU time per transaction in microseconds, excluding an embedded engine."""
    if engine_of(base.cell.system.engine).is_server:
        # Planted delays are reported separately.
        delayed = None if result.changes is None else result.changes.transaction
        planted_us = delayed.added_s * 1e6 / delayed.calls if delayed is not None and delayed.calls else 0.0
        return max(result.time.segments.client * 1e6 / max(result.completed, 1) - planted_us, 0.0)
    statements = result.work.statements / max(result.completed, 1)
    try:
        return statements * 1e6 / float(ceiling(base, probe_seconds())["operations_per_s"])
    except (SystemFailed, KeyError, ZeroDivisionError):
        return 0.0


def _window(pilot: Pilot, cells: int, starts: int, *, start_s: float, budget_s: float, enough_s: float) -> float:
    """Return the seconds of a window, such that five rounds of all cells fit into the budget.

    ``starts``: how often a round prepares a system, which takes ``start_s``; ``enough_s``: the minimum length, whatever
    the budget.
    """
    around = (starts * start_s + (cells - starts) * min(_WORKER_S, pilot.around_s)) / cells
    room = budget_s / (_ROUNDS * cells) - around
    seconds = min(max(room / (1 + _WARMUP), enough_s, _MIN_WINDOW_S), _MAX_WINDOW_S)
    return round(seconds, 3)
