"""Which statements of a cell write, and which access other databases, as reported by the engine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dbdyno.base.errors import InputError
from dbdyno.engines.lookup import engine_of
from dbdyno.model.events.answers import OnlyReads, Reach, Writes
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import ReachTask, WritesTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask

if TYPE_CHECKING:
    # Imported for types only: the provisioners import this module.
    from dbdyno.engines.provisioner import Provisioning

ALLOW = "--allow-writes"

# What SQLite and DuckDB statements may write to if they may access more than their copy of a file.
OTHER_FILES = "other files"

# Time limit in seconds for checking all statements of a cell.
_TIMEOUT_S = 3600.0

# Number of characters that messages show of a statement.
_SHOWN = 60


# ``yes``: it writes; ``unknown``: it may write; ``rejected``: the system doesn't accept it; ``beyond``: it accesses
# something outside its own database.
WriteVerdict = Literal["yes", "unknown", "rejected", "beyond"]


@dataclass(frozen=True)
class Writing:
    """A statement that may write, or may access something outside its own database, and why."""

    statement: str
    why: str
    verdict: WriteVerdict

    @property
    def shown(self) -> str:
        """The beginning of the statement, in backticks."""
        name = " ".join(self.statement.split())
        return f"`{name[:_SHOWN]}…`" if len(name) > _SHOWN else f"`{name}`"

    @property
    def clause(self) -> str:
        """The statement and the verdict, as a clause."""
        if self.verdict == "beyond":
            return f"{self.shown} ({self.why})"
        return f"{self.shown} {'writes' if self.verdict == 'yes' else 'is not known to be a read'} ({self.why})"


def writing_transactions(compiled: CompiledCell, provisioners: "Provisioning") -> dict[str, bool]:
    """Return for each transaction of a planned cell, by name, whether the engine says that it writes.

    Statements that the engine can't judge count as writes. Loads the cell's tables if necessary, and doesn't change the
    data that its trials start from. The user's own programs have no transactions. Raises DbdynoError.
    """
    if not compiled.task.transactions:
        return {}
    with provisioners.of(compiled).ready(compiled, 0) as ready:
        return writes_by_transaction(compiled, ready.target)


def writes_by_transaction(compiled: CompiledCell, target: Mapping[str, Any]) -> dict[str, bool]:
    """Return for each transaction, by its name, whether it writes to the target. Raises SystemFailed."""
    return _ask_writes(compiled, target).transactions


def writing_statements(compiled: CompiledCell, target: Mapping[str, Any]) -> list[Writing]:
    """Return the statements of a cell's transactions that are not known to be reads. None is executed.

    Raises SystemFailed.
    """
    return [
        Writing(_text(compiled, statement.name), statement.why, statement.writes)
        for statement in _ask_writes(compiled, target).statements
        if not isinstance(statement, OnlyReads)
    ]


def reaching_statements(compiled: CompiledCell, target: Mapping[str, Any], own: Sequence[str]) -> list[Writing]:
    """Return the statements of a cell that access anything but the databases created for it (``own``) and may write.

    Statements known to be reads may access other databases. ``target``: an existing database of the system. Raises
    SystemFailed.
    """
    making = [*compiled.before, *compiled.after, *(f"table {table.name}" for table in compiled.tables)]
    statements = [*making, *(statement.sql for statement in compiled.task.with_all_statements().statements)]
    words = engine_of(target["engine"]).escape_words
    if words is not None and not any(word in text.lower() for text in statements for word in words):
        return []
    task = ReachTask(target=dict(target), own=own, statements=statements)
    answers = ask(WorkerPlan(task=task), Reach, _TIMEOUT_S).beyond
    beyond = [Writing(text, why, "beyond") for text, why in zip(statements, answers, strict=True) if why is not None]
    if not beyond or not engine_of(target["engine"]).is_server:
        return beyond
    writing = {*making, *(each.statement for each in writing_statements(compiled, target))}
    return [each for each in beyond if each.statement in writing]


def refuse(system: SystemSpec, what: str, writings: Sequence[Writing]) -> None:
    """Raise InputError if statements may write to ``what``, which dbdyno didn't create, or the system rejects one."""
    if not writings:
        return
    rejected = next((writing for writing in writings if writing.verdict == "rejected"), None)
    if rejected is not None:
        raise InputError(system.name, f"the server does not accept {rejected.shown}: {rejected.why}")
    more = f", and {len(writings) - 1} more" if len(writings) > 1 else ""
    if writings[0].verdict == "beyond":
        problem = f"{writings[0].shown} is not allowed: {writings[0].why}{more}"
        raise InputError(system.name, problem, f"leave it out, or allow it with `{ALLOW}`")
    raise not_ours(system, what, f"{writings[0].clause}{more}")


def not_ours(system: SystemSpec, what: str, clause: str) -> InputError:
    """Return the error for a write (``clause``) to ``what``, which dbdyno didn't create."""
    problem = f"{clause}, and dbdyno didn't create {what}"
    return InputError(
        system.name, problem, f"allow it with `{ALLOW}`, or measure it on tables that an experiment creates"
    )


def allowed(system: SystemSpec, what: str, writings: Iterable[Writing]) -> dict[str, Any]:
    """Return the observation that a run with `--allow-writes` may have written to ``what``."""
    statements = [
        {
            "statement": writing.statement,
            "why": writing.why,
            "certain": writing.verdict == "yes",
            "told": writing.clause,
        }
        for writing in writings
    ]
    return {"kind": "writes allowed", "system": system.name, "wrote_to": what, "statements": statements}


def _ask_writes(compiled: CompiledCell, target: Mapping[str, Any]) -> Writes:
    asked = compiled.task.with_all_statements()
    task = WritesTask(
        target=dict(target),
        statements=asked.statements,
        transactions=asked.transactions,
        prepare=compiled.task.prepare,
        data_seed=compiled.definition.data_seed,
    )
    return ask(WorkerPlan(task=task), Writes, _TIMEOUT_S)


def _text(compiled: CompiledCell, name: str) -> str:
    return next(statement.sql for statement in compiled.task.with_all_statements().statements if statement.name == name)
