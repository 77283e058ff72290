"""The cells of a `dbdyno why`: one as it is, and once more for each change."""

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
from dbdyno.model.plan.steps import without_thinking

#: By kind of call, as in the field ``changes`` of a plan.
Injected = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Why:
    """What a `dbdyno why` measures: a cell, by its id, and its changes.

    ``window_s``, ``warmup_s``: at most, of each trial; ``planted``: what slows all of its cells, for tests;
    ``counted``: the kinds of calls that are counted in all of them; ``untried``: resources without a test, with the
    reason and the share of the time that is known to go there.
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
            "changes": [each.stored() for each in self.changes],
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
        changes = [Change.read(each) for each in stored["changes"]]
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
    """Give a cell as it is, its windows cut to so many seconds, with the calls of some kinds counted."""
    shorter = replace(cell, definition=_cut(cell.definition, window_s, warmup_s))
    made = _named(_injected(compile_cell(experiment, shorter), planted, counted, {}), UNCHANGED)
    processors = tuple(planted.get("processors", ()))
    if not processors:
        return made
    return replace(made, change=Change(UNCHANGED, "processors", "slower", "", processors=processors))


def why_cells(experiment: Experiment, cell: ResolvedCell, why: Why) -> list[CompiledCell]:
    """Give all cells, the one as it is first, and once more. Raises InputError."""
    if CHANGE in experiment.factors:
        problem = f"`dbdyno why` calls a factor `{CHANGE}` itself"
        raise InputError(experiment.place, problem, "give the experiment's another name")
    base = base_cell(
        experiment, cell, window_s=why.window_s, warmup_s=why.warmup_s, counted=why.counted, planted=why.planted
    )
    again = replace(base, cell=_as_level(cell, AGAIN, base.cell))
    return [base, again, *(changed_cell(experiment, cell, each, why) for each in why.changes)]


def changed_cell(experiment: Experiment, cell: ResolvedCell, change: Change, why: Why) -> CompiledCell:
    """Give a cell with one change. Raises InputError."""
    definition = _cut(cell.definition, why.window_s, why.warmup_s)
    if change.load:
        definition = _with_load(definition, **change.load)
    settings = cell.settings
    if change.settings:
        asked = merge_settings(experiment, cell.definition, cell) | dict(change.settings)
        named = cell.system.host is not None
        settings = engine_of(cell.system.engine).read_settings(asked, cell.system.name, named=named)
    made = compile_cell(experiment, replace(cell, definition=definition, settings=settings))
    if change.own_keys:
        made = replace(made, trial=with_own_keys(made))
    made = _injected(made, why.planted, why.counted, change.injected)
    if change.no_thinking:
        kept = [each | {"steps": without_thinking(each["steps"])} for each in made.trial["transactions"]]
        made = replace(made, trial=made.trial | {"transactions": kept})
    if change.own_files:
        made = replace(made, trial=made.trial | {"changes": made.trial.get("changes", {}) | {"own_files": True}})
    processors = change.processors or tuple(why.planted.get("processors", ()))
    return replace(_named(made, change.level), change=replace(change, processors=processors))


def _named(made: CompiledCell, level: str) -> CompiledCell:
    """Name a cell by its change."""
    return replace(made, cell=_as_level(made.cell, level, made.cell))


def _as_level(cell: ResolvedCell, level: str, made: ResolvedCell) -> ResolvedCell:
    """Give what was made of a cell under the name of its change."""
    rest = "" if cell.id == SINGLE else f",{cell.id}"
    name = f'"{level}"' if "," in level else level
    return replace(made, id=f"{CHANGE}={name}{rest}", levels={CHANGE: Level.of(level), **cell.levels})


def _cut(definition: Definition, window_s: float, warmup_s: float) -> Definition:
    """Give an experiment whose windows end after so many seconds at the latest."""
    load = definition.load
    seconds = window_s if load.stop.seconds is None else min(window_s, load.stop.seconds)
    warmup = load.warmup.model_copy(update={"seconds": max(min(load.warmup.seconds, warmup_s * 5), warmup_s)})
    return _with_load(definition, stop=load.stop.model_copy(update={"seconds": seconds}), warmup=warmup)


def _with_load(definition: Definition, **changed: Any) -> Definition:
    return definition.model_copy(update={"load": definition.load.model_copy(update=changed)})


def _injected(made: CompiledCell, planted: Mapping[str, Any], counted: Sequence[str], own: Injected) -> CompiledCell:
    """Give a cell with the delays of its calls, those that are planted among them."""
    changes: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys([*counted, *own]):
        delay = float(planted.get(kind, 0.0)) + float(own.get(kind, {}).get("delay_us", 0.0))
        changes[kind] = dict(own[kind]) if own.get(kind, {}).get("skip") else {"delay_us": delay}
    return replace(made, trial=made.trial | {"changes": changes}) if changes else made
