"""What a worker says of everything but a trial's work: how far it is, and what it was asked for."""

from typing import Annotated, Literal

from pydantic import Field

from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.facts import Facts
from dbdyno.model.events.machine import DeviceFacts

Outcome = Literal["ok", "failed", "not applicable"]


class Error(Part):
    """The plan could not be carried out: what kind of failure it is, and what went wrong.

    ``code``: the system's own name or number for it; left out where it was not the system.
    """

    event: Literal["error"]
    kind: str
    message: str
    code: str | None = None


class Phase(Part):
    """A phase of a trial begins: ``connect``, ``warmup``, ``window``."""

    event: Literal["phase"]
    phase: str


class Ready(Part):
    """A coordinated trial waits to be told when a phase starts."""

    event: Literal["ready"]
    phase: str


class LoadedStep(Part):
    """What loading a table took, in seconds.

    ``table``: its name, or the statement that came when all were filled, or in parentheses what the loader did itself.
    """

    table: str
    rows: Count
    seconds: float


class Loaded(Part):
    """The tables are filled. What was done, in order."""

    event: Literal["loaded"]
    tables: list[LoadedStep]


class FileSet(Part):
    """The file has its settings."""

    event: Literal["file_set"]


class FactsRead(Part):
    """What an engine is, read back from itself."""

    event: Literal["facts"]
    engine: Facts


class Device(Part):
    """What a storage device can do, as it was measured."""

    event: Literal["device"]
    device: DeviceFacts


class BtreeFigures(Part):
    """What an insert does to a B-tree at one size: means per insert, of leaves unless their name says otherwise.

    ``dbdyno-worker schema event`` describes each of them.
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
    """Figures were simulated, of a tree smaller by ``factor``, of which ``fewer_blocks`` is by fewer blocks."""

    by: Literal["simulation"]
    factor: Count
    fewer_blocks: Count


class ByFormula(Part):
    """Figures were computed."""

    by: Literal["formula"]


class BtreeReport(Part):
    """The figures at all sizes that were asked for, and how they were found."""

    way: Annotated[BySimulation | ByFormula, Field(discriminator="by")]
    sizes: list[BtreeFigures]


class BtreeAnswer(Part):
    """What inserts do to the pages of a B-tree, or why that cannot be told."""

    report: BtreeReport | None
    impossible: str | None


class Btree(Part):
    """What inserts do to the pages of B-trees: an answer to each question, in order."""

    event: Literal["btree"]
    answers: list[BtreeAnswer]


class Object(Part):
    """A table or an index, as the engine stores it.

    ``leaves``: pages with entries; ``leaf_fill``: the mean share of a leaf that its entries take, of ``leaves_seen`` of
    them where those are not all. Null where the engine does not tell.
    """

    name: str
    table: str
    kind: Literal["table", "index"]
    bytes: Count
    leaves: Count | None
    leaf_fill: float | None
    leaves_seen: Count | None


class Space(Part):
    """The space that tables and their indexes take."""

    event: Literal["space"]
    objects: list[Object]


class OnlyReads(Part):
    """A statement that only reads."""

    name: str
    writes: Literal["no"]


class MayWrite(Part):
    """A statement of which it cannot be told whether it writes, and why."""

    name: str
    writes: Literal["unknown"]
    why: str


class Rejected(Part):
    """A statement that the system does not accept, and its error."""

    name: str
    writes: Literal["rejected"]
    why: str


class WritesData(Part):
    """A statement that writes, and what told it."""

    name: str
    writes: Literal["yes"]
    why: str


StatementWrites = Annotated[OnlyReads | MayWrite | Rejected | WritesData, Field(discriminator="writes")]


class Writes(Part):
    """Which statements write, and which transactions, by name; one of which it cannot be told does."""

    event: Literal["writes"]
    statements: list[StatementWrites]
    transactions: dict[str, bool]


class Reach(Part):
    """Why each statement, in order, leads beyond its database; null if it doesn't."""

    event: Literal["reach"]
    beyond: list[str | None]


class Answer(Part):
    """The value that answers a question, as text; null where there is none."""

    event: Literal["answer"]
    answer: str | None


class Held(Part):
    """A lock is held. ``abandoned``: the databases of killed runs."""

    event: Literal["held"]
    abandoned: list[str]


class Check(Part):
    """A check of the contract has ended. ``why``: why it failed or was not applicable."""

    event: Literal["check"]
    name: str
    outcome: Outcome
    why: str | None


class Checked(Part):
    """All checks have ended."""

    event: Literal["checked"]


class Tally(Part):
    """What the statements of a group did, all sessions and the warm-up included.

    ``ordered``: a hash over all values of all rows, in their order; ``unordered``: one in which the order of the rows
    within an execution does not matter.
    """

    executions: Count
    rows: Count
    changed: Count
    ordered: Count
    unordered: Count


class Counted(Part):
    """What each group of statements did, in the order of the plan."""

    event: Literal["counted"]
    groups: list[Tally]
