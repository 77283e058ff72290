"""What dbdyno keeps around a trial of what workers said before and after it."""

from dbdyno.model.events.accounting import Accounting, Work
from dbdyno.model.events.answers import LoadedStep, Object
from dbdyno.model.events.base import Count, Part


class Loading(Part):
    """Loading the data that a trial began with: when (``at``), the steps, and the ``names`` of the tables."""

    at: str
    tables: list[LoadedStep]
    names: list[str]


class Refused(Part):
    """A trial that a system did not let begin: its own name or number for why."""

    code: str


class Counting(Part):
    """Instructions of the same work, counted with one client: its thread's within the window, and what was done."""

    instructions: Count
    accounting: Accounting
    work: Work


class Growing(Part):
    """Where a growing table stood: its ``rows`` when the trial began, and what the rows took that it had grown by.

    ``filled``: at the first trial of a size that is not the first; seconds, without a limit to memory.
    """

    rows: Count
    filled: list[LoadedStep]


class TimedStep(Part):
    """A statement that was timed on what the trial left, in seconds."""

    name: str
    sql: str
    seconds: float


class After(Part):
    """What was found on what a trial left, or the last trial at a size; ``failed``: what could not be, and why."""

    space: list[Object]
    timed: list[TimedStep]
    failed: dict[str, str]


class Allowed(Part):
    """The processors that each part of a system may use, by name.

    ``load``: those of the load generator, where it is kept to some; ``cores``: how many all that dbdyno does may use.
    """

    processors: dict[str, list[Count]]
    load: list[Count] | None
    cores: Count


class Competed(Part):
    """A program that competed for the processors: the share of each that it was to take, and took."""

    share: float
    took: float | None


class Limited(Part):
    """A limit to memory in bytes, and its ``means``; or why there was none."""

    bytes: Count
    means: str | None
    refused: str | None


class Listening(Part):
    """A listening socket: the ``part`` of the system whose it is, empty for what clients connect to; its ``address``.

    ``backlog``: connections that it holds until they are accepted; ``dropped``: those that found it full in the trial.
    """

    part: str
    address: str
    backlog: Count
    dropped: Count


class Listeners(Part):
    """The listening sockets of a system, and the longest queue that the kernel allows (``somaxconn``)."""

    sockets: list[Listening]
    somaxconn: Count


class LoadMachine(Part):
    """A machine that a part of a trial's load came from.

    ``boot``: the same for nodes that are one machine; ``offset_ns``: how far its monotonic clock was ahead of that of
    who led the trial, and ``uncertainty_ns``: by how much that may be wrong.
    """

    name: str
    host: str
    boot: str
    clients: Count
    offset_ns: int
    uncertainty_ns: Count


class LoadMachines(Part):
    """Where a trial's load came from, in the order of its parts; of a trial that lost one, those whose clock was read.

    ``agreed_ns``: when the window was to begin, by the clock of who led the trial; ``lost``: what was said of the load
    machines that earlier tries of the trial lost.
    """

    agreed_ns: Count
    machines: list[LoadMachine]
    lost: list[str]
