"""Data that dbdyno stores with a trial, in addition to the worker's result."""

from dbdyno.model.events.accounting import Accounting, Work
from dbdyno.model.events.answers import LoadedStep, Object
from dbdyno.model.events.base import Count, Part


class Loading(Part):
    """Loading of a trial's initial data. ``at``: when; ``tables``: the steps; ``names``: names of the tables."""

    at: str
    tables: list[LoadedStep]
    names: list[str]


class Refused(Part):
    """The error code of a system that prevented a trial from starting."""

    code: str


class Counting(Part):
    """CPU instructions of the same work with one client: of its thread, within the window. Also the work done."""

    instructions: Count
    accounting: Accounting
    work: Work


class Growing(Part):
    """The size of a growing table.

    ``rows``: rows at the start of the trial; ``filled``: the steps that added rows before the first trial at a size,
    with memory unlimited.
    """

    rows: Count
    filled: list[LoadedStep]


class TimedStep(Part):
    """A statement that was timed on the data after a trial, in seconds."""

    name: str
    sql: str
    seconds: float


class After(Part):
    """Measurements of the data after a trial, or after the last trial at a size.

    ``failed``: the reason for each measurement that failed.
    """

    space: list[Object]
    timed: list[TimedStep]
    failed: dict[str, str]


class Allowed(Part):
    """The CPUs that each part of a system may use, by name.

    ``load``: CPUs of the load generator, null if unrestricted; ``cores``: number of CPUs that dbdyno may use in total.
    """

    processors: dict[str, list[Count]]
    load: list[Count] | None
    cores: Count


class Competed(Part):
    """A program that deliberately competed for CPUs: the share of each CPU that it was meant to use, and used."""

    share: float
    took: float | None


class Limited(Part):
    """A memory limit. ``means``: how it is enforced; ``refused``: why it is not in effect."""

    bytes: Count
    means: str | None
    refused: str | None


class Listening(Part):
    """A listening socket.

    ``part``: the part of the system, empty for the socket that clients connect to; ``backlog``: length of its accept
    queue; ``dropped``: connections that found the queue full during the trial.
    """

    part: str
    address: str
    backlog: Count
    dropped: Count


class Listeners(Part):
    """The listening sockets of a system, and the kernel's upper limit for accept queues (``somaxconn``)."""

    sockets: list[Listening]
    somaxconn: Count


class LoadMachine(Part):
    """A machine that generated a part of a trial's load.

    ``boot``: identifies the machine, so that two nodes on the same machine have the same value; ``offset_ns``: how far
    its monotonic clock was ahead of the controller's; ``uncertainty_ns``: the error of the offset.
    """

    name: str
    host: str
    boot: str
    clients: Count
    offset_ns: int
    uncertainty_ns: Count


class LoadMachines(Part):
    """The load machines of a trial, in the order of its parts.

    If a machine was lost, the list has only machines whose clock was read. ``agreed_ns``: the agreed start of the
    window, by the controller's clock; ``lost``: messages about machines that earlier attempts of the trial lost.
    """

    agreed_ns: Count
    machines: list[LoadMachine]
    lost: list[str]
