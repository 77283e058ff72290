"""What a worker says of a trial: each interval of its window, and in the end what it found."""

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
from dbdyno.model.events.watched import Contention, Io, LockHolders, Observed, Time, WaitsOrError


class Interval(Part):
    """An interval of a trial's timeline, from ``start_s`` to ``end_s`` in seconds of the window.

    ``index``: its number, from 0; ``service_ms``: null where no transaction ended in it; CPU in percent of one
    processor; ``disk``: null where the data are on no device.
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
    """Of a trial that was interleaved with others: seconds that it went on after its slices, and of all its window."""

    overrun_s: float
    real_s: float


class Operations(Part):
    """Times of transactions and their operations that ended well, by name: histograms as in ``histograms``.

    ``transactions``: empty where there is one; ``controls``: ``begin``, ``commit``, ``rollback``; ``timed_s``:
    seconds of all transactions whose statements were timed, each as often as it stands for. One transaction that
    is one statement has ``service`` alone.
    """

    transactions: dict[str, str]
    statements: dict[str, str]
    controls: dict[str, str]
    timed_s: float


class TrialResult(Part):
    """What a trial found.

    ``failures``: the first message of each kind; ``failed_by_code``: left out where nothing failed; ``completed``:
    transactions begun in the window that ended well, in it or later; ``besides``: those that ended well and do not
    count, of the warm-up and around the window; ``next_use``: where later values of the clients' counters go on;
    ``began_ns``: when the window began, nanoseconds of the kernel's monotonic clock; ``elapsed_s``: seconds of the
    window; ``watched_s``: those between the two readings of the machine's figures; ``histograms``: base64 of
    HdrHistogram's V2 format, deflated, in nanoseconds; ``latency_ms``: the same summed up, in milliseconds;
    ``throttling``: of the worker, ``client``, and of the ``server``, where a CPU quota holds for them;
    ``flushes``: from the window's start to its end, the slices of other trials included; left out
    where the kernel does not count them;
    ``lock_holders``: other programs that locked the data, left out where none was seen;
    ``operations``: left out where they were not timed; ``changes``: left out where the trial changes nothing;
    ``clock``: where its time comes from.

    Null where there is no such thing, or nothing tells: ``interleaving`` (the trial was not interleaved), ``server``,
    ``disk``, ``mutex``, ``observed``, ``waits``.
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
        """Give the rows that its transactions changed, with those that do not count, taken to change as many each."""
        each = self.work.rows_changed / max(self.completed, 1)
        return math.ceil((self.completed + self.besides) * each)
