"""One run from the request to the stored result."""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.analysis.document.run import read_run
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.base.console import Console
from dbdyno.base.errors import RunInterrupted, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.experiment.compile import outside_effects
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.change import CHANGE
from dbdyno.model.plan.fix import is_fix
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.result import Document
from dbdyno.run.cluster_checks import load_machine_facts, load_machines
from dbdyno.run.estimate import duration, estimate
from dbdyno.run.fix_trials import Fixer
from dbdyno.run.index_trials import try_indexes
from dbdyno.run.interleaving import decide, differing_syncs
from dbdyno.run.machine import ceiling, check_processes, device_facts, host_facts, probe_seconds
from dbdyno.run.progress import Display
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.rate_search import Searcher, search_estimate
from dbdyno.run.record import check_prepared, new_record, stored_request
from dbdyno.run.request import STATEMENTS_SHARE, Prepared, Request, prepare
from dbdyno.run.resume_checks import check_is_free, check_load_machines, check_machine, check_resumable
from dbdyno.run.row_checks import check_rows, has_rows_to_compare
from dbdyno.run.runner import carry_out
from dbdyno.run.statement_checks import check_each_statement, check_programs, check_statements
from dbdyno.run.trial import Plan
from dbdyno.runtime.cluster.machines import LoadMachines
from dbdyno.runtime.worker import WorkerFailed
from dbdyno.store import RunRecord, Store, TrialRecord
from dbdyno.store.local_copy import LocalCopyStore, open_with_local_copy
from dbdyno.store.process import this_process


def execute(request: Request, store: Store, console: Console) -> tuple[Document, bool]:
    """Carry out a run; return its document and whether it was interrupted. Raises DbdynoError.

    If the store cannot take the run, it is kept on this machine, and ``store.unsent`` names the place.
    """
    with open_with_local_copy(store, _warning(console)) as kept:
        return _carry_out(request, None, kept, console)


def resume(name: str, store: Store, console: Console, given: list[SystemSpec]) -> tuple[Document, bool]:
    """Resume a run after its last finished trial. Raises DbdynoError.

    ``given``: systems of the run, with passwords in their URLs.
    """
    with open_with_local_copy(store, _warning(console)) as kept:
        found = store.run(name)
        check_is_free(found)
        kept.lock_run(found)
        # Read it again, because another process may have resumed it before we locked it.
        run = store.run(found.id)
        check_is_free(run)
        check_resumable(run)
        with kept.interpreting(run.id):
            request = stored_request(run, kept, given)
        return _carry_out(request, run, kept, console)


def _warning(console: Console) -> Callable[[str], None]:
    return lambda text: console.print(text, style="yellow", soft_wrap=True)


def _carry_out(
    request: Request, resumed: RunRecord | None, store: LocalCopyStore, console: Console
) -> tuple[Document, bool]:
    """Carry out a run. ``resumed``: its record, if it was started before."""
    began = time.monotonic() if request.began is None else request.began
    check_processes()
    probe_seconds()
    with nullcontext() if resumed is None else store.interpreting(resumed.id):
        prepared = prepare(request)
        if resumed is not None:
            check_prepared(resumed, prepared)
    options = request.options
    if resumed is None:
        _announce_outside_effects(request, prepared.compiled)
    with Provisioners(options.directory, options.allow_writes) as provisioners, ExitStack() as stack:
        if resumed is None:
            _check_systems(prepared.compiled, provisioners)
        _announce_cluster(request, console)
        machines = stack.enter_context(load_machines(request.cluster, prepared.compiled))
        if resumed is None:
            seed = random.SystemRandom().getrandbits(48) if options.seed is None else options.seed
            run = new_record(request, prepared, provisioners, machines, seed)
        # Handle signals from here on, so that an interrupted run never keeps the status `running`.
        stack.enter_context(provisioners.interrupted.handle_signals())
        if resumed is None:
            run = replace(run, id=store.begin_run(run))
        else:
            run = resumed
            check_machine(run, host_facts(provisioners.workspace.path))
            check_load_machines(run, machines)
            store.resume_run(run, run.options | {"process": this_process()} | load_machine_facts(machines))
        plan = _plan(run, request, prepared, machines, began)
        plan.done = _done_trials(run, prepared, store)
        return _Execution(request, prepared, plan, store, provisioners, console).carry_out(run)


def _check_systems(compiled: list[CompiledCell], provisioners: Provisioners) -> None:
    """Check systems, programs and statements before the first trial. Raises DbdynoError.

    If only some systems are unreachable, their trials fail with the reason and all remaining cells are measured.
    """
    _check_reachable(compiled, provisioners)
    check_programs(compiled)
    check_statements(compiled, provisioners)
    check_each_statement(compiled, provisioners)


def _check_reachable(compiled: list[CompiledCell], provisioners: Provisioners) -> None:
    failures: list[SystemFailed] = []
    without: list[CompiledCell] = []
    for cell in compiled:
        if engine_of(cell.cell.system.engine).runs_programs:
            continue
        provisioner = provisioners.of(cell)
        # Waiting for an unresponsive server once is enough.
        if any(provisioners.of(other) is provisioner and _share_login(other, cell) for other in without):
            without.append(cell)
            continue
        try:
            provisioner.check(cell)
        except SystemFailed as error:
            failures.append(error)
            without.append(cell)
    if failures and len(without) == len(compiled):
        raise failures[0]


def _share_login(one: CompiledCell, other: CompiledCell) -> bool:
    """Whether a server that rejects one cell also rejects the other."""
    return one.settings == other.settings and one.cell.system.password == other.cell.system.password


def _announce_outside_effects(request: Request, cells: Sequence[CompiledCell]) -> None:
    """Print the effects of the experiment outside dbdyno's own files before the first one happens."""
    effects = dict.fromkeys(
        outside_effect for cell in cells for outside_effect in outside_effects(cell, request.systems)
    )
    if effects:
        console = Console(stderr=True)
        for effect in effects:
            console.print(f"{request.experiment.name} {effect}", style="yellow", soft_wrap=True)


def _announce_cluster(request: Request, console: Console) -> None:
    if request.cluster is not None:
        what = "starting" if request.cluster.is_local else "connecting to"
        console.print(f"{what} the load machines of {request.cluster.shown}", style="dim")


def _plan(run: RunRecord, request: Request, prepared: Prepared, machines: LoadMachines | None, began: float) -> Plan:
    return Plan(
        run.id,
        prepared.compiled,
        prepared.rounds,
        run.seed,
        stopping=prepared.stopping,
        wait_idle=request.options.wait_idle,
        instructions=request.options.instructions,
        slice_s=request.slice_s,
        growth=request.experiment.head.growth,
        machines=machines,
        # Preparing a system takes longer than a short window.
        keeps=request.why is not None,
        began=began,
    )


def _done_trials(run: RunRecord, prepared: Prepared, store: Store) -> dict[tuple[str, int], TrialRecord]:
    cells = {cell.cell.id for cell in prepared.compiled}
    trials = [trial for trial in store.trials(run.id) if trial.status == "done"]
    return {(trial.cell, trial.block): trial for trial in trials if trial.cell in cells}


@dataclass
class _Execution:
    """A run from its first trial to its result."""

    request: Request
    prepared: Prepared
    plan: Plan
    store: Store
    provisioners: Provisioners
    console: Console

    def carry_out(self, run: RunRecord) -> tuple[Document, bool]:
        """Measure the missing trials; return the document and whether the run was interrupted."""
        plan, prepared, store, provisioners = self.plan, self.prepared, self.store, self.provisioners
        experiment = self.request.experiment
        definition = prepared.compiled[0].definition
        measure = Measure.of({"measure": definition.measure.model_dump()})
        trials = len(plan.cells) * plan.rounds - len(plan.done)
        interrupted = provisioners.interrupted
        ended = False
        measure_machine = run.device is None
        interleaving_undecided = "slice_s" not in run.options and not plan.done
        fixer = None if prepared.fixing is None else Fixer(prepared.fixing, plan, store, provisioners, self.console)
        searcher = self._searcher()
        seen = [
            observation for observation in store.run(plan.run_id).observations if observation.get("kind") != "ended"
        ]
        self.console.print(self._estimate(trials), style="dim", soft_wrap=True)
        try:
            with Display(
                self.console,
                trials=trials,
                rounds=plan.rounds,
                measure=measure,
                stopping=plan.stopping,
            ) as display:
                if measure_machine:
                    display.note("measuring the storage device and the worker's own ceiling")
                    seen += self._measure_machine()
                if interleaving_undecided:
                    display.loading(plan.cells[0].cell)
                    plan.slice_s = decide(plan.cells, provisioners)
                    if not interrupted:
                        store.update_run(
                            plan.run_id, options=store.run(plan.run_id).options | {"slice_s": plan.slice_s}
                        )
                seen += self._compare_rows(display)
                done = searcher is not None or (fixer is not None and fixer.has_begun)
                ended_by = None if done else carry_out(plan, store, provisioners, display, interrupted)
            if not interrupted:
                self._measure_more(fixer, searcher)
            # An interruption after the last trial loses no measurement.
            cut_short = bool(interrupted)
            if ended_by is not None and not cut_short:
                seen.append(ended_by)
            seen += provisioners.observations
            if plan.slice_s is not None and not interleaving_undecided and not cut_short:
                seen += differing_syncs(plan.cells, provisioners)
            # A resumed run may repeat an observation.
            observations = [each for number, each in enumerate(seen) if each not in seen[:number]]
            document = read_run(store, plan.run_id, experiment)
            cells = document.cells
            # The report covers fixes that break the cell; they do not fail the run.
            own = [cell for cell in cells if not is_fix(str(cell.factors.get(CHANGE)))]
            failed = any(round_.status == "failed" for cell in own for round_ in cell.rounds)
            if document.slo is not None:
                # Trials above the limit may fail.
                failed = any(search.status == "failed" for search in document.slo.searches)
            store.finish_run(plan.run_id, "interrupted" if cut_short else "failed" if failed else "done", observations)
            ended = True
        finally:
            if not ended:
                store.finish_run(plan.run_id, "failed")
        return read_run(store, plan.run_id, experiment), cut_short

    def _compare_rows(self, display: Display) -> list[dict[str, Any]]:
        """Compare the rows of statements; return the observations, and print the first rows that differ."""
        request, plan = self.request, self.plan
        if plan.done or request.why is not None or not has_rows_to_compare(plan.cells):
            return []
        row_comparisons = check_rows(
            plan.cells,
            request.experiment.head.report.questions,
            plan.seed,
            self.provisioners,
            of_sides=request.against is not None,
            note=lambda statement: display.note(f"comparing the rows of {statement}"),
        )
        for row_comparison in row_comparisons:
            if row_comparison.found.example:
                # The values of rows are shown, but not stored.
                self.console.print(
                    f"{row_comparison.statement}: {row_comparison.found.words}; {row_comparison.found.example}",
                    soft_wrap=True,
                )
        return [row_comparison.observation for row_comparison in row_comparisons]

    def _searcher(self) -> Searcher | None:
        slo, experiment, searched = self.request.slo, self.request.experiment, self.prepared.searched
        if slo is None:
            return None
        return Searcher(
            experiment,
            searched,
            slo,
            plan=self.plan,
            store=self.store,
            provisioners=self.provisioners,
            console=self.console,
        )

    def _measure_more(self, fixer: Fixer | None, searcher: Searcher | None) -> None:
        """Measure what follows from the rounds: fixes, higher rates or indexes."""
        if fixer is not None:
            fixer.measure()
        if searcher is not None:
            searcher.measure()
        if self.request.options.try_indexes:
            self._try_indexes()

    def _try_indexes(self) -> None:
        """Measure candidate indexes for the statements, and store what was found."""
        plan, options = self.plan, self.request.options
        document = read_run(self.store, plan.run_id, self.request.experiment)
        left_s = math.inf
        if options.budget_s is not None:
            # Loading may have taken the time.
            left_s = options.budget_s - min(time.monotonic() - plan.began, options.budget_s * STATEMENTS_SHARE)
        found = try_indexes(
            document,
            plan.cells,
            self.provisioners,
            self.console,
            budget_s=left_s,
            budget_bytes=options.index_budget_bytes,
        )
        design = self.store.run(plan.run_id).design | {"indexes": found}
        self.store.update_run(plan.run_id, design=design)

    def _estimate(self, trials: int) -> str:
        plan, prepared = self.plan, self.prepared
        if self.request.options.tune:
            budget_s = self.request.options.budget_s
            words = "" if budget_s is None else f" in about {duration(budget_s)}"
            return f"the load as it is, then each change that may help, then the promising ones together{words}"
        if self.request.slo is not None:
            return search_estimate(self.request.slo, len(prepared.searched))
        by_verdicts = plan.keeps or (plan.stopping is not None and plan.stopping.margin is not None)
        return estimate(
            plan.cells,
            plan.rounds,
            trials,
            stopping=plan.stopping,
            all_cells=prepared.all_cells,
            levels=prepared.cells.levels,
            verdicts=by_verdicts,
        )

    def _measure_machine(self) -> list[dict[str, Any]]:
        """Measure the device and the worker's ceiling; return an observation for each that fails."""
        plan, prepared, store, provisioners = self.plan, self.prepared, self.store, self.provisioners
        seen: list[dict[str, Any]] = []
        budget_s = None if plan.stopping is None else plan.stopping.budget_s
        if self.request.slo is not None:
            budget_s = self.request.slo.seconds(len(prepared.searched))
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
