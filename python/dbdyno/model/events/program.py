"""What dbdyno says itself of a trial whose clients are programs of the user's: there is no worker within them."""

from typing import Literal

from dbdyno.model.events.accounting import Accounting, Cycles, EndedBy, Rate, TransactionCounts, Warmup
from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.latency import Times
from dbdyno.model.events.machine import Memory


class ProgramCpu(Part):
    """CPU used by the program and the children that it waited for, as :class:`dbdyno.model.events.machine.CpuShare`."""

    process_percent: float
    user_percent: float
    system_percent: float
    machine_percent: float
    steal_percent: float
    cores: Count


class ProgramFacts(Part):
    """What was run, in place of what an engine is: ``command``, the program and its options with spaces between."""

    engine: str
    settings: dict[str, str]


class ProgramResult(Part):
    """What runs of a program took, of which each is a transaction; as ``TrialResult``."""

    event: Literal["program"]
    engine: ProgramFacts
    accounting: Accounting
    completed: Count
    rate: Rate
    cycles: Cycles
    elapsed_s: float
    ended_by: EndedBy
    warmup: Warmup
    transactions: dict[str, TransactionCounts]
    histograms: dict[str, str]
    latency_ms: dict[str, Times]
    cpu: ProgramCpu
    memory: Memory
