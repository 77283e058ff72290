"""The cells of `dbdyno why`: the unchanged cell, and one cell per change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dbdyno.analysis.why.client_keys import with_own_keys
from dbdyno.analysis.why.pilot import Pilot
from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.experiment import Experiment
from dbdyno.experiment.compile.cell import compile_cell
from dbdyno.experiment.design import SINGLE
from dbdyno.experiment.resolve import merge_settings
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.change import AGAIN, CHANGE, UNCHANGED, Change
from dbdyno.model.plan.injections import ChangedSync, Changes, Delay
from dbdyno.model.plan.steps import without_pauses

#: Delays by kind of call, in the format of the field ``changes`` of a plan.
Injected = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Why:
    """The plan of `dbdyno why`: a cell, by its id, and the changes to measure.

    ``window_s``, ``warmup_s``: upper limits for each trial; ``planted``: delays added to all cells, for tests;
    ``counted``: the kinds of calls counted in all cells; ``untried``: resources without a test, each with the reason
    and the known share of the time.
    """

    cell: str
    pilot: Pilot
    changes: Sequence[Change]
    untried: Sequence[Mapping[str, Any]]
    window_s: float
    warmup_s: float
    counted: Sequence[str]
    planted: Mapping[str, Any]
    said: Sequence[str] = ()

    def stored(self) -> dict[str, Any]:
        """Return it as a run's design has it."""
        return {
            "cell": self.cell,
            "pilot": self.pilot.stored(),
            "changes": [change.stored() for change in self.changes],
            "untried": [dict(each) for each in self.untried],
            "window_s": self.window_s,
            "warmup_s": self.warmup_s,
            "counted": list(self.counted),
            "planted": dict(self.planted),
            "said": list(self.said),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read it from a run's design."""
        changes = [Change.read(change) for change in stored["changes"]]
        return cls(**{**stored, "pilot": Pilot.read(stored["pilot"]), "changes": changes})


def base_cell(
    experiment: Experiment,
    cell: ResolvedCell,
    *,
    window_s: float,
    warmup_s: float,
    counted: Sequence[str],
    planted: Mapping[str, Any],
) -> CompiledCell:
    """Return the unchanged cell with windows of at most ``window_s`` seconds and the ``counted`` calls counted."""
    shorter = replace(cell, definition=_shorten(cell.definition, window_s, warmup_s))
    made = _with_level(_inject(compile_cell(experiment, shorter), planted, counted, {}), UNCHANGED)
    processors = tuple(planted.get("processors", ()))
    if not processors:
        return made
    return replace(made, change=Change(UNCHANGED, "processors", "slower", "", processors=processors))


def why_cells(experiment: Experiment, cell: ResolvedCell, why: Why) -> list[CompiledCell]:
    """Return all cells: the unchanged cell twice, then the changed cells. Raises InputError."""
    if CHANGE in experiment.factors:
        problem = f"`dbdyno why` adds a factor `{CHANGE}`"
        raise InputError(experiment.location, problem, "rename the experiment's own")
    base = base_cell(
        experiment, cell, window_s=why.window_s, warmup_s=why.warmup_s, counted=why.counted, planted=why.planted
    )
    again = replace(base, cell=_under_level(cell, AGAIN, base.cell))
    return [base, again, *(changed_cell(experiment, cell, change, why) for change in why.changes)]


def changed_cell(experiment: Experiment, cell: ResolvedCell, change: Change, why: Why) -> CompiledCell:
    """Return the cell with one change. Raises InputError."""
    definition = _shorten(cell.definition, why.window_s, why.warmup_s)
    if change.load:
        definition = _with_load(definition, **change.load)
    settings = cell.settings
    if change.settings:
        asked = merge_settings(experiment, cell.definition, cell) | dict(change.settings)
        named = cell.system.host is not None
        settings = engine_of(cell.system.engine).read_settings(asked, cell.system.name, named=named)
    made = compile_cell(experiment, replace(cell, definition=definition, settings=settings))
    if change.own_keys:
        made = replace(made, task=with_own_keys(made))
    made = _inject(made, why.planted, why.counted, change.injected)
    if change.no_thinking:
        kept = [without_pauses(transaction) for transaction in made.task.transactions]
        made = replace(made, task=replace(made.task, transactions=kept))
    if change.own_files:
        changes = replace(made.task.changes or Changes(), own_files=True)
        made = replace(made, task=replace(made.task, changes=changes))
    processors = change.processors or tuple(why.planted.get("processors", ()))
    return replace(_with_level(made, change.level), change=replace(change, processors=processors))


def _with_level(made: CompiledCell, level: str) -> CompiledCell:
    return replace(made, cell=_under_level(made.cell, level, made.cell))


def _under_level(cell: ResolvedCell, level: str, made: ResolvedCell) -> ResolvedCell:
    """Return ``made`` with the id and levels of ``cell``, extended by the level of the change."""
    rest = "" if cell.id == SINGLE else f",{cell.id}"
    name = f'"{level}"' if "," in level else level
    return replace(made, id=f"{CHANGE}={name}{rest}", levels={CHANGE: Level.of(level), **cell.levels})


def _shorten(definition: Definition, window_s: float, warmup_s: float) -> Definition:
    """Return a definition whose windows end after ``window_s`` seconds at the latest.

    A window with stages keeps its length.
    """
    load = definition.load
    if load.arrival is not None and load.arrival.stages:
        window_s = load.arrival.seconds
    seconds = window_s if load.stop.seconds is None else min(window_s, load.stop.seconds)
    warmup = load.warmup.model_copy(update={"seconds": max(min(load.warmup.seconds, warmup_s * 5), warmup_s)})
    return _with_load(definition, stop=load.stop.model_copy(update={"seconds": seconds}), warmup=warmup)


def _with_load(definition: Definition, **changed: Any) -> Definition:
    return definition.model_copy(update={"load": definition.load.model_copy(update=changed)})


def _inject(made: CompiledCell, planted: Mapping[str, Any], counted: Sequence[str], own: Injected) -> CompiledCell:
    """Return a cell with its injected delays, including planted ones."""
    changes: dict[str, Any] = {}
    for kind in dict.fromkeys([*counted, *own]):
        delay = float(planted.get(kind, 0.0)) + float(own.get(kind, {}).get("delay_us", 0.0))
        if kind == "sync":
            changes[kind] = ChangedSync(skip=True) if own.get(kind, {}).get("skip") else ChangedSync(delay_us=delay)
        else:
            changes[kind] = Delay(delay_us=delay)
    return replace(made, task=replace(made.task, changes=Changes(**changes))) if changes else made
