"""The tasks of a worker (crates/protocol/src/plan/document.rs)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Discriminator
from pydantic import Field as Aliased

from dbdyno.model.events.base import Count
from dbdyno.model.plan.generators import Generator, Scalar, Serial, generators_in
from dbdyno.model.plan.injections import Changes
from dbdyno.model.plan.requests import Request
from dbdyno.model.plan.serialization import OMITTED
from dbdyno.model.plan.steps import Begin, Execute, Step, Transaction, flat, rewritten_steps

Target = dict[str, Any]
"""A system and how to connect to it. Apart from ``engine``, the keys depend on the engine."""


@dataclass(frozen=True, kw_only=True)
class Closed:
    """A client starts a transaction when its previous one has ended."""

    loop: Literal["closed"] = "closed"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of the window: its length, and the rate when it begins and when it ends."""

    seconds: float
    from_: Annotated[float, Aliased(alias="from")]
    to: float


@dataclass(frozen=True, kw_only=True)
class Open:
    """Transactions start on a schedule.

    ``rate``: per second, over all clients; with stages, their mean. ``stages``: the window's parts if the rate changes.
    """

    loop: Literal["open"] = "open"
    rate: float
    gaps: Literal["even", "poisson"] = "poisson"
    stages: Sequence[Stage] = field(default=(), metadata=OMITTED)


Arrival = Annotated[Closed | Open, Discriminator("loop")]
"""When transactions start."""


@dataclass(frozen=True, kw_only=True)
class Warmup:
    """The warm-up: seconds, and transactions of each client. Both must be reached."""

    seconds: float = 0.0
    transactions: Count = 0


@dataclass(frozen=True, kw_only=True)
class Window:
    """The end of the measured window: each client stops at the limit that it reaches first."""

    seconds: float | None = None
    transactions: Count | None = None
    statements: Count | None = None
    rows: Count | None = None

    @property
    def ends_by_amount(self) -> bool:
        """Whether an amount of work can end it."""
        return any(each is not None for each in (self.transactions, self.statements, self.rows))


FailureKind = Literal["locked", "deadlock", "serialization", "timeout", "connection", "constraint", "status", "other"]
"""The kind of a transaction's failure."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Retries of failed transactions. ``attempts``: including the first; ``on``: the kinds of failure."""

    attempts: Count = 1
    on: Sequence[FailureKind] = ()
    wait_ms: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of a trial's transactions.

    ``sql``: its text, with a ``?`` per parameter; for a request, its text in reports. ``places``: the byte offsets of
    the parameters; ``example``: values for its plan if all executions use the same ones; ``analyze``: values with which
    the engine executes it once before the trial, to compare its estimates with the rows.
    """

    name: str
    sql: str
    places: Sequence[Count] = field(default=(), metadata=OMITTED)
    request: Request | None = field(default=None, metadata=OMITTED)
    example: Sequence[Scalar] = field(default=(), metadata=OMITTED)
    analyze: Sequence[Scalar] | None = field(default=None, metadata=OMITTED)


def without_analysis(statements: Sequence[Statement]) -> list[Statement]:
    """Return statements without the request to measure their row estimates."""
    return [replace(statement, analyze=None) for statement in statements]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Work beside the clients, in a session of its own.

    ``at_s``: seconds from the window's start to the first execution; ``every_s``: between the starts of two executions,
    None if there is only one; ``statements``: used by its steps, by index.
    """

    name: str
    at_s: float
    every_s: float | None = field(default=None, metadata=OMITTED)
    statements: Sequence[Statement]
    steps: Sequence[Step]


@dataclass(frozen=True, kw_only=True)
class Record:
    """The measurements of a trial in addition to counts and latencies.

    ``mutexes``: None measures a sample of the time if there are several clients; ``groups``: the group of each
    statement for callgrind, None runs statements without groups; ``rows``: report the returned rows.
    """

    phases: bool = False
    operations: bool = True
    io: bool = True
    mutexes: bool | None = None
    waits: bool = True
    interval_ms: Count = 1000
    groups: Sequence[Count] | None = field(default=None, metadata=OMITTED)
    rows: bool = field(default=False, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A part of the system: processes on this machine, with their descendants."""

    name: str
    pids: Sequence[Count]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The clients of a worker if several run a trial: the number of its ``first`` client, and the total number."""

    first: Count
    of: Count


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """The time slices of an interleaved trial: their length, its number, and the number of interleaved trials.

    ``cpu``: the CPU of the first client in the first slice.
    """

    length_ms: float
    of: Count
    cpu: Count = 0
    index: Count


ConnectMode = Literal["once", "per-transaction"]
PrepareMode = Literal["once", "per-transaction", "never"]


@dataclass(frozen=True, kw_only=True)
class TrialTask:
    """Run a load and measure it.

    ``target``: empty in a compiled cell, because it is known only when the system is ready;
    ``data_seed``: the seed of the tables; ``first_use``: how often earlier trials used the counters; ``threads``: of
    the clients of a server, None: one per CPU; ``tiers``: parts of the system whose CPU time is measured; ``beside``:
    work beside the clients, which doesn't count.
    """

    kind: Literal["trial"] = "trial"
    clients: Count = 1
    arrival: Arrival = Closed()
    warmup: Warmup = Warmup()
    window: Window = Window()
    connect: ConnectMode = "once"
    give_way: bool = field(default=False, metadata=OMITTED)
    prepare: PrepareMode = "once"
    retry: Retry = Retry()
    statements: Sequence[Statement] = ()
    transactions: Sequence[Transaction] = ()
    beside: Sequence[Beside] = field(default=(), metadata=OMITTED)
    record: Record = Record()
    changes: Changes | None = field(default=None, metadata=OMITTED)
    target: Target = field(default_factory=dict)
    data_seed: Count | None = field(default=None, metadata=OMITTED)
    first_use: Count = field(default=0, metadata=OMITTED)
    tiers: Sequence[Tier] = field(default=(), metadata=OMITTED)
    interleaving: Interleaving | None = field(default=None, metadata=OMITTED)
    part: Part | None = field(default=None, metadata=OMITTED)
    threads: Count | None = field(default=None, metadata=OMITTED)
    planted_work: Count = field(default=0, metadata=OMITTED)

    def with_all_statements(self) -> TrialTask:
        """Return the task with the work beside the clients as further transactions, to ask what its statements do."""
        statements, transactions = list(self.statements), list(self.transactions)
        for beside in self.beside:
            steps = shifted(beside.steps, len(statements))
            statements += [replace(one, name=f"{beside.name}: {one.name}") for one in beside.statements]
            transactions.append(Transaction(name=beside.name, steps=steps))
        return replace(self, statements=statements, transactions=transactions, beside=())

    @property
    def begins(self) -> set[str]:
        """The modes in which its transactions begin; empty without explicit transactions."""
        steps = [step for transaction in self.transactions for step in flat(transaction.steps)]
        modes: set[str] = {step.mode for step in steps if isinstance(step, Begin)}
        # A statement can begin a transaction, too.
        words = [statement.sql.lower().split() for statement in self.statements]
        begun = [each for each in words if each[:1] in (["begin"], ["start"], ["savepoint"])]
        return modes | {
            next((mode for mode in ("immediate", "exclusive") if mode in each), "deferred") for each in begun
        }

    @property
    def counter_step(self) -> int:
        """How far one use advances a counter: the maximum over all counters, or 1 without counters.

        In an insert of ten rows, each row takes every tenth value, so one use advances the counter by ten.
        """
        # A reference draws an existing row and doesn't advance a counter.
        drawn = generators_in(self.transactions, of_columns=False)
        return max((abs(generator.step) for generator in drawn if isinstance(generator, Serial)), default=1) or 1


def shifted(steps: Sequence[Step], by: int) -> list[Step]:
    """Return steps with other indexes of their statements."""

    def moved(step: Step) -> Iterator[Step]:
        yield replace(step, statement=step.statement + by) if isinstance(step, Execute) else step

    return rewritten_steps(steps, moved)


@dataclass(frozen=True, kw_only=True)
class LoadColumn:
    """A column to fill. ``stream``: the number of its random stream, unique in the experiment."""

    name: str
    stream: Count
    fill: Generator


@dataclass(frozen=True, kw_only=True)
class Per:
    """How many rows each row of the parent table has. ``parents``: the parent's rows; ``above``: of its own parent.

    ``count``: the number, in the scope of the parent's row; ``stream``: the number of its random stream.
    """

    parents: Count
    above: Per | None = field(default=None, metadata=OMITTED)
    count: Generator
    stream: Count


@dataclass(frozen=True, kw_only=True)
class LoadTable:
    """The rows of a table. ``first``: the number of the first row; ``file``: a file to read the rows from instead.

    ``per``: the rows depend on the rows of a parent table.
    """

    name: str
    columns: Sequence[LoadColumn]
    rows: Count
    first: Count = field(default=0, metadata=OMITTED)
    file: str | None = None
    per: Per | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, kw_only=True)
class LoadTask:
    """Create tables and fill them: run statements, load the rows, and run more statements."""

    kind: Literal["load"] = "load"
    target: Target
    before: Sequence[str]
    tables: Sequence[LoadTable]
    after: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class SetFileTask:
    """Store the target's ``file_pragmas`` in a SQLite file."""

    kind: Literal["set_file"] = "set_file"
    target: Target


@dataclass(frozen=True, kw_only=True)
class InspectTask:
    """Read back the version, settings and durability of a system."""

    kind: Literal["inspect"] = "inspect"
    target: Target


@dataclass(frozen=True, kw_only=True)
class WritesTask:
    """Find out which statements of some transactions write. None is executed."""

    kind: Literal["writes"] = "writes"
    target: Target
    statements: Sequence[Statement]
    transactions: Sequence[Transaction]
    prepare: PrepareMode = "once"
    data_seed: Count | None = None


@dataclass(frozen=True, kw_only=True)
class ReachTask:
    """Find out which statements access something outside the databases ``own``. None is executed."""

    kind: Literal["reach"] = "reach"
    target: Target
    own: Sequence[str] = ()
    statements: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class AskTask:
    """Run a query whose result is one value."""

    kind: Literal["ask"] = "ask"
    target: Target
    sql: str


@dataclass(frozen=True, kw_only=True)
class HoldTask:
    """Hold a lock on a server until standard input ends, and report databases without a lock.

    ``token``: the unique part of the names of the databases, twelve hexadecimal digits.
    """

    kind: Literal["hold"] = "hold"
    target: Target
    token: str


@dataclass(frozen=True, kw_only=True)
class CheckTask:
    """Run the contract checks on a system."""

    kind: Literal["check"] = "check"
    target: Target


@dataclass(frozen=True, kw_only=True)
class SpaceTask:
    """Measure the space of tables and their indexes."""

    kind: Literal["space"] = "space"
    target: Target
    tables: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class BtreeTask:
    """Compute the effect of inserts on B-trees. ``questions``: see crates/protocol/src/btree.rs."""

    kind: Literal["btree"] = "btree"
    questions: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class DeviceTask:
    """Measure the storage device of a directory.

    ``seconds``: of each measurement; ``bytes``: of the file; ``depths``: numbers of simultaneous reads.
    """

    kind: Literal["device"] = "device"
    directory: str
    seconds: float
    bytes: Count
    depths: Sequence[Count]


Task = Annotated[
    TrialTask
    | LoadTask
    | SetFileTask
    | InspectTask
    | WritesTask
    | ReachTask
    | AskTask
    | HoldTask
    | CheckTask
    | SpaceTask
    | BtreeTask
    | DeviceTask,
    Discriminator("kind"),
]
"""The task of a worker."""


@dataclass(frozen=True, kw_only=True)
class ProgramTask:
    """The trial of a user's program, which dbdyno runs without a worker: the command and how often it runs."""

    kind: Literal["program"] = "program"
    clients: Count = 1
    arrival: Arrival = Closed()
    warmup: Warmup = Warmup()
    window: Window = Window()
    connect: ConnectMode = "once"
    give_way: bool = field(default=False, metadata=OMITTED)
    prepare: PrepareMode = "once"
    retry: Retry = Retry()
    command: Sequence[str] = ()


def program_task(task: TrialTask, command: Sequence[str]) -> ProgramTask:
    """Return the task of a program with the load of a compiled cell."""
    return ProgramTask(
        clients=task.clients,
        arrival=task.arrival,
        warmup=task.warmup,
        window=task.window,
        connect=task.connect,
        give_way=task.give_way,
        prepare=task.prepare,
        retry=task.retry,
        command=command,
    )
