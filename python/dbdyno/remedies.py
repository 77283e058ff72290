"""The cells of ``--try-remedies``: each that asks what a remedy answers, once more with the remedy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbdyno.compile.cell import CompiledCell, compile_cell
from dbdyno.design import Cell, cell_id, factors_of
from dbdyno.engines.url import with_settings
from dbdyno.errors import InputError
from dbdyno.experiment import SYSTEM, Experiment, Level
from dbdyno.experiment.remedies import Remedy
from dbdyno.searches import prefix_search


@dataclass(frozen=True)
class Tried:
    """A remedy, and by the id of each cell it is tried on the cell with it."""

    remedy: Remedy
    cells: Mapping[str, str] = field(default_factory=dict)


def remedy_cells(experiment: Experiment, compiled: Iterable[CompiledCell]) -> tuple[list[CompiledCell], list[Tried]]:
    """Give the cells to measure beside those there are, and what was tried on which.

    A cell gets a remedy where one of its statements asks what the remedy answers: whether it will be found wanting is
    not known before it is measured. Raises InputError where the experiment has no remedies.
    """
    remedies = experiment.head.remedies
    if not remedies:
        raise InputError("--try-remedies", f"`{experiment.name}` has no remedies", "leave it out")
    there = list(compiled)
    known = {each.cell.id: each for each in there}
    more: list[CompiledCell] = []
    tried: list[Tried] = []
    for remedy in remedies:
        pairs: dict[str, str] = {}
        for base in there:
            if base.cell.system.engine != remedy.engine or not _asks(base):
                continue
            cell = _with(experiment, base.cell, remedy)
            if cell.id == base.cell.id:
                continue
            if cell.id not in known:
                known[cell.id] = compile_cell(experiment, cell)
                more.append(known[cell.id])
            pairs[base.cell.id] = cell.id
        tried.append(Tried(remedy, pairs))
    return more, tried


def _asks(compiled: CompiledCell) -> bool:
    """Whether a statement of the cell searches for how a text begins."""
    statements = compiled.trial.get("statements", [])
    engine = compiled.cell.system.engine
    return any(prefix_search(each["sql"], each.get("example", []), engine) for each in statements)


def _with(experiment: Experiment, cell: Cell, remedy: Remedy) -> Cell:
    """Give a cell with a remedy."""
    levels = dict(cell.levels)
    for name, level in remedy.levels.items():
        levels[name] = experiment.factors[name].level(level) or Level.of(level)
    system = with_settings(cell.system, remedy.settings)
    levels[SYSTEM] = Level.of(system.name)
    return Cell(cell_id(factors_of(experiment), levels), levels, system)
