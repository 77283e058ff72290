"""The settings of a cell's system: those of the experiment and those of the URL put together."""

from dbdyno.design import Cell
from dbdyno.errors import InputError
from dbdyno.experiment.definition import Definition
from dbdyno.experiment.experiment import Experiment
from dbdyno.systems.server_settings import ServerSettings, read_server_settings
from dbdyno.systems.sqlite_settings import DEFAULT, Scalar, SqliteSettings, read_settings


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


def sqlite_settings(experiment: Experiment, definition: Definition, cell: Cell) -> SqliteSettings:
    """Give the checked settings of a cell on SQLite. Raises InputError for an unknown one."""
    own = set(cell.system.settings)
    merged = merge_settings(experiment, definition, cell)
    # Each in its own place, so that a mistake is told where it was made.
    read_settings({name: value for name, value in merged.items() if name in own}, cell.system.name)
    return read_settings(merged, f"{experiment.place}: system.sqlite")


def server_settings(experiment: Experiment, definition: Definition, cell: Cell) -> ServerSettings:
    """Give the settings of a cell on a server. Raises InputError for what cannot be one."""
    system = cell.system
    merged = merge_settings(experiment, definition, cell)
    return read_server_settings(system.engine, merged, system.name, system.host is not None)


def unsafe_reason(settings: SqliteSettings, clients: int) -> str | None:
    """Say why settings cannot be used with so many clients, or ``None``.

    A connection without a mutex (``open_mutex=nomutex``) is safe: each client has one of its own.
    """
    single = settings.is_single_threaded
    if single and clients > 1:
        return f"`{single}` leaves SQLite without any mutex: {clients} clients in one process would corrupt its memory"
    return None
