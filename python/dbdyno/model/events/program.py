"""The result of a trial that runs a user's program. dbdyno writes it itself, because there is no worker."""

from typing import Literal

from dbdyno.model.events.accounting import Accounting, Cycles, EndedBy, Rate, TransactionCounts, Warmup
from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.latency import Times
from dbdyno.model.events.machine import Memory


class ProgramCpu(Part):
    """CPU use of the program and the children it waited for, as in :class:`dbdyno.model.events.machine.CpuShare`."""

    process_percent: float
    user_percent: float
    system_percent: float
    machine_percent: float
    steal_percent: float
    cores: Count


class ProgramFacts(Part):
    """The program that was run. ``settings``: its ``command`` line."""

    engine: str
    settings: dict[str, str]


class ProgramResult(Part):
    """The result of a trial in which each run of a program is a transaction. The fields are as in ``TrialResult``."""

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
