"""Resolve a cell: the experiment's definition with the cell's levels, and the settings of the cell's system."""

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.experiment.experiment import Experiment
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.plan.cell import Cell, ResolvedCell
from dbdyno.model.plan.settings import DEFAULT, Scalar, Settings


def merge_settings(experiment: Experiment, definition: Definition, cell: Cell) -> dict[str, Scalar]:
    """Merge the settings of a cell's system from the experiment and the URL.

    Settings in the URL override plain values in the experiment. They must not contradict a setting that a factor sets,
    because the cell's name would be wrong. Raises InputError then. A factor's level ``default`` can be overridden.
    """
    merged = dict(definition.system.get(cell.system.engine, {}))
    factors = experiment.factor_settings(cell.system.engine, cell.levels)
    for name, value in cell.system.settings.items():
        factor = factors.get(name)
        if factor and name in merged and str(merged[name]) != value:
            problem = f"`{name}` is set to `{value}`, but the factor `{factor}` sets it to `{merged[name]}`"
            raise InputError(cell.system.name, problem, f"leave it out of the URL and use `--set {factor}=…`")
        merged[name] = value
    return {name: value for name, value in merged.items() if value != DEFAULT}


def read_settings(experiment: Experiment, definition: Definition, cell: Cell) -> Settings:
    """Return the validated settings of a cell's system. Raises InputError for an invalid setting."""
    system, engine = cell.system, engine_of(cell.system.engine)
    if engine.runs_programs:
        return Settings()
    merged = merge_settings(experiment, definition, cell)
    unused = engine.unused(system, definition)
    if unused is not None:
        raise InputError(f"{system.name}: {unused[0]}", f"no effect: {unused[1]}", "leave it out")
    named = system.host is not None
    try:
        return engine.read_settings(
            merged, system.name if engine.is_server else f"{experiment.location}: system.{engine.name}", named=named
        )
    except InputError:
        # Report an error in the URL with the URL as its place.
        own = {name: value for name, value in merged.items() if name in system.settings}
        engine.read_settings(own, system.name, named=named)
        raise


def resolve(experiment: Experiment, cell: Cell) -> ResolvedCell:
    """Return a cell with its definition and settings. All other code uses the result instead of the experiment file.

    Raises InputError if a level is invalid where the file refers to its factor, or if a setting is invalid.
    """
    definition = experiment.definition(cell.levels)
    settings = read_settings(experiment, definition, cell)
    return ResolvedCell(cell.id, cell.levels, cell.system, definition, settings, experiment.places)
