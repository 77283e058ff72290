"""Trials on a growing table: all sizes of a series on one database, in order, with several windows at each size."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbdyno.base.errors import DbdynoError, InputError, RunInterrupted, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.experiment.design import block_order, growth_seed
from dbdyno.experiment.head import Growth
from dbdyno.model.events.answers import Loaded
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.run.data_inspection import inspect_data, violated_checks
from dbdyno.run.memory_limit import Limiting
from dbdyno.run.provisioners import Provisioners, Ready
from dbdyno.run.tiers import with_tiers
from dbdyno.run.trial import Plan, Trial, Watcher, record_surroundings, record_system_state, run_trial
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.store import TrialRecord


@dataclass(frozen=True)
class SizeSeries:
    """Cells that differ only in the size of the growing table, the smallest first."""

    cells: tuple[CompiledCell, ...]

    @classmethod
    def all_of(cls, compiled: Sequence[CompiledCell], growth: Growth) -> "list[SizeSeries]":
        """Group cells into series. Raises InputError if the cells of a series differ in more than their size."""
        alike: dict[tuple[tuple[str, str], ...], list[CompiledCell]] = {}
        for compiled_cell in compiled:
            levels = tuple(
                (name, level.name) for name, level in compiled_cell.cell.levels.items() if name != growth.factor
            )
            alike.setdefault(levels, []).append(compiled_cell)
        found = [cls(tuple(sorted(cells, key=lambda cell: _rows(cell, growth)))) for cells in alike.values()]
        for series in found:
            series._check(growth)
        return found

    def _check(self, growth: Growth) -> None:
        first, *others = self.cells
        for other in others:
            if _but_size(other, growth) != _but_size(first, growth):
                problem = f"`{growth.factor}` changes more than the rows of `{growth.table}`"
                hint = "only the growing table may differ between its sizes, not the system or another table"
                raise InputError(f"{other.cell.id}: growth", problem, hint)


def check_growth(compiled: Sequence[CompiledCell], growth: Growth, *, slice_s: float | None, counts: bool) -> None:
    """Raise InputError if a run's table cannot grow.

    ``slice_s``: slice of interleaved trials, in seconds; ``counts``: the run counts instructions.
    """
    if slice_s is not None:
        raise InputError("--interleave", "a table that grows is measured at one size at a time", "`--interleave none`")
    if counts:
        problem = "instructions are counted on fresh data, which a table that has grown is not"
        raise InputError("--instructions", problem, "leave it out")
    for cell in compiled:
        location, definition = f"{cell.cell.id}: growth", cell.definition
        table = definition.tables.get(growth.table)
        if engine_of(cell.cell.system.engine).runs_programs or table is None:
            raise InputError(location, f"there is no table `{growth.table}`", "name a table of the experiment")
        size = cell.cell.levels[growth.factor].value
        if table.rows != size or table.parts or table.file is not None:
            problem = f"`{growth.table}` does not have as many rows as `{growth.factor}` says"
            hint = f'write `rows = "${{{growth.factor}}}"`, and neither `parts` nor `file`'
            raise InputError(location, problem, hint)
        if definition.load.clients_as == "processes":
            raise InputError(location, "its clients are processes of their own", 'write `clients_as = "threads"`')
    SizeSeries.all_of(compiled, growth)


def _rows(compiled: CompiledCell, growth: Growth) -> int:
    return compiled.definition.tables[growth.table].rows


def _but_size(compiled: CompiledCell, growth: Growth) -> tuple[Any, ...]:
    """Return the properties that the cells of a series share."""
    definition: Definition = compiled.definition
    tables = {name: table for name, table in definition.tables.items() if name != growth.table}
    grown = definition.tables[growth.table].model_copy(update={"rows": 0})
    return compiled.settings, compiled.after, tables, grown, definition.load.memory_limit_mb


@dataclass
class _State:
    """The current size of a growing table."""

    rows: int
    """The known number of rows; transactions in flight at the end of a window may have added more."""
    next: int
    """The counter value of the next row. Values that failed transactions used don't appear in the table."""

    def grown_by(self, result: TrialResult, first_use: int) -> None:
        """Add the rows that a trial inserted. ``first_use``: the first counter value of the trial."""
        inserted = result.rows_changed_in_all()
        self.rows += inserted
        self.next += max(inserted, result.next_use - first_use)


def grow(
    growth: Growth, block: int, plan: Plan, provisioners: Provisioners, watcher: Watcher, *, interrupted: Interruption
) -> Iterator[TrialRecord]:
    """Grow every series of a run from its first size, and yield the records of its missing trials.

    ``block``: number of the first window at each size; the next windows have the next numbers.
    """
    series = SizeSeries.all_of(plan.cells, growth)
    by_id = {each.cells[0].cell.id: each for each in series}
    order = block_order([each.cells[0].cell for each in series], block, plan.seed)
    for position, first in enumerate(order):
        if interrupted:
            return
        yield from _Grown(by_id[first.id], growth, block, position, plan, interrupted).records(provisioners, watcher)


class _TrialPosition(NamedTuple):
    """A trial of a series, identified by the numbers of its size and its window."""

    step: int
    window: int


@dataclass
class _Grown:
    series: SizeSeries
    growth: Growth
    block: int
    position: int
    plan: Plan
    interrupted: Interruption

    def records(self, provisioners: Provisioners, watcher: Watcher) -> Iterator[TrialRecord]:
        todo = self._todo()
        if not todo:
            return
        try:
            with ExitStack() as stack:
                first = self.series.cells[0]
                watcher.loading(first.cell)
                system = stack.enter_context(provisioners.of(first).ready(first, self.block))
                limiting = stack.enter_context(Limiting(first, system.target))
                size = _rows(first, self.growth)
                state = _State(size, size)
                for step in range(todo[-1].step + 1):
                    yield from self._at_size(step, state, system, limiting, watcher=watcher, todo=todo)
                    if self.interrupted:
                        return
        except InputError:
            raise
        except RunInterrupted:
            return
        except DbdynoError as error:
            for position in todo:
                trial = self._trial(position.step, position.window)
                trial.failed(error)
                yield trial.record(self.interrupted)

    def _todo(self) -> list[_TrialPosition]:
        return [
            _TrialPosition(step, window)
            for step, cell in enumerate(self.series.cells)
            for window in range(self.growth.windows)
            if (cell.cell.id, self.block + window) not in self.plan.done
        ]

    def _trial(self, step: int, window: int) -> Trial:
        position = self.position * len(self.series.cells) + step
        return Trial(self.series.cells[step], self.block + window, position, self.plan)

    def _at_size(
        self,
        step: int,
        state: _State,
        system: Ready,
        limiting: Limiting,
        *,
        watcher: Watcher,
        todo: list[_TrialPosition],
    ) -> Iterator[TrialRecord]:
        """Fill the table to a size and measure its windows in ``todo``, removing each when it is done."""
        compiled = self.series.cells[step]
        watcher.loading(compiled.cell)
        limiting.end()
        filled = self._fill(compiled, state, system.target, limiting)
        limiting.begin()
        for window in range(self.growth.windows):
            if self.interrupted:
                return
            if _TrialPosition(step, window) not in todo:
                continue
            watcher.trials(self.block + window, [compiled.cell])
            trial = self._trial(step, window)
            # Start the first window from a fresh copy only: later windows include the effect of the cache.
            fresh = step == 0 and window == 0
            as_is = {} if fresh or "os_cache" not in system.target else {"os_cache": "as_is"}
            first_use = state.next - _rows(compiled, self.growth)
            seed = growth_seed(self.plan.seed, self.block + window, step)
            made = compiled.plan(system.target | as_is, seed, first_use, analyzed=trial.analyzed)
            trial.request = with_tiers(made, compiled)
            trial.around["growing"] = {"rows": state.rows, "filled": filled}
            filled = []
            trial.limiting, trial.load = limiting, system.load
            if fresh:
                trial.durations |= system.durations
            run_trial(trial, watcher, self.interrupted)
            well = record_system_state(trial, system)
            if isinstance(trial.result, TrialResult):
                state.grown_by(trial.result, first_use)
            record_surroundings(trial, system, own_data=fresh)
            violation = violated_checks(compiled, system.target, self.interrupted) if well else None
            if violation is not None:
                trial.error, trial.kind = violation, "check"
            if window == self.growth.windows - 1 and well and not self.interrupted:
                limiting.end()
                trial.around |= inspect_data(compiled, system.target, self.interrupted, limiting)
            todo.remove(_TrialPosition(step, window))
            yield trial.record(self.interrupted)
            if trial.kind == "server" and trial.error is not None:
                raise SystemFailed(trial.error)

    def _fill(
        self, compiled: CompiledCell, state: _State, target: dict[str, Any], limiting: Limiting
    ) -> list[dict[str, Any]]:
        """Add the rows missing for the size, and return the facts of this load. Raises DbdynoError."""
        missing = _rows(compiled, self.growth) - state.rows
        if missing <= 0:
            return []
        plan = compiled.growth_plan(target, self.growth.table, state.next, missing)
        loaded = ask(plan, Loaded, interrupted=self.interrupted, started=limiting.covers)
        state.rows += missing
        state.next += missing
        return [step.model_dump() for step in loaded.tables]
