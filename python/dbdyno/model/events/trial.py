"""Events of a trial: the intervals of its window, and its result."""

import math
from typing import Literal

from pydantic import Field

from dbdyno.model.events.accounting import (
    Accounting,
    Cycles,
    EndedBy,
    FailedByCode,
    Rate,
    StatementCounts,
    TransactionCounts,
    Warmup,
    Work,
)
from dbdyno.model.events.base import Count, Part
from dbdyno.model.events.changes import ChangedCalls
from dbdyno.model.events.facts import Facts
from dbdyno.model.events.latency import ServiceTimes, Summary
from dbdyno.model.events.machine import (
    CpuShare,
    DeviceFlushes,
    DiskActivity,
    Memory,
    ProcessIo,
    Scheduling,
    Server,
    Throttling,
    TierCpu,
)
from dbdyno.model.events.observations import Contention, Io, LockHolders, Observed, Time, WaitsOrError


class Interval(Part):
    """An interval of a trial's timeline, from ``start_s`` to ``end_s`` in seconds of the window.

    ``index``: its number, from 0; ``service_ms``: null if no transaction ended in it; CPU use is in percent of one
    CPU; ``disk``: null if the data are not on a device.
    """

    event: Literal["interval"]
    index: Count
    start_s: float
    end_s: float
    ok: Count
    failed: Count
    statements: Count
    rows: Count
    service_ms: ServiceTimes | None
    cpu_percent: float
    hottest_thread_percent: float
    machine_percent: float
    disk: DiskActivity | None


class Interleaving(Part):
    """Interleaving with other trials.

    ``overrun_s``: seconds that the trial ran beyond its time slices; ``real_s``: length of its window, including the
    slices of other trials.
    """

    overrun_s: float
    real_s: float


class Operations(Part):
    """Times of successful transactions and their operations by name, as histograms like those in ``histograms``.

    ``transactions``: empty if there is only one; ``controls``: ``begin``, ``commit``, ``rollback``; ``timed_s``:
    seconds of all transactions whose statements were timed, weighted by the number of transactions that they represent.
    A single transaction with one statement only has the histogram ``service``.
    """

    transactions: dict[str, str]
    statements: dict[str, str]
    controls: dict[str, str]
    timed_s: float


class Stage(Part):
    """A stage of an open loop whose rate changes, in the plan's order.

    ``scheduled``: transactions scheduled in it; ``ok``: completed in it, whenever they were scheduled; ``failed`` and
    ``skipped``: of those scheduled; ``response`` and ``at_least``: histograms of the response times of those scheduled,
    and of their lower bounds.
    """

    scheduled: Count
    ok: Count
    failed: Count
    skipped: Count
    response: str
    at_least: str


class Execution(Part):
    """An execution beside the clients: seconds from the window's start to its start, and its length in seconds."""

    at_s: float
    seconds: float


class Beside(Part):
    """Work beside the clients.

    ``failed``: executions that failed, with the message of the first ``failure``; ``ok``: executions without a failure,
    of which ``executions`` has the first 1,000; ``total_s`` and ``longest_s``: their seconds.
    """

    name: str
    failed: Count
    failure: str | None = None
    executions: list[Execution]
    ok: Count
    total_s: float
    longest_s: float


class TrialResult(Part):
    """The result of a trial.

    ``failures``: the first message of each kind; ``failed_by_code``: missing if nothing failed; ``completed``:
    transactions that started in the window and succeeded, in it or later; ``besides``: successful transactions that
    don't count, from the warm-up and around the window; ``next_use``: where the clients' counters continue in the next
    trial; ``began_ns``: start of the window, in nanoseconds of the kernel's monotonic clock; ``elapsed_s``: length of
    the window in seconds; ``watched_s``: seconds between the two readings of the machine's counters; ``histograms``:
    HdrHistogram V2, deflated, base64, in nanoseconds; ``latency_ms``: summaries of the histograms, in milliseconds;
    ``throttling``: of the worker (``client``) and the ``server``, if they have a CPU quota; ``flushes``: during the
    window, including the slices of other trials, missing if the kernel doesn't count them; ``lock_holders``: other
    programs that locked the data, missing if there were none; ``operations``: missing if operations were not timed;
    ``changes``: missing if the trial changes no calls; ``clock``: the source of time.

    ``stages`` is missing if the rate of arrivals doesn't change, ``beside`` without work beside the clients.

    Null if unknown or not applicable: ``interleaving``, ``server``, ``disk``, ``mutex``, ``observed``, ``waits``.
    """

    event: Literal["result"]
    accounting: Accounting
    failures: dict[str, str]
    failed_by_code: list[FailedByCode] = Field(default_factory=list)
    completed: Count
    besides: Count = 0
    next_use: Count = 0
    began_ns: Count = 0
    rate: Rate
    cycles: Cycles
    elapsed_s: float
    watched_s: float
    ended_by: EndedBy
    warmup: Warmup
    interleaving: Interleaving | None
    transactions: dict[str, TransactionCounts]
    statements: dict[str, StatementCounts]
    work: Work
    stages: list[Stage] = Field(default_factory=list)
    beside: list[Beside] = Field(default_factory=list)
    histograms: dict[str, str]
    operations: Operations | None = None
    latency_ms: dict[str, Summary]
    cpu: CpuShare
    throttling: dict[str, Throttling] = Field(default_factory=dict)
    server: Server | None
    tiers: list[TierCpu] = Field(default_factory=list)
    scheduling: Scheduling
    disk: DiskActivity | None
    flushes: DeviceFlushes | None = None
    process_io: ProcessIo
    engine: Facts
    time: Time
    io: Io
    mutex: Contention | None
    observed: Observed | None
    waits: WaitsOrError | None
    lock_holders: LockHolders | None = None
    changes: ChangedCalls | None = None
    memory: Memory
    clock: str

    def rows_changed_in_all(self) -> int:
        """Return an estimate of the rows changed by all transactions, including those that don't count.

        It assumes that each of those changed as many rows as a completed transaction.
        """
        each = self.work.rows_changed / max(self.completed, 1)
        return math.ceil((self.completed + self.besides) * each)
