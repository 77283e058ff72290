"""Compile a cell of an experiment to its load plan and trial plan."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.dialect import Dialect
from dbdyno.experiment.compile.paths import path_errors
from dbdyno.experiment.compile.tables import definitions, load_tables
from dbdyno.experiment.compile.transactions import TransactionCompiler
from dbdyno.experiment.experiment import Experiment
from dbdyno.model.experiment import transactions as written
from dbdyno.model.experiment.check import Check
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.load import Open as Arrival
from dbdyno.model.experiment.timed import Timed
from dbdyno.model.experiment.validation import Invalid, Location, raise_all
from dbdyno.model.limits import MAX_INTERVALS
from dbdyno.model.plan.cell import CheckQuery, CompiledCell, ResolvedCell, TimedStatement
from dbdyno.model.plan.steps import Transaction
from dbdyno.model.plan.tasks import Beside, Closed, Open, Record, Retry, Stage, Statement, TrialTask, Warmup, Window

# The timeline: number of intervals of a window with a known length, and the limits of an interval's length. The last
# value is the length in milliseconds if an amount of work ends the window, so that its length is unknown.
_INTERVALS = 20
_MIN_INTERVAL_MS = 50
_MAX_INTERVAL_MS = 1000
_SHORT_INTERVAL_MS = 100


def compile_cell(experiment: Experiment, cell: ResolvedCell) -> CompiledCell:
    """Compile a cell. Raises InputError if its levels or settings can't be used, or are unsafe in combination."""
    definition, settings = cell.definition, cell.settings
    engine = engine_of(cell.system.engine)
    if engine.runs_programs:
        return _program(experiment, cell)
    if not definition.transactions:
        problem = "missing transactions, which only `exec:` systems don't need"
        raise InputError(experiment.location, problem, "add a [[transactions]] table")
    load = definition.load
    if load.memory_limit_mb is not None and load.clients_as == "processes" and engine.in_worker:
        problem = "dbdyno can't limit the total memory of clients that are processes"
        raise InputError(f"{experiment.location}: {cell.id}", problem, 'write `clients_as = "threads"`')
    unfit = engine.unfit(settings, definition.load.sharing, definition.load.processes)
    if unfit is not None:
        raise InputError(f"{experiment.location}: {cell.id}", *unfit)
    dialect = engine.dialect(definition, experiment.location, settings)
    compiler = TransactionCompiler(definition, dialect, experiment.location)
    transactions = [compiler.transaction(transaction) for transaction in definition.transactions if transaction.include]
    before, after = definitions(definition, dialect)
    tables = load_tables(definition, dialect, Path(experiment.folder), experiment.location)
    beside, without = _beside(definition, dialect, experiment.location)
    raise_all(experiment.location, _path_errors(definition, compiler))
    task = replace(_task(definition, compiler.statements, transactions), beside=beside)
    timed = [made for each in definition.timed if each.include and (made := _timed(each, dialect)) is not None]
    queries = {check.name: _check(check, dialect) for check in definition.check if check.include}
    checks = [query for query in queries.values() if query is not None]
    unchecked = tuple(name for name, query in queries.items() if query is None)
    left_out = tuple(sorted(compiler.left_out | without))
    return CompiledCell(cell, before, tables, after, task, left_out, unchecked, tuple(timed), tuple(checks))


def _path_errors(definition: Definition, compiler: TransactionCompiler) -> Iterator[Invalid]:
    """Yield the errors of transactions and work beside the clients that don't end on each path."""
    works: list[tuple[Location, written.Transaction | written.Beside]] = [
        *((("transactions", index), each) for index, each in enumerate(definition.transactions)),
        *((("beside", index), each) for index, each in enumerate(definition.beside)),
    ]
    for where, work in works:
        if work.include:
            for error in path_errors(work.steps, (*where, "steps"), compiler.applies):
                yield error._replace(problem=f"`{work.name}`: {error.problem}")


def _beside(definition: Definition, dialect: Dialect, location: str) -> tuple[list[Beside], set[str]]:
    """Return the work beside the clients, and the kinds of its steps that were left out."""
    beside: list[Beside] = []
    left_out: set[str] = set()
    for each in definition.beside:
        if each.include:
            # The work has statements of its own.
            compiler = TransactionCompiler(definition, dialect, location)
            steps = compiler.work(each.steps, each.name)
            left_out |= compiler.left_out
            if steps:
                statements = compiler.statements
                work = Beside(name=each.name, at_s=each.at_s, every_s=each.every, statements=statements, steps=steps)
                beside.append(work)
    return beside, left_out


def _check(check: Check, dialect: Dialect) -> CheckQuery | None:
    """Return a check in the engine's SQL; ``None`` if it has no text for this engine."""
    text = dialect.statement(check.sql)
    return None if text is None else CheckQuery(check.name, text, check.equals)


def _timed(timed: Timed, dialect: Dialect) -> TimedStatement | None:
    """Return a timed statement in the engine's SQL; ``None`` if it has no text for this engine."""
    text = dialect.statement(timed.run)
    undo = [dialect.statement(sql) for sql in timed.undo]
    return None if text is None else TimedStatement(timed.name, text, tuple(each for each in undo if each is not None))


def _interval_ms(definition: Definition) -> int:
    """Return the length of a timeline interval in milliseconds, so that a window has several intervals."""
    seconds = definition.load.stop.seconds
    if definition.measure.interval_ms is not None:
        return definition.measure.interval_ms
    if seconds is None or definition.load.stop.amounts:
        return _SHORT_INTERVAL_MS
    several = min(_MAX_INTERVAL_MS, max(_MIN_INTERVAL_MS, seconds * 1000 / _INTERVALS))
    return max(round(several), math.ceil(seconds * 1000 / MAX_INTERVALS))


def _program(experiment: Experiment, cell: ResolvedCell) -> CompiledCell:
    """Compile a cell whose system is the user's program (``exec:``)."""
    location = f"{experiment.location}: {cell.id}"
    load = cell.definition.load
    if load.memory_limit_mb is not None:
        raise InputError(location, "dbdyno can't limit the memory of a program", "leave out `load.memory_limit_mb`")
    if load.clients != 1:
        raise InputError(location, "a program has one client", "implement concurrency in the program itself")
    times = load.stop.transactions
    if times is None or load.stop.seconds is not None:
        problem = "for programs, only `stop = { transactions = … }` is supported, the number of executions per trial"
        raise InputError(location, problem, "set it to 1 for programs that take a second or more")
    compiled = CompiledCell(cell, [], [], [], _task(cell.definition, [], []))
    try:
        compiled.command  # noqa: B018
    except (KeyError, IndexError, ValueError) as error:
        problem = f"`{cell.system.command}` refers to {error}, which is not a factor"
        known = ", ".join(f"{{{name}}}" for name in cell.levels if name != "system") or "none"
        raise InputError(location, problem, f"known factors: {known}; write `{{{{` for a brace") from None
    return compiled


def refusal(cell: ResolvedCell) -> str | None:
    """Return why a cell can't be measured, or ``None``; a callback for ``make_cells``."""
    load = cell.definition.load
    unfit = engine_of(cell.system.engine).unfit(cell.settings, load.sharing, load.processes)
    return None if unfit is None else unfit[0]


def _arrival(arrival: Arrival | None) -> Open | Closed:
    if arrival is None:
        return Closed()
    stages = [Stage(seconds=stage.seconds, from_=stage.rate[0], to=stage.rate[1]) for stage in arrival.stages]
    return Open(rate=arrival.rate, gaps=arrival.gaps, stages=stages)


def _task(definition: Definition, statements: list[Statement], transactions: list[Transaction]) -> TrialTask:
    load, measure, stop = definition.load, definition.measure, definition.load.stop
    return TrialTask(
        clients=load.clients,
        arrival=_arrival(load.arrival),
        warmup=Warmup(seconds=load.warmup.seconds, transactions=load.warmup.transactions),
        window=Window(seconds=stop.seconds, transactions=stop.transactions, statements=stop.statements, rows=stop.rows),
        connect=load.connect,
        give_way=load.give_way,
        prepare=load.prepare,
        retry=Retry(attempts=load.retry.attempts, on=load.retry.on, wait_ms=load.retry.wait_ms),
        statements=statements,
        transactions=transactions,
        record=Record(
            phases=measure.phases,
            operations=measure.operations,
            io=measure.io,
            mutexes=measure.mutexes,
            waits=measure.waits,
            interval_ms=_interval_ms(definition),
        ),
    )
