"""Open an experiment's systems and prepare its statements, without executing them.

`describe --check` checks everything; a run checks its statements before it starts.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines import engine_of
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.experiment.validation import ValidationErrors
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import Transaction
from dbdyno.model.plan.tasks import Statement, TrialTask, Window, shifted
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.start_failures import FIRST, missing_database, work_key
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.templates import unkept

# Seconds for opening a system and preparing all statements of a cell.
_TIMEOUT_S = 600.0

# Loading more rows than this takes longer than opening a system.
_MANY_ROWS = 100_000

# Characters of a statement that identify it in a message.
_SHOWN = 60


@dataclass(frozen=True)
class Opened:
    """An opened system: its reported engine and version, and the number of statements it prepared.

    ``version``: empty for programs, which are not started. ``statements``: None if the engine doesn't prepare.
    ``unprepared``: the tables of the experiment with statements that can't be prepared, because earlier ones may create
    what they need.
    """

    system: str
    engine: str
    version: str
    statements: int | None
    unprepared: tuple[str, ...] = ()


def open_systems(
    cells: Sequence[CompiledCell], directory: str | None = None, allow_writes: bool = False
) -> list[Opened]:
    """Open the system of each cell, and prepare the statements of each distinct set of transactions and checks.

    Tables are created empty, and the setup runs on them. Statements are prepared, not executed, except for reads in a
    user's database if the engine cannot classify them otherwise. Raises InputError with one line per error.
    """
    errors: dict[str, InputError] = {}
    lost: set[str] = set()
    found: dict[str, Opened] = {}
    prepared: dict[str, set[str]] = {}
    with Provisioners(directory, allow_writes) as strict, Provisioners(directory, True) as lenient:
        for cell in _distinct(cells):
            system = cell.cell.system
            if system.name in lost:
                continue
            try:
                checked = _open(cell, lenient, strict)
            except SystemFailed as error:
                # Don't wait for an unavailable system again.
                lost.add(system.name)
                wrong = InputError(system.name, str(error), missing_database(cell, str(error)))
                errors[str(wrong)] = wrong
                continue
            except InputError as error:
                errors |= _each(error)
                continue
            texts = prepared.setdefault(system.name, set())
            texts.update(_texts(cell))
            count = len(texts) if checked.statements is not None else None
            found[system.name] = replace(checked, statements=count)
    if errors:
        raise _together(list(errors.values()))
    return list(found.values())


def check_programs(cells: Iterable[CompiledCell]) -> None:
    """Find the user's programs before the first trial. Raises InputError for a missing one."""
    for cell in cells:
        system = cell.cell.system
        if not engine_of(system.engine).runs_programs:
            continue
        program = cell.command[0]
        # The kernel resolves a path from the working directory, and a name by PATH.
        location = str(Path(system.folder or ".").absolute() / program) if "/" in program else program
        if shutil.which(location) is None:
            exists = Path(location).exists() if "/" in program else False
            problem = "it cannot be executed" if exists else "no such file or directory"
            hint = f"`chmod +x {program}` makes it a program" if exists else "build it, or give its path"
            raise InputError(system.name, f"{program} cannot be started: {problem}", hint)


def check_statements(cells: Iterable[CompiledCell], provisioners: Provisioners) -> None:
    """Prepare the statements of a run on empty tables before long loads.

    If loads are short, the first trial reports the errors instead. Each distinct set is prepared once per embedded
    system, and once per kind of server. Settings are not checked, and an unavailable system is reported by its trials.
    Raises InputError with one line per rejected statement if a system rejects all of its sets; otherwise the trials of
    rejected statements fail.
    """
    errors: dict[str, dict[str, InputError]] = {}
    sets: dict[str, set[str]] = {}
    accepted: set[str] = set()
    for cell in cells:
        engine, system = engine_of(cell.cell.system.engine), cell.cell.system
        name = f"{engine.name} {system.host}" if engine.is_server else system.name
        if not _loads_long(cell) or engine.grammar is None:
            continue
        # A statement that is prepared at its use may need a table that a step creates.
        if cell.task.prepare != "once":
            accepted.add(name)
            continue
        empty = _empty(cell)
        if name in accepted or work_key(empty) in sets.setdefault(name, set()):
            continue
        sets[name].add(work_key(empty))
        try:
            with unkept():
                _prepare(empty, provisioners, _places(empty))
        except InputError as error:
            errors.setdefault(name, {}).update(_each(error))
            continue
        except SystemFailed:
            pass
        accepted.add(name)
    refused = [wrong for name, found in errors.items() if name not in accepted for wrong in found.values()]
    if refused:
        raise _together(refused)


def check_each_statement(cells: Iterable[CompiledCell], provisioners: Provisioners) -> None:
    """Prepare each statement of a file or of the command line on each system before the first trial.

    So are the statements of other experiments on existing tables, unless they are prepared at their use. The tables
    exist, so that this is fast. Raises InputError with each statement that a system rejects.
    """
    by_system: dict[str, CompiledCell] = {}
    places: dict[str, str] = {}
    for cell in cells:
        # The other check creates a run's own tables first.
        makes_tables = bool(cell.tables or cell.before or cell.after)
        is_prepared = STATEMENT in cell.cell.factors or cell.task.prepare == "once"
        if makes_tables or not is_prepared or engine_of(cell.cell.system.engine).grammar is None:
            continue
        known = by_system.get(cell.cell.system.name)
        by_system[cell.cell.system.name] = cell if known is None else _joined(known, cell)
        places = _places(cell) | places
    errors: dict[str, InputError] = {}
    for cell in by_system.values():
        try:
            with unkept():
                _prepare(cell, provisioners, places)
        except InputError as error:
            errors |= _each(error)
        except SystemFailed:
            continue
    if errors:
        raise _together(list(errors.values()))


def _joined(before: CompiledCell, cell: CompiledCell) -> CompiledCell:
    """Return a cell with the transactions and statements of another one before its own."""
    shift = len(before.task.statements)
    moved = [replace(transaction, steps=shifted(transaction.steps, shift)) for transaction in cell.task.transactions]
    task = replace(
        cell.task,
        statements=[*before.task.statements, *cell.task.statements],
        transactions=[*before.task.transactions, *moved],
    )
    return replace(cell, task=task)


def _loads_long(compiled: CompiledCell) -> bool:
    return sum(table.rows for table in compiled.tables) > _MANY_ROWS


def _empty(cell: CompiledCell) -> CompiledCell:
    """Return a cell with empty tables, whose statements include the queries of its checks."""
    queries = [Statement(name=check.name, sql=check.sql) for check in cell.checks]
    return replace(cell, tables=[], task=replace(cell.task, statements=[*cell.task.statements, *queries]))


def _distinct(cells: Iterable[CompiledCell]) -> Iterator[CompiledCell]:
    """Yield one cell for each system and set of transactions, its tables without rows."""
    seen: set[tuple[str, str]] = set()
    for cell in cells:
        empty = _empty(cell)
        key = (cell.cell.system.name, work_key(empty))
        if key not in seen:
            seen.add(key)
            yield empty


def _open(compiled: CompiledCell, lenient: Provisioners, strict: Provisioners) -> Opened:
    """Open a cell's system and prepare its statements. Raises InputError and SystemFailed."""
    system = compiled.cell.system
    engine = engine_of(system.engine)
    if engine.runs_programs:
        return Opened(system.name, system.engine, "", None)
    # Prepare it before the check for writes, which reports invalid statements as possible writes.
    is_made = bool(compiled.before or compiled.after)
    places = _places(compiled)
    facts = None if is_made else _prepare(compiled, lenient, places).engine
    if facts is None:
        facts = _prepare(compiled, strict, places).engine
    else:
        strict.of(compiled).check(compiled)
    prepares = engine.grammar is not None
    if not prepares:
        return Opened(system.name, facts.engine, facts.version, None)
    later = {"beside": compiled.task.beside, "timed": compiled.timed}
    unprepared = tuple(key for key, each in later.items() if each)
    return Opened(system.name, facts.engine, facts.version, len(_texts(compiled)), unprepared)


def _places(cell: CompiledCell) -> dict[str, str]:
    """Return file and line of the statements of a SQL file, by their text."""
    places, alone = cell.cell.places, str(cell.cell.factors.get(STATEMENT))
    found = {each.sql: places.get(alone) or places.get(each.name) for each in cell.task.statements}
    return {sql: place for sql, place in found.items() if place is not None}


def _prepare(compiled: CompiledCell, provisioners: Provisioners, places: Mapping[str, str]) -> TrialResult:
    """Prepare a cell's statements. ``places``: file and line by text. Raises InputError, SystemFailed."""
    provisioner = provisioners.of(compiled)
    provisioner.check(compiled)
    with provisioner.ready(compiled, 0) as ready:
        statements = compiled.task.statements
        try:
            return prepare_on(ready.target, statements, provisioners)
        except SystemFailed as error:
            wrong = [
                _wrong(compiled, statement, words, places.get(statement.sql))
                for statement in statements
                if (words := _refused(ready.target, statement, provisioners)) is not None
            ]
            # The system itself is unavailable.
            if not wrong or _refused(ready.target, None, provisioners) is not None:
                raise SystemFailed(_words(error)) from error
            raise _together(wrong) from error


def _wrong(compiled: CompiledCell, statement: Statement, words: str, place: str | None) -> InputError:
    """Return the error of a rejected statement. ``place``: its file and line, if it has them."""
    system, hint = compiled.cell.system.name, missing_database(compiled, words)
    if place is None:
        return InputError(system, f"{_shown(statement.sql)}: {words}", hint)
    return InputError(place, f"rejected by {system}: {words}", hint)


def _refused(target: Mapping[str, Any], statement: Statement | None, provisioners: Provisioners) -> str | None:
    """Return the error of opening a target with a statement, or without one; ``None`` on success."""
    try:
        prepare_on(target, [] if statement is None else [statement], provisioners)
    except SystemFailed as error:
        return _words(error)
    return None


def prepare_on(target: Mapping[str, Any], statements: Sequence[Statement], provisioners: Provisioners) -> TrialResult:
    """Let one client open a session and prepare all statements without executing one; the result has their plans.

    ``statements``: as in a plan. Raises SystemFailed.
    """
    task = TrialTask(
        target=dict(target),
        clients=1,
        window=Window(transactions=1),
        statements=statements,
        transactions=[Transaction(name="nothing", steps=[])],
    )
    return ask(WorkerPlan(task=task), TrialResult, _TIMEOUT_S, provisioners.interrupted)


def _each(error: InputError) -> dict[str, InputError]:
    """Return the errors by message, so that systems with the same message share one."""
    several = error.errors if isinstance(error, ValidationErrors) else [error]
    return {str(wrong): wrong for wrong in several}


def _together(errors: list[InputError]) -> InputError:
    return errors[0] if len(errors) == 1 else ValidationErrors(errors)


def _words(error: SystemFailed) -> str:
    return str(error).removeprefix(FIRST)


def _texts(compiled: CompiledCell) -> set[str]:
    return {statement.sql for statement in compiled.task.statements}


def _shown(sql: str) -> str:
    name = " ".join(sql.split())
    return f"`{name[:_SHOWN]}…`" if len(name) > _SHOWN else f"`{name}`"
