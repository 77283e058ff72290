"""One cell of an experiment, compiled: its plans, and the key of the data it starts from."""

import math
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.dialect import Dialect
from dbdyno.experiment.compile.loading import definitions, load_tables
from dbdyno.experiment.compile.transactions import TransactionCompiler
from dbdyno.experiment.experiment import Experiment
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.timed import Timed
from dbdyno.model.limits import MOST_INTERVALS
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell, TimedStatement

# Of the timeline: how many intervals a window of known length has, as far as they are no shorter and no longer than
# this; and milliseconds of one where an amount of work ends the window, whose length nobody knows before.
_INTERVALS = 20
_SHORTEST_INTERVAL_MS = 50
_LONGEST_INTERVAL_MS = 1000
_SHORT_INTERVAL_MS = 100


def compile_cell(experiment: Experiment, cell: ResolvedCell) -> CompiledCell:
    """Compile a cell. Raises InputError where its levels or settings cannot be used, or are unsafe together."""
    definition, settings = cell.definition, cell.settings
    engine = engine_of(cell.system.engine)
    if engine.runs_programs:
        return _program(experiment, cell)
    if not definition.transactions:
        problem = "there are no transactions, which only an `exec:` system does without"
        raise InputError(experiment.place, problem, "add a [[transactions]] table")
    load = definition.load
    if load.memory_limit_mb is not None and load.clients_as == "processes" and engine.in_worker:
        problem = "the memory of clients that are processes cannot be limited together"
        raise InputError(f"{experiment.place}: {cell.id}", problem, 'write `clients_as = "threads"`')
    unfit = engine.unfit(settings, definition.load.sharing, definition.load.processes)
    if unfit is not None:
        raise InputError(f"{experiment.place}: {cell.id}", *unfit)
    dialect = engine.dialect(definition, experiment.place, settings)
    compiler = TransactionCompiler(definition, dialect, experiment.place)
    transactions = [compiler.transaction(each) for each in definition.transactions if each.include]
    before, after = definitions(definition, dialect)
    tables = load_tables(definition, dialect, Path(experiment.folder), experiment.place)
    trial = {
        "kind": "trial",
        **_load(definition),
        "statements": compiler.statements,
        "transactions": transactions,
        "record": definition.measure.model_dump(include={"phases", "operations", "io", "mutexes", "waits"})
        | {"interval_ms": _interval_ms(definition)},
    }
    timed = [made for each in definition.timed if each.include and (made := _timed(each, dialect)) is not None]
    return CompiledCell(cell, before, tables, after, trial, tuple(sorted(compiler.left_out)), tuple(timed))


def _timed(timed: Timed, dialect: Dialect) -> TimedStatement | None:
    """Give a timed statement as the engine takes it; ``None``: it has no text for it."""
    text = dialect.statement(timed.run)
    undo = [dialect.statement(each) for each in timed.undo]
    return None if text is None else TimedStatement(timed.name, text, tuple(each for each in undo if each is not None))


def _interval_ms(definition: Definition) -> int:
    """Give the length of an interval of the timeline: short enough that a window has several to compare."""
    seconds = definition.load.stop.seconds
    if definition.measure.interval_ms is not None:
        return definition.measure.interval_ms
    if seconds is None or definition.load.stop.amounts:
        return _SHORT_INTERVAL_MS
    several = min(_LONGEST_INTERVAL_MS, max(_SHORTEST_INTERVAL_MS, seconds * 1000 / _INTERVALS))
    return max(round(several), math.ceil(seconds * 1000 / MOST_INTERVALS))


def _program(experiment: Experiment, cell: ResolvedCell) -> CompiledCell:
    """Compile a cell whose system is a program of the user's own: its command must be complete."""
    place = f"{experiment.place}: {cell.id}"
    load = cell.definition.load
    if load.memory_limit_mb is not None:
        raise InputError(place, "the memory of a program is not limited", "leave out `load.memory_limit_mb`")
    if load.clients != 1:
        raise InputError(place, "a program is run by one client", "let the program itself do more at once")
    times = load.stop.transactions
    if times is None or load.stop.seconds is not None:
        problem = "how often a program is run in a trial is given by `stop = { transactions = … }` alone"
        raise InputError(place, problem, "set it to 1 for programs that take a second or more")
    trial = {"kind": "program", **_load(cell.definition)}
    compiled = CompiledCell(cell, [], [], [], trial)
    try:
        compiled.command  # noqa: B018
    except (KeyError, IndexError, ValueError) as error:
        problem = f"`{cell.system.command}` names {error}, which is no factor"
        known = ", ".join(f"{{{name}}}" for name in cell.levels if name != "system") or "none"
        raise InputError(place, problem, f"known: {known}; write `{{{{` for a brace") from None
    return compiled


def refusal(cell: ResolvedCell) -> str | None:
    """Give the reason for which a cell cannot be measured, or ``None``; for ``make_cells``."""
    load = cell.definition.load
    unfit = engine_of(cell.system.engine).unfit(cell.settings, load.sharing, load.processes)
    return None if unfit is None else unfit[0]


def _load(definition: Definition) -> dict[str, Any]:
    load = definition.load
    arrival = {"loop": "open", **load.arrival.model_dump()} if load.arrival else {"loop": "closed"}
    return {
        "clients": load.clients,
        "arrival": arrival,
        "warmup": load.warmup.model_dump(),
        "window": load.stop.model_dump(),
        "connect": load.connect,
        **({"give_way": True} if load.give_way else {}),
        "prepare": load.prepare,
        "retry": load.retry.model_dump(),
    }
