"""What an experiment is at a cell, worked out once: its definition, and the settings of the cell's system."""

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.experiment.experiment import Experiment
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.plan.cell import Cell, ResolvedCell
from dbdyno.model.plan.settings import DEFAULT, Scalar, Settings


def merge_settings(experiment: Experiment, definition: Definition, cell: Cell) -> dict[str, Scalar]:
    """Put together what is set on a cell's system.

    A setting of the URL takes the place of one that stands in the experiment as a plain value. A setting that a
    factor decides must not be in the URL as well, unless both say the same or the factor's level is ``default``: the
    cell would not be what its name says. Raises InputError then.
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
    """Give the checked settings of a cell's system. Raises InputError for what cannot be one."""
    system, engine = cell.system, engine_of(cell.system.engine)
    if engine.runs_programs:
        return Settings()
    merged = merge_settings(experiment, definition, cell)
    unused = engine.unused(system, definition)
    if unused is not None:
        raise InputError(f"{system.name}: {unused[0]}", f"it has no effect: {unused[1]}", "leave it out")
    named = system.host is not None
    try:
        return engine.read_settings(
            merged, system.name if engine.is_server else f"{experiment.place}: system.{engine.name}", named=named
        )
    except InputError:
        # An error is told where it was made: in the URL, where one is in what that says.
        own = {name: value for name, value in merged.items() if name in system.settings}
        engine.read_settings(own, system.name, named=named)
        raise


def resolve(experiment: Experiment, cell: Cell) -> ResolvedCell:
    """Say what an experiment is at a cell. This is the one place that works it out; the rest is handed what it gives.

    Raises InputError where a level does not fit the place that it is put into, or a setting cannot be one.
    """
    definition = experiment.definition(cell.levels)
    settings = read_settings(experiment, definition, cell)
    return ResolvedCell(cell.id, cell.levels, cell.system, definition, settings)
