"""Events of a worker other than results of trials: progress, errors, and answers to other tasks."""

from typing import Annotated, Literal

from pydantic import Field

from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.facts import Facts
from dbdyno.model.events.machine import DeviceFacts

Outcome = Literal["ok", "failed", "not applicable"]


class Error(Part):
    """The plan failed. ``code``: the system's own error code; missing if the error didn't come from the system."""

    event: Literal["error"]
    kind: str
    message: str
    code: str | None = None


class Phase(Part):
    """The start of a phase of a trial: ``connect``, ``warmup`` or ``window``."""

    event: Literal["phase"]
    phase: str


class Ready(Part):
    """A worker of a coordinated trial is ready for a phase and waits for its start time."""

    event: Literal["ready"]
    phase: str


class LoadedStep(Part):
    """A step of loading data, with its duration in seconds.

    ``table``: the name of the table; or a statement that ran after all tables were filled; or, in parentheses, an
    action of the loader itself.
    """

    table: str
    rows: Count
    seconds: float


class Loaded(Part):
    """The tables are filled. ``tables``: the steps, in order."""

    event: Literal["loaded"]
    tables: list[LoadedStep]


class FileSet(Part):
    """The settings of the database file were applied."""

    event: Literal["file_set"]


class FactsRead(Part):
    """Facts about the engine, as the engine reports them."""

    event: Literal["facts"]
    engine: Facts


class Device(Part):
    """Measurements of a storage device."""

    event: Literal["device"]
    device: DeviceFacts


class BtreeFigures(Part):
    """The work of an insert on a B-tree at one size: means per insert, for leaf pages unless the name says otherwise.

    ``dbdyno-worker schema event`` describes each field.
    """

    rows: Count
    leaves: float
    fill: float
    hit_ratio: float
    reads: float
    system_hits: float
    inner_reads: float
    inner_system_hits: float
    dirty_evictions: float
    checkpoint_writes: float
    commit_writes: float
    first_changes: float
    log_bytes: float
    overflows: float
    splits: float


class BySimulation(Part):
    """Values come from a simulation of a tree that is smaller by ``factor``.

    ``fewer_blocks``: the part of the factor that comes from having fewer blocks instead of smaller ones.
    """

    by: Literal["simulation"]
    factor: Count
    fewer_blocks: Count


class ByFormula(Part):
    """Values come from a formula."""

    by: Literal["formula"]


class BtreeReport(Part):
    """The values at all requested sizes, and the method."""

    way: Annotated[BySimulation | ByFormula, Field(discriminator="by")]
    sizes: list[BtreeFigures]


class BtreeAnswer(Part):
    """The work of inserts on a B-tree, or why it can't be determined."""

    report: BtreeReport | None
    impossible: str | None


class Btree(Part):
    """The work of inserts on B-trees: one answer per question, in order."""

    event: Literal["btree"]
    answers: list[BtreeAnswer]


class Object(Part):
    """A table or an index on disk.

    ``leaves``: leaf pages; ``leaf_fill``: mean share of a leaf page that entries occupy, from 0 to 1; ``leaves_seen``:
    the number of leaf pages that ``leaf_fill`` was measured on, null if all. All three are null if unknown.
    """

    name: str
    table: str
    kind: Literal["table", "index"]
    bytes: Count
    leaves: Count | None
    leaf_fill: float | None
    leaves_seen: Count | None


class Space(Part):
    """The disk space of tables and their indexes."""

    event: Literal["space"]
    objects: list[Object]


class OnlyReads(Part):
    """A statement that only reads."""

    name: str
    writes: Literal["no"]


class MayWrite(Part):
    """A statement that may write. ``why``: why this is unknown."""

    name: str
    writes: Literal["unknown"]
    why: str


class Rejected(Part):
    """A statement that the system rejects. ``why``: the error."""

    name: str
    writes: Literal["rejected"]
    why: str


class WritesData(Part):
    """A statement that writes. ``why``: the evidence."""

    name: str
    writes: Literal["yes"]
    why: str


StatementWrites = Annotated[OnlyReads | MayWrite | Rejected | WritesData, Field(discriminator="writes")]


class Writes(Part):
    """Which statements and transactions write. ``transactions``: by name; true also if it is unknown."""

    event: Literal["writes"]
    statements: list[StatementWrites]
    transactions: dict[str, bool]


class Reach(Part):
    """For each statement in order, why it accesses something outside its own database; null if it doesn't."""

    event: Literal["reach"]
    beyond: list[str | None]


class Answer(Part):
    """The value that a query returned, as a string; null if it returned none."""

    event: Literal["answer"]
    answer: str | None


class Held(Part):
    """The session holds the requested lock. ``abandoned``: databases that killed runs left behind."""

    event: Literal["held"]
    abandoned: list[str]


class Check(Part):
    """A check of the system has ended. ``why``: why it failed or was not applicable."""

    event: Literal["check"]
    name: str
    outcome: Outcome
    why: str | None


class Checked(Part):
    """All checks have ended."""

    event: Literal["checked"]


class Tally(Part):
    """The work of the statements of a group in all sessions, including the warm-up.

    ``ordered``: a hash of all values of all rows in order; ``unordered``: a hash that ignores the order of rows within
    an execution.
    """

    executions: Count
    rows: Count
    changed: Count
    ordered: Count
    unordered: Count


class Counted(Part):
    """The work of each group of statements, in the order of the plan."""

    event: Literal["counted"]
    groups: list[Tally]


class ExecutionRows(Part):
    """The rows that a statement returned in one execution.

    ``statement``: its index in the plan; ``digest``: a hash of all values but floating-point numbers, which ignores the
    order of rows, null if the engine doesn't pass on all rows; ``sums``, ``magnitudes``: per column, the sum of its
    floating-point numbers, and of their absolute values; ``rows``: JSON arrays, null if they are too many. Bytes are
    objects with hexadecimal digits.
    """

    statement: Count
    returned: Count
    changed: Count
    digest: Count | None
    sums: list[float]
    magnitudes: list[float]
    rows: list[str] | None


class Rows(Part):
    """The rows that the statements of a trial returned. ``executions``: in order."""

    event: Literal["rows"]
    executions: list[ExecutionRows]
