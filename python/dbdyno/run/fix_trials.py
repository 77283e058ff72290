"""Trials of fixes, after the changes of a `dbdyno why`: each fix alone, then the promising ones, also together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.document.run import read_run
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.analysis.why.cells import Why
from dbdyno.analysis.why.fix_cells import FixStage, Planned, fix_cell
from dbdyno.analysis.why.fix_results import all_unsettled, groups_of, promising, promising_unsettled
from dbdyno.analysis.why.fixes import choose
from dbdyno.analysis.why.situation import situation_of
from dbdyno.base.console import Console
from dbdyno.base.errors import DbdynoError, InputError
from dbdyno.engines import engine_of
from dbdyno.experiment import Experiment
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.change import CHANGE
from dbdyno.model.plan.fix import Fix
from dbdyno.model.result import Document
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.fixes import Fixes
from dbdyno.model.result.reading import part
from dbdyno.run.cell_designs import describe_cells
from dbdyno.run.progress import Display
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.runner import carry_out
from dbdyno.run.trial import Plan
from dbdyno.stats import Stopping
from dbdyno.store import Store

# The share of a tuning's budget for measuring each fix alone, and the minimum rounds for that.
_ALONE_SHARE = 0.4
_ALONE_ROUNDS = 3
# Stages: each fix alone, the promising ones also together, and combinations of those proven by then. The second one
# may use this share of the budget that is left.
_STAGES = 3
_SECOND_SHARE = 0.75
# Maximum number of unsettled fixes that get more rounds.
_MAX_UNSETTLED = 3


@dataclass(frozen=True)
class Fixing:
    """The cell whose fixes are measured, and its experiment.

    ``tuning``: the rule for the fixes of a run that measures only these; its budget holds for the whole run. None if
    fixes follow the changes of a `dbdyno why`, whose rule then holds for each part. ``index_budget_bytes``: the largest
    size of all new indexes together.
    """

    experiment: Experiment
    cell: ResolvedCell
    why: Why
    tuning: Stopping | None = None
    index_budget_bytes: int | None = None


class Fixer:
    """Measures the fixes of a cell after its changes. If a run is resumed, it measures the missing ones."""

    def __init__(self, fixing: Fixing, plan: Plan, store: Store, provisioners: Provisioners, console: Console) -> None:
        """``plan``: the trials of the run's changes; its first cell is the unchanged one."""
        self._fixing = fixing
        self._plan = plan
        self._base = plan.cells[0]
        self._store = store
        self._provisioners = provisioners
        self._console = console

    @property
    def has_begun(self) -> bool:
        """Whether the fixes to measure are chosen, so that all changes have been measured."""
        return self._planned() is not None

    def measure(self) -> None:
        """Measure the missing fixes. Raises DbdynoError."""
        planned = self._planned() or self._plan_first()
        if planned is None:
            return
        for number in range(_STAGES):
            if number > 0 and self._left_s == 0.0:
                self._console.print("the time is too short for combinations; `--budget` allows more", style="dim")
                return
            if len(planned.stages) == number > 0 and not self._provisioners.interrupted:
                planned = self._plan_combinations(planned, proven=number == _STAGES - 1)
            if len(planned.stages) <= number or self._provisioners.interrupted:
                return
            self._measure(planned, number)

    def _planned(self) -> Planned | None:
        stored = part(self._store.run(self._plan.run_id).design, "fixes")
        return Planned.read(stored) if stored else None

    def _plan_first(self) -> Planned | None:
        """Choose the fixes for the cell's bottleneck; None if the bottleneck is unknown."""
        document = read_run(self._store, self._plan.run_id, self._fixing.experiment)
        why = document.why
        if why is None:
            return None
        base = _cell(document, why.unchanged)
        size = float(self._provisioners.of(self._base).bytes_of_copy(self._base)) or None
        chosen = choose(situation_of(self._base, base, why, size))
        useful, useless = self._useful_fixes(chosen.fixes)
        fixes, refused = self._possible_fixes(useful)
        left_out = [*chosen.left_out, *useless, *refused]
        stages = [FixStage(self._next_block(), fixes, {})] if fixes else []
        engine, budget = self._base.cell.system.engine, self._fixing.index_budget_bytes
        return self._keep(Planned(stages, left_out, engine, budget))

    def _plan_combinations(self, planned: Planned, *, proven: bool) -> Planned:
        """Add new combinations of the promising fixes, next to the best single fix and the unsettled ones.

        ``proven``: combine only fixes that are proven to help. A tuning without new combinations measures unsettled
        fixes again.
        """
        found = _fixes(read_run(self._store, self._plan.run_id, self._fixing.experiment))
        if found is None:
            return planned
        named = {fix.name: fix for fix in planned.fixes}
        groups = groups_of(found, named, planned.index_budget_bytes, proven=proven)
        fixes, refused = self._possible_fixes([fix for fix, _ in groups])
        unsettled = [] if proven else promising_unsettled(found)
        if not fixes and self._left_s is not None:
            # The budget is for the whole run, so use what is left of it.
            unsettled = unsettled or all_unsettled(found)
        if not fixes and not unsettled:
            return planned
        best = [fix_effect for fix_effect in promising(found) if fix_effect.verdict == "helps"]
        again = [named[fix_effect.fix] for fix_effect in (*unsettled[:_MAX_UNSETTLED], *best[:1])]
        stage = FixStage(self._next_block(), [*again, *fixes], {fix.name: names for fix, names in groups})
        return self._keep(replace(planned, stages=[*planned.stages, stage], left_out=[*planned.left_out, *refused]))

    def _useful_fixes(self, fixes: Sequence[Fix]) -> tuple[list[Fix], list[str]]:
        """Leave out indexes that no plan would use, if the engine knows that without creating them."""
        indexes = {fix.name: fix.statements[0] for fix in fixes if fix.is_index}
        # A server has to run for that; what is known of a file costs as much as the index.
        engine = engine_of(self._base.cell.system.engine)
        if not indexes or not engine.is_server or self._base.cell.system.host is not None:
            return list(fixes), []
        statements = [(statement.sql, statement.example) for statement in self._base.task.statements]
        with self._provisioners.of(self._base).ready(self._base, 0) as ready:
            usable = engine.would_use(ready.target, statements, list(indexes.values()))
        known = dict(zip(indexes, usable, strict=True)) if usable is not None else {}
        useful = [fix for fix in fixes if known.get(fix.name, True)]
        return useful, [f"{name} (no plan would use it)" for name, used in known.items() if not used]

    def _possible_fixes(self, fixes: Sequence[Fix]) -> tuple[list[Fix], list[str]]:
        """Return the fixes that a system accepts, and the reasons for rejecting the others."""
        possible, refused = [], []
        for fix in fixes:
            try:
                cell = self._with(fix)
                self._provisioners.of(cell).check(cell)
                # Load before the time of the first round starts.
                self._provisioners.of(cell).bytes_of_copy(cell)
                possible.append(fix)
            except InputError as error:
                refused.append(f"{fix.name} ({error.problem})")
            except DbdynoError as error:
                refused.append(f"{fix.name} ({error})")
            if self._provisioners.interrupted:
                break
        return possible, refused

    def _with(self, fix: Fix) -> CompiledCell:
        return fix_cell(self._fixing.experiment, self._fixing.cell, fix, self._fixing.why)

    def _next_block(self) -> int:
        return max((trial.block + 1 for trial in self._store.trials(self._plan.run_id)), default=0)

    def _keep(self, planned: Planned) -> Planned:
        """Store the design of the planned cells."""
        run = self._store.run(self._plan.run_id)
        known = {str(each.get("id")) for each in run.design["cells"]}
        cells = [cell for fix in planned.fixes if (cell := self._with(fix)).cell.id not in known]
        factors = run.design["factors"]
        levels = [*factors[CHANGE], *(compiled_cell.cell.factors[CHANGE] for compiled_cell in cells)]
        design = run.design | {
            "cells": [*run.design["cells"], *describe_cells(cells)],
            "factors": factors | {CHANGE: levels},
            "fixes": planned.stored(),
        }
        self._store.update_run(run.id, design=design)
        return planned

    def _measure(self, planned: Planned, number: int) -> None:
        """Measure the missing rounds of a stage, by its number from 0."""
        stage, *later = planned.stages[number:]
        cells = [self._base, *(self._with(fix) for fix in stage.fixes)]
        names = {cell.cell.id for cell in cells}
        stopping = self._rule(number)
        most = self._plan.rounds if stopping is None else stopping.maximum
        rounds = later[0].first - stage.first if later else most
        last = stage.first + rounds
        # Trials of earlier stages count for the verdicts that end this one.
        done = {
            (trial.cell, trial.block): trial
            for trial in self._store.trials(self._plan.run_id)
            if trial.status == "done" and trial.block < last
        }
        plan = replace(
            self._plan,
            cells=cells,
            rounds=rounds,
            done=done,
            first=stage.first,
            began=time.monotonic(),
            stopping=stopping,
        )
        measure = self._base.definition.measure
        trials = len(cells) * rounds - sum(block >= stage.first and cell in names for cell, block in done)
        combined = len(stage.members)
        count = len(stage.fixes) - combined
        note = f"{count} fix{'es' * (count != 1)} alone"
        if combined:
            note += f" and {combined} combination{'s' * (combined != 1)}"
        note += f", {_rounds(plan)}"
        self._console.print(note, style="dim", soft_wrap=True)
        interrupted = self._provisioners.interrupted
        ends_at = stage.first + rounds
        with Display(
            self._console,
            trials=trials,
            rounds=ends_at,
            measure=Measure.of({"measure": measure.model_dump()}),
            stopping=plan.stopping,
        ) as display:
            carry_out(plan, self._store, self._provisioners, display, interrupted)

    @property
    def _left_s(self) -> float | None:
        """Seconds that are left of a tuning's budget; None without one."""
        tuning = self._fixing.tuning
        if tuning is None or tuning.budget_s is None:
            return None
        return max(tuning.budget_s - (time.monotonic() - self._plan.began), 0.0)

    def _rule(self, number: int) -> Stopping | None:
        """Return the rule for a stage: a tuning divides its budget between the stages."""
        tuning, left_s = self._fixing.tuning, self._left_s
        if tuning is None or left_s is None:
            return self._plan.stopping
        if number == 0:
            return replace(
                tuning,
                budget_s=left_s * _ALONE_SHARE,
                minimum=_ALONE_ROUNDS,
                kept=_ALONE_ROUNDS,
                overrun_s=tuning.budget_s,
            )
        return replace(tuning, budget_s=left_s * (_SECOND_SHARE if number < _STAGES - 1 else 1.0))


def _rounds(plan: Plan) -> str:
    if plan.stopping is None:
        return f"{plan.rounds} round{'s' * (plan.rounds != 1)}"
    return f"{plan.stopping.minimum} to {plan.rounds} rounds"


def _cell(document: Document, name: str) -> Cell:
    return next(cell for cell in document.cells if cell.id == name)


def _fixes(document: Document) -> Fixes | None:
    return None if document.why is None else document.why.fixes
