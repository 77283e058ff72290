"""The transactions of a plan and their steps (crates/protocol/src/plan/transaction.rs)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, get_args

from pydantic import Discriminator

from dbdyno.model.events.base import Count
from dbdyno.model.plan.generators import Generator
from dbdyno.model.plan.serialization import OMITTED

IsolationLevel = Literal["read_uncommitted", "read_committed", "repeatable_read", "snapshot", "serializable"]

STANDARD_LEVELS: tuple[IsolationLevel, ...] = ("read_uncommitted", "read_committed", "repeatable_read", "serializable")
"""The isolation levels of the SQL standard."""

BeginMode = Literal[
    "deferred",
    "immediate",
    "exclusive",
    "read_uncommitted",
    "read_committed",
    "repeatable_read",
    "snapshot",
    "serializable",
]
"""The lock that a transaction takes when it begins, or its isolation level, if the engine has a choice."""


def isolation_level(mode: str) -> str | None:
    """Return the isolation level of a mode in SQL; None for a mode that takes a lock."""
    return mode.replace("_", " ") if mode in get_args(IsolationLevel) else None


Compare = Literal["eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_not_null"]
"""A comparison of two values."""


@dataclass(frozen=True, kw_only=True)
class Execute:
    """Execute the statement with this index. ``into``: the variables that store the columns of the first row.

    ``each``: the steps to execute for each row; ``into`` then stores the columns of that row.
    """

    do: Literal["execute"] = "execute"
    statement: Count
    params: Sequence[Generator] = ()
    into: Sequence[str] = ()
    each: Sequence[Step] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Begin:
    """Begin a transaction of the engine."""

    do: Literal["begin"] = "begin"
    mode: BeginMode = "deferred"


@dataclass(frozen=True, kw_only=True)
class Commit:
    """Commit it."""

    do: Literal["commit"] = "commit"


@dataclass(frozen=True, kw_only=True)
class Rollback:
    """Roll it back."""

    do: Literal["rollback"] = "rollback"


@dataclass(frozen=True, kw_only=True)
class Set:
    """Assign a value to a variable. ``once``: only the first time that the client executes the step."""

    do: Literal["set"] = "set"
    variable: str
    value: Generator
    once: bool = field(default=False, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class When:
    """Execute ``then`` if a comparison is true, otherwise ``otherwise``."""

    do: Literal["when"] = "when"
    left: Generator
    compare: Compare
    right: Generator | None = field(default=None, metadata=OMITTED)
    then: Sequence[Step]
    otherwise: Sequence[Step] = ()


@dataclass(frozen=True, kw_only=True)
class Chance:
    """Execute steps with a probability."""

    do: Literal["chance"] = "chance"
    probability: float
    then: Sequence[Step]


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """Execute steps several times. ``times``: a number, or a generator that is drawn when the loop begins."""

    do: Literal["repeat"] = "repeat"
    times: Count | Generator
    steps: Sequence[Step]


@dataclass(frozen=True, kw_only=True)
class Think:
    """Pause. The time counts neither as service time nor as response time."""

    do: Literal["think"] = "think"
    milliseconds: Generator


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Pause, in microseconds."""

    do: Literal["pause"] = "pause"
    microseconds: Generator


Step = Annotated[
    Execute | Begin | Commit | Rollback | Set | When | Chance | Repeat | Think | Pause, Discriminator("do")
]
"""A step of a transaction."""


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """A unit of work, which is counted, timed and retried as a whole. ``weight``: how often clients choose it.

    ``clients``: the number of clients that run only this transaction; None if others run it, too.
    """

    name: str
    weight: float = 1.0
    clients: Count | None = field(default=None, metadata=OMITTED)
    steps: Sequence[Step]


def flat(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a transaction. Nested steps follow the step that contains them."""
    for step in steps:
        yield step
        for inner in nested(step):
            yield from flat(inner)


def nested(step: Step) -> tuple[Sequence[Step], ...]:
    """Return the sequences of steps inside a step."""
    match step:
        case When():
            return step.then, step.otherwise
        case Chance():
            return (step.then,)
        case Repeat():
            return (step.steps,)
        case Execute() if step.each:
            return (step.each,)
    return ()


def rewritten_steps(steps: Iterable[Step], rewrite: Callable[[Step], Iterable[Step]]) -> list[Step]:
    """Return steps with each one replaced by what ``rewrite`` returns, after its nested steps were replaced."""
    made: list[Step] = []
    for step in steps:
        match step:
            case When():
                then, otherwise = (rewritten_steps(each, rewrite) for each in nested(step))
                made += rewrite(replace(step, then=then, otherwise=otherwise))
            case Chance():
                made += rewrite(replace(step, then=rewritten_steps(step.then, rewrite)))
            case Repeat():
                made += rewrite(replace(step, steps=rewritten_steps(step.steps, rewrite)))
            case Execute() if step.each:
                made += rewrite(replace(step, each=rewritten_steps(step.each, rewrite)))
            case _:
                made += rewrite(step)
    return made


def without_pauses(transaction: Transaction) -> Transaction:
    """Return a transaction without its pauses, and without loops that contain only pauses."""

    def kept(step: Step) -> Iterator[Step]:
        if not isinstance(step, Think | Pause) and not (isinstance(step, Repeat) and not step.steps):
            yield step

    return replace(transaction, steps=rewritten_steps(transaction.steps, kept))
