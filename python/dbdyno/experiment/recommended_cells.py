"""The additional cells of ``--try-recommendations``: copies of cells with a recommendation applied."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbdyno.base.errors import InputError
from dbdyno.engines.searches import prefix_search
from dbdyno.engines.url import with_settings
from dbdyno.experiment import SYSTEM, Experiment
from dbdyno.experiment.compile.cell import compile_cell
from dbdyno.experiment.design import cell_id, factors_of
from dbdyno.experiment.recommendations import Recommendation
from dbdyno.experiment.resolve import resolve
from dbdyno.model.experiment.levels import Level
from dbdyno.model.plan.cell import Cell, CompiledCell


@dataclass(frozen=True)
class Tried:
    """A recommendation. ``cells``: the id of the cell with the recommendation, by the id of the original cell."""

    recommendation: Recommendation
    cells: Mapping[str, str] = field(default_factory=dict)


def recommendation_cells(
    experiment: Experiment, compiled: Iterable[CompiledCell]
) -> tuple[list[CompiledCell], list[Tried]]:
    """Return the additional cells to measure, and the cells of each recommendation.

    A recommendation applies to a cell if one of its statements is a prefix search. Whether the search needs it is not
    known before the measurement. Raises InputError if the experiment has no recommendations.
    """
    recommendations = experiment.head.recommendations
    if not recommendations:
        raise InputError("--try-recommendations", f"`{experiment.name}` has no recommendations", "leave out the option")
    there = list(compiled)
    known = {compiled_cell.cell.id: compiled_cell for compiled_cell in there}
    more: list[CompiledCell] = []
    tried: list[Tried] = []
    for recommendation in recommendations:
        pairs: dict[str, str] = {}
        for base in there:
            if base.cell.system.engine != recommendation.engine or not _has_prefix_search(base):
                continue
            cell = _with_recommendation(experiment, base.cell, recommendation)
            if cell.id == base.cell.id:
                continue
            if cell.id not in known:
                known[cell.id] = compile_cell(experiment, resolve(experiment, cell))
                more.append(known[cell.id])
            pairs[base.cell.id] = cell.id
        tried.append(Tried(recommendation, pairs))
    return more, tried


def _has_prefix_search(compiled: CompiledCell) -> bool:
    """Whether a statement of the cell is a prefix search."""
    engine = compiled.cell.system.engine
    return any(prefix_search(statement.sql, statement.example, engine) for statement in compiled.task.statements)


def _with_recommendation(experiment: Experiment, cell: Cell, recommendation: Recommendation) -> Cell:
    """Return a cell with a recommendation applied."""
    levels = dict(cell.levels)
    for name, level in recommendation.levels.items():
        levels[name] = experiment.factors[name].level(level) or Level.of(level)
    system = with_settings(cell.system, recommendation.settings)
    levels[SYSTEM] = Level.of(system.name)
    return Cell(cell_id(factors_of(experiment), levels), levels, system)
