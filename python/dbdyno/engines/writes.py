"""What a cell's statements write, as its engine tells: which of them do, and which reach beyond their database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbdyno.engines.known import engine_of
from dbdyno.errors import InputError
from dbdyno.events.answers import OnlyReads, Reach, Writes
from dbdyno.plan.cell import PLAN, CompiledCell
from dbdyno.plan.system import SystemSpec
from dbdyno.worker import ask

if TYPE_CHECKING:
    # The provisioners ask about their statements here.
    from dbdyno.engines.provisioner import Provisioning

ALLOW = "--allow-writes"

# What a statement of SQLite leads to that leads away from the copy.
OTHER_FILE = "the other file"

# Seconds for asking about all statements of a cell; each that reads is run once.
_LONGEST_S = 3600.0

# A statement's first characters tell which it is.
_SHOWN = 60


@dataclass(frozen=True)
class Writing:
    """A statement that writes, or of which that cannot be told (``certain`` is then false). ``why``: what told it."""

    statement: str
    why: str
    certain: bool = True

    @property
    def told(self) -> str:
        """Say it in a clause."""
        name = " ".join(self.statement.split())
        name = f"`{name[:_SHOWN]}…`" if len(name) > _SHOWN else f"`{name}`"
        return f"{name} {'writes' if self.certain else 'may write'} ({self.why})"


def writing_transactions(compiled: CompiledCell, provisioners: "Provisioning") -> dict[str, bool]:
    """Tell for each transaction of a planned cell, by its name, whether it writes, as the engine says.

    What cannot be told counts as writing. The cell's tables are loaded where they were not yet, and nothing is written
    to what its trials start from. A program of the user's own has no transactions. Raises DbdynoError.
    """
    if not compiled.trial.get("transactions"):
        return {}
    with provisioners.of(compiled).ready(compiled, 0) as ready:
        answer = _ask_writes(compiled, ready.target)
    return answer.transactions


def writing_statements(compiled: CompiledCell, target: Mapping[str, Any]) -> list[Writing]:
    """Give the statements of a cell's transactions that write on a target, as its engine tells, or may.

    Nothing is written meanwhile. Raises SystemFailed.
    """
    return [
        Writing(_text(compiled, each.name), each.why, each.writes == "yes")
        for each in _ask_writes(compiled, target).statements
        if not isinstance(each, OnlyReads)
    ]


def reaching_statements(compiled: CompiledCell, target: Mapping[str, Any], own: Sequence[str]) -> list[Writing]:
    """Give the statements of a cell that name what lies beyond the databases made for it (``own``) and may write to it.

    Those of its transactions are asked about where they name something that a transaction which only reads keeps from
    harm; those that make and fill its tables are taken for what they name. ``target``: a database of the system that is
    there. Raises SystemFailed.
    """
    engine = engine_of(target["engine"])
    if engine.leads_beyond is not None and not _names_any(compiled, engine.leads_beyond):
        return []
    making = [*compiled.before, *compiled.after, *(f"table {table['name']}" for table in compiled.tables)]
    answers = _beyond([*making, *_measured(compiled)], target, own)
    made, named = ([each for each in part if each] for part in (answers[: len(making)], answers[len(making) :]))
    # To ask about one that nothing holds would be to carry it out.
    if engine.is_server and named and all(each.held for each in named):
        writing = {each.statement for each in writing_statements(compiled, target)}
        named = [each for each in named if each.statement in writing]
    return [each.told() for each in (*made, *named)]


def unheld_statements(compiled: CompiledCell, target: Mapping[str, Any]) -> list[Writing]:
    """Give the statements of a cell that lead to what a transaction which only reads does not keep from harm.

    They are taken for what they name, and not run. Raises SystemFailed.
    """
    found = _beyond(_measured(compiled), target, [str(target.get("database") or "")])
    return [each.told() for each in found if each and not each.held]


@dataclass(frozen=True)
class _Beyond:
    """A statement that names what lies beyond its database, and whether a transaction that only reads holds it."""

    statement: str
    why: str
    held: bool

    def told(self) -> Writing:
        return Writing(self.statement, self.why, certain=False)


def _beyond(statements: Sequence[str], target: Mapping[str, Any], own: Sequence[str]) -> list[_Beyond | None]:
    """Tell of each statement what it names beyond its database; None where it names nothing."""
    task = {"kind": "reach", "target": target, "own": list(own), "statements": list(statements)}
    answers = ask({"schema": PLAN, "seed": 1, "task": task}, Reach, _LONGEST_S).beyond
    return [
        None if answer is None else _Beyond(text, answer.why, answer.held)
        for text, answer in zip(statements, answers, strict=True)
    ]


def _measured(compiled: CompiledCell) -> list[str]:
    return [str(each["sql"]) for each in compiled.trial["statements"]]


def _names_any(compiled: CompiledCell, words: Iterable[str]) -> bool:
    """Whether a statement of a cell has one of some words in it."""
    texts = [*compiled.before, *compiled.after, *_measured(compiled)]
    return any(word in text.lower() for text in texts for word in words)


def refuse(system: SystemSpec, what: str, found: Sequence[Writing]) -> None:
    """Raise InputError where statements write to what dbdyno did not make; ``what``: that, in words."""
    if not found:
        return
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    raise not_ours(system, what, f"{found[0].told}{more}")


def not_ours(system: SystemSpec, what: str, told: str) -> InputError:
    """Make the error that something writes, as a clause tells (``told``), to what dbdyno did not make (``what``)."""
    problem = f"{told}, and {what} was not made by dbdyno"
    return InputError(system.name, problem, f"give the experiment tables of its own, or allow it with `{ALLOW}`")


def allowed(system: SystemSpec, what: str, found: Iterable[Writing]) -> dict[str, Any]:
    """Give what a run for which that was allowed wrote to, as it is observed."""
    statements = [vars(each) | {"told": each.told} for each in found]
    return {"kind": "writes allowed", "system": system.name, "wrote_to": what, "statements": statements}


def _ask_writes(compiled: CompiledCell, target: Mapping[str, Any]) -> Writes:
    trial = compiled.trial
    task = {
        "kind": "writes",
        "target": target,
        "statements": trial["statements"],
        "transactions": trial["transactions"],
        "prepare": trial["prepare"],
        "data_seed": compiled.definition.data_seed,
    }
    return ask({"schema": PLAN, "seed": 1, "task": task}, Writes, _LONGEST_S)


def _text(compiled: CompiledCell, name: str) -> str:
    return next(str(each["sql"]) for each in compiled.trial["statements"] if each["name"] == name)
