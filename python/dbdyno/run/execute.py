"""One run from the request to the stored result."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from dbdyno.analysis.document.run import read_run, stored_experiment
from dbdyno.analysis.why.cells import Why
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError, RunInterrupted, SystemFailed
from dbdyno.base.version import own_version
from dbdyno.engines import engine_of
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile import outside_effects
from dbdyno.experiment.design import file_systems
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import CHANGE
from dbdyno.model.plan.fix import is_fix
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result import Document
from dbdyno.model.result.reading import part
from dbdyno.run.cluster_checks import load_machines, seen_of
from dbdyno.run.designing import designed
from dbdyno.run.estimate import estimate
from dbdyno.run.fix_trials import Fixer
from dbdyno.run.going_on import check_is_free, check_machine
from dbdyno.run.interleaving import decide, differing_syncs
from dbdyno.run.machine import ceiling, check_processes, device_facts, host_facts, probe_seconds
from dbdyno.run.passwords import check_stored, named_with_password, with_passwords
from dbdyno.run.progress import Display
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.request import Prepared, Request, prepare, windows
from dbdyno.run.runner import carry_out
from dbdyno.run.searching import Searcher, searching_words
from dbdyno.run.statement_checks import check_each_statement, check_programs, check_statements
from dbdyno.run.trial import Plan
from dbdyno.runtime.cluster.address import read_cluster
from dbdyno.runtime.cluster.machines import LoadMachines
from dbdyno.runtime.worker import WorkerFailed
from dbdyno.stats import Stopping
from dbdyno.store import RunRecord, Store
from dbdyno.store.keeping import KeepingStore, keeping
from dbdyno.store.process import this_process


def execute(request: Request, store: Store, console: Console) -> tuple[Document, bool]:
    """Carry out a run; give its document and whether it was interrupted. Raises DbdynoError.

    What the store cannot take is kept on this machine, and ``store.elsewhere`` tells where.
    """
    with keeping(store, _telling(console)) as kept:
        return _execute(request, kept, console)


def _telling(console: Console) -> Callable[[str], None]:
    return lambda text: console.print(text, style="yellow", soft_wrap=True)


def _execute(request: Request, store: Store, console: Console) -> tuple[Document, bool]:
    began = time.monotonic()
    check_processes()
    probe_seconds()
    prepared = prepare(request)
    _announce_outside_effects(request, prepared.compiled)
    seed = random.SystemRandom().getrandbits(48) if request.seed is None else request.seed
    with Provisioners(request.directory, request.allow_writes) as provisioners, ExitStack() as stack:
        _check(prepared.compiled, provisioners)
        check_programs(prepared.compiled)
        check_statements(prepared.compiled, provisioners)
        check_each_statement(prepared.compiled, provisioners)
        undecided = _undecided(request, prepared)
        _announce(request, console)
        machines = stack.enter_context(load_machines(request.cluster, prepared.compiled))
        run = RunRecord(
            experiment=request.experiment.name,
            seed=seed,
            design=_design(request.experiment, prepared) | _asked(request, prepared) | _part_of(request, prepared),
            definition=request.experiment.text,
            command=request.command,
            options={
                "place": request.experiment.place,
                "folder": str(request.experiment.folder),
                "set": request.chosen,
                "systems": [cell.system.name for cell in prepared.cells.cells] if request.systems else [],
                "with_password": named_with_password(cell.system for cell in prepared.cells.cells),
                "directory": request.directory,
                "wait_idle": request.wait_idle,
                "instructions": request.instructions,
                "try_recommendations": request.try_recommendations,
                "allow_writes": request.allow_writes,
                "design": request.design,
                "process": this_process(),
            }
            | ({} if request.why is None else {"cell": request.why.cell, "fix": request.fix})
            | seen_of(machines)
            | ({} if undecided else {"slice_s": request.slice_s}),
            host=host_facts(provisioners.workspace.path),
            version=own_version(),
        )
        # From here to its end a run is never left as one that is going on.
        with provisioners.interrupted.listening():
            run_id = store.begin_run(run)
            plan = _plan(run_id, seed, request, prepared, machines, began)
            return _carry_out(
                plan,
                prepared,
                request.experiment,
                store,
                provisioners,
                console,
                measure_machine=True,
                interleaving_undecided=undecided,
                request=request,
            )


def _part_of(request: Request, prepared: Prepared) -> dict[str, Any]:
    """Say what part of the design is measured, where it is a part."""
    if request.design == "full":
        return {}
    return {"screening": {"cells": len(prepared.cells.cells), "of": prepared.of}}


def _check(compiled: list[CompiledCell], provisioners: Provisioners) -> None:
    """See that the systems can be had. Raises DbdynoError for an error in what was asked for, or where none can.

    One that cannot be reached fails its own trials, which say why; the others are measured.
    """
    failures: list[SystemFailed] = []
    without: list[CompiledCell] = []
    for each in compiled:
        if engine_of(each.cell.system.engine).runs_programs:
            continue
        provisioner = provisioners.of(each)
        # One that says nothing would be waited for again at each of its cells.
        if any(provisioners.of(other) is provisioner and _asks_alike(other, each) for other in without):
            without.append(each)
            continue
        try:
            provisioner.check(each)
        except SystemFailed as error:
            failures.append(error)
            without.append(each)
    if failures and len(without) == len(compiled):
        raise failures[0]


def _asks_alike(one: CompiledCell, other: CompiledCell) -> bool:
    """Whether a server that has not let one of them in will not let the other in."""
    return one.settings == other.settings and one.cell.system.password == other.cell.system.password


def resume(name: str, store: Store, console: Console, given: list[SystemSpec]) -> tuple[Document, bool]:
    """Go on with a run from its last finished trial. Raises DbdynoError.

    ``given``: those of its systems whose URLs have passwords.
    """
    with keeping(store, _telling(console)) as kept:
        found = store.run(name)
        check_is_free(found)
        kept.hold_run(found)
        # Read again: until it was held, another process may have gone on with it.
        run = store.run(found.id)
        check_is_free(run)
        return _resume(run, kept, console, given)


def _resume(run: RunRecord, store: KeepingStore, console: Console, given: list[SystemSpec]) -> tuple[Document, bool]:
    began = time.monotonic()
    check_processes()
    if part(run.design, "against"):
        raise InputError(f"run {run.id}", "a gate's run is not gone on with: its baseline is gone", "start it again")
    if part(run.design, "slo"):
        raise InputError(f"run {run.id}", "a search for the highest rate cannot be resumed", "start it again")
    with store.interpreting(run.id):
        request = _stored_request(run, store, given)
        prepared = prepare(request)
    experiment, options = request.experiment, run.options
    trials = [trial for trial in store.trials(run.id) if trial.status == "done"]
    _announce(request, console)
    with (
        Provisioners(request.directory, request.allow_writes) as provisioners,
        load_machines(request.cluster, prepared.compiled) as machines,
        provisioners.interrupted.listening(),
    ):
        check_machine(run, host_facts(provisioners.workspace.path))
        options = options | {"process": this_process()} | _as_many(options, machines)
        store.take_run(run, options)
        plan = _plan(run.id, run.seed, request, prepared, machines, began)
        undecided = _undecided(request, prepared) and not trials
        cells = {each.cell.id for each in prepared.compiled}
        plan.done = {(trial.cell, trial.block): trial for trial in trials if trial.cell in cells}
        return _carry_out(
            plan,
            prepared,
            experiment,
            store,
            provisioners,
            console,
            measure_machine=run.device is None,
            interleaving_undecided=undecided,
            request=request,
        )


def _stored_request(run: RunRecord, store: Store, given: list[SystemSpec]) -> Request:
    """Return what a stored run was asked to do. Raises DbdynoError."""
    options = run.options
    experiment = stored_experiment(run, store)
    systems = [parse_url(url) for url in dict.fromkeys(options["systems"])]
    if not systems:
        check_stored(file_systems(experiment).values())
    return Request(
        experiment,
        options["set"],
        list(with_passwords(systems, options.get("with_password", []), given)),
        "auto" if "stopping" in run.design else run.design["rounds"] // windows(experiment),
        run.seed,
        options["directory"],
        run.command,
        run.design.get("margin"),
        Stopping.from_stored(run.design.get("stopping") or {}),
        bool(options.get("wait_idle")),
        bool(options.get("instructions")),
        bool(options.get("try_recommendations")),
        # Not there: the run was interrupted before it was decided, and nothing has been measured.
        (options["slice_s"] or "none") if "slice_s" in options else None,
        bool(options.get("allow_writes")),
        design="screening" if options.get("design") == "screening" else "full",
        cluster=read_cluster(options["cluster"]) if "cluster" in options else None,
        why=Why.read(run.design["why"]) if part(run.design, "why") else None,
        fix=bool(options.get("fix")),
    )


def _undecided(request: Request, prepared: Prepared) -> bool:
    """Say whether it is dbdyno's to decide that the cells are interleaved. Tables that grow never are."""
    # What a change delays would be delayed in the slices of all others.
    if (
        request.experiment.head.growth is not None
        or request.cluster is not None
        or request.why is not None
        or request.slo
    ):
        return False
    return request.interleaving is None and (prepared.stopping is not None or request.against is not None)


def _announce_outside_effects(request: Request, cells: Sequence[CompiledCell]) -> None:
    """Print what the experiment file does outside dbdyno's own files, before any of it happens."""
    effects = dict.fromkeys(each for cell in cells for each in outside_effects(cell, request.systems))
    if effects:
        console = Console(stderr=True)
        for each in effects:
            console.print(f"{request.experiment.name} {each}", style="yellow", soft_wrap=True)


def _announce(request: Request, console: Console) -> None:
    """Say what takes its time before the run begins."""
    if request.cluster is not None:
        what = "starting" if request.cluster.is_local else "connecting to"
        console.print(f"{what} the load machines of {request.cluster.shown}", style="dim")


def _as_many(options: dict[str, Any], machines: LoadMachines | None) -> dict[str, Any]:
    """Say what the load machines are of a run that goes on. Raises InputError where they are not as many as before."""
    before, found = len(options.get("load_machines", [])), seen_of(machines)
    if machines is not None and len(machines) != before:
        problem = f"it was begun with {before} load machines, and there are {len(machines)}"
        raise InputError("--resume", problem, "bring the cluster to as many, or start the run again")
    return found


def _plan(
    run_id: str, seed: int, request: Request, prepared: Prepared, machines: LoadMachines | None, began: float
) -> Plan:
    return Plan(
        run_id,
        prepared.compiled,
        prepared.rounds,
        seed,
        stopping=prepared.stopping,
        wait_idle=request.wait_idle,
        instructions=request.instructions,
        slice_s=request.slice_s,
        growth=request.experiment.head.growth,
        machines=machines,
        # To have a system ready takes longer than many a window lasts.
        keeps=request.why is not None,
        began=began if request.began is None else request.began,
    )


def _carry_out(
    plan: Plan,
    prepared: Prepared,
    experiment: Experiment,
    store: Store,
    provisioners: Provisioners,
    console: Console,
    measure_machine: bool,
    interleaving_undecided: bool,
    request: Request,
) -> tuple[Document, bool]:
    definition = prepared.compiled[0].definition
    label = definition.measure.label or f"{definition.measure.unit}s"
    trials = len(plan.cells) * plan.rounds - len(plan.done)
    interrupted = provisioners.interrupted
    ended = False
    of = prepared.fixing
    fixer = None if of is None else Fixer(of, plan, store, provisioners, console)
    searcher = None
    if request.slo is not None:
        searcher = Searcher(experiment, prepared.searched, request.slo, plan, store, provisioners, console)
    seen = [each for each in store.run(plan.run_id).observations if each.get("kind") != "ended"]
    expected = estimate(
        plan.cells, plan.rounds, trials, plan.stopping, prepared.of, prepared.cells.levels, verdicts=_by_verdicts(plan)
    )
    if request.slo is not None:
        expected = searching_words(request.slo, len(prepared.searched))
    console.print(expected, style="dim", soft_wrap=True)
    try:
        with Display(console, trials, plan.rounds, definition.measure.unit, label, plan.stopping) as display:
            if measure_machine:
                display.note("measuring the storage device and the worker's own ceiling")
                seen += _measure_machine(plan, prepared, store, provisioners, request)
            if interleaving_undecided:
                display.loading(plan.cells[0].cell)
                plan.slice_s = decide(plan.cells, provisioners)
                if not interrupted:
                    store.update_run(plan.run_id, options=store.run(plan.run_id).options | {"slice_s": plan.slice_s})
            done = searcher is not None or (fixer is not None and fixer.has_begun)
            ended_by = None if done else carry_out(plan, store, provisioners, display, interrupted)
        if fixer is not None and not interrupted:
            fixer.measure()
        if searcher is not None and not interrupted:
            searcher.measure()
        # Who interrupts what comes after the last trial interrupts no measuring.
        cut_short = bool(interrupted)
        if ended_by is not None and not cut_short:
            seen.append(ended_by)
        seen += provisioners.observations
        if plan.slice_s is not None and not interleaving_undecided and not cut_short:
            seen += differing_syncs(plan.cells, provisioners)
        # One that was gone on with has seen some things before.
        observations = [each for number, each in enumerate(seen) if each not in seen[:number]]
        document = read_run(store, plan.run_id, experiment)
        cells = document["cells"]
        # A fix that breaks the cell is none, and the run tells of it.
        own = [cell for cell in cells if not is_fix(str(cell["factors"].get(CHANGE)))]
        failed = any(each["status"] == "failed" for cell in own for each in cell["rounds"])
        if document["slo"] is not None:
            # Above the limit trials may fail.
            failed = any(each["status"] == "failed" for each in document["slo"]["searches"])
        store.finish_run(plan.run_id, "interrupted" if cut_short else "failed" if failed else "done", observations)
        ended = True
    finally:
        if not ended:
            store.finish_run(plan.run_id, "failed")
    return read_run(store, plan.run_id, experiment), cut_short


def _by_verdicts(plan: Plan) -> bool:
    """Whether a run ends when its verdicts are settled."""
    return plan.keeps or (plan.stopping is not None and plan.stopping.margin is not None)


def _measure_machine(
    plan: Plan, prepared: Prepared, store: Store, provisioners: Provisioners, request: Request
) -> list[dict[str, Any]]:
    """Measure the device and the worker's ceiling. Where one cannot be had, the run goes on and says so."""
    seen: list[dict[str, Any]] = []
    budget_s = None if plan.stopping is None else plan.stopping.budget_s
    if request.slo is not None:
        budget_s = request.slo.seconds(len(prepared.searched))
    seconds = probe_seconds(budget_s)
    try:
        facts = device_facts(provisioners.workspace.path, provisioners.interrupted, seconds)
        store.update_run(plan.run_id, device=facts)
    except RunInterrupted:
        return seen
    except SystemFailed as error:
        seen.append({"kind": "probe failed", "probe": "device", "error": str(error)})
    if engine_of(prepared.compiled[0].cell.system.engine).runs_programs:
        return seen
    try:
        store.update_run(plan.run_id, ceiling=ceiling(prepared.compiled[0], seconds, plan.machines))
    except WorkerFailed as error:
        seen.append({"kind": "probe failed", "probe": "ceiling", "error": str(error)})
    return seen


def _design(experiment: Experiment, prepared: Prepared) -> dict[str, Any]:
    cells = prepared.cells.cells
    factors: dict[str, list[Any]] = {}
    for cell in cells:
        for name, value in cell.factors.items():
            levels = factors.setdefault(name, [])
            if value not in levels:
                levels.append(value)
    return {
        "title": experiment.title,
        "question": experiment.question,
        "factors": factors,
        "rounds": prepared.rounds,
        "cells": designed(prepared.compiled),
        "excluded": [{"id": each.cell.id, "reason": each.reason} for each in prepared.cells.excluded],
        "measure": prepared.compiled[0].definition.measure.model_dump(),
        "report": experiment.head.report.model_dump(),
        "growth": None if experiment.head.growth is None else experiment.head.growth.model_dump(),
        "recommendations": [
            each.recommendation.model_dump(include={"name", "answers", "engine", "does"}) | {"cells": dict(each.cells)}
            for each in prepared.tried
        ],
    }


def _asked(request: Request, prepared: Prepared) -> dict[str, Any]:
    """Return what decides how the numbers are judged."""
    asked: dict[str, Any] = {}
    if request.margin is not None:
        asked["margin"] = request.margin
    if prepared.stopping is not None:
        asked["stopping"] = prepared.stopping.stored()
    if request.against is not None:
        own = request.against
        asked["against"] = {"name": own.name, "what": own.what, "definition": own.experiment.text}
    if request.why is not None:
        asked["why"] = request.why.stored()
    if request.slo is not None:
        asked["slo"] = {
            "objective": str(request.slo.objective),
            "budget_s": request.slo.seconds(len(prepared.searched)),
            "window_s": None,
            "approach": {},
            "searches": [{"cells": [closed.cell.id]} for closed in prepared.compiled],
        }
    return asked
