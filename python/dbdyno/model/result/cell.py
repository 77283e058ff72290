"""The shape of a cell in the result document: what was measured of one combination of levels, and in each round.

The conventions are those of :mod:`dbdyno.model.result.shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

# pydantic makes the JSON Schema and asks for this one before Python 3.12.
from typing_extensions import TypedDict

JsonObject = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Latency:
    """A latency distribution in milliseconds."""

    p50: float | None
    p90: float | None
    p99: float | None
    p99_9: float | None
    max: float | None
    mean: float | None
    count: int | None
    """Recorded events."""
    at_least: list[str]
    """The names of the values above that are lower bounds, because transactions failed or were skipped."""


@dataclass(slots=True, kw_only=True)
class Throughput:
    """Throughput over the blocks, counting only successful transactions."""

    mean: float | None
    """Mean over the rounds with a result."""
    ci95: list[float] | None
    """The 95 % t interval across blocks, [low, high]; null with fewer than two rounds."""
    unit: str
    """What is counted, per second, such as "lookups/s"."""


@dataclass(slots=True, kw_only=True)
class System:
    """The measured system, as read back from the engine."""

    name: str
    engine: str | None
    version: str | None
    source_id: str | None
    compile_options: list[str]
    settings: JsonObject
    """Settings in effect, read back from the engine."""
    durability: str | None
    """The durability class of the settings in effect: power-safe, process-safe, torn-pages or none."""
    durability_because: str | None
    plans: dict[str, list[str]]
    """The query plan of each statement by name, one step per line; empty if the engine has none."""
    passed_over: dict[str, list[str]]
    """By statement name, the indexes that could serve the statement but that its plan doesn't use."""
    catalog: JsonObject
    """The statements' tables with their columns, indexes and collations from the engine's catalog; empty if it wasn't
    read."""
    lost_updates: JsonObject
    """A test of concurrent updates to one document before the trials: sessions, acknowledged, counted; empty if it
    wasn't made."""


@dataclass(slots=True, kw_only=True)
class Observed:
    """The engine's activity below a cell's transactions, in all rounds."""

    commits: int
    """Transactions that changed rows between the two readings of the counters."""
    syncs: float | None
    """Syncs requested from the device in this time; null if unknown."""
    syncs_per_commit: float | None
    seen_by: str | None
    """The source of the count: ``files`` (the layer below an embedded engine), ``server``, ``device`` (the kernel)."""
    device_flushes: int | None
    """Flushes that the disk below the data completed in this time, for this cell and for all other programs. If the
    disk's writes can be durable by themselves, they are included. Null if the kernel doesn't count them."""
    flushes_per_commit: float | None
    """Flushes per commit. A commit that survives a power failure needs one flush, which it can share with one commit
    of each other client."""
    contradiction: str
    """Why the observation contradicts the durability class of the settings; empty if it doesn't."""
    counters: dict[str, float]
    """The engine's own counts per acknowledged transaction: ``log_bytes``, ``page_images``, ``pages_read``,
    ``pages_written`` and others; empty if it has none."""
    backlog: dict[str, float]
    """Deferred work when the window ended, per acknowledged transaction: bytes, pages, row versions."""


@dataclass(slots=True, kw_only=True)
class CpuPercent:
    """CPU in percent of one core, so that four busy cores are 400; means over the rounds."""

    client: float | None
    """The worker's process; with an embedded system that includes the database."""
    server: float | None
    """The server's processes; null for an embedded system."""
    hottest_thread: float | None
    user: float | None
    system: float | None
    machine: float | None
    """The whole machine."""
    steal: float | None
    """Taken from this machine by its host."""
    cores: int | None
    tiers: dict[str, float | None]
    """The parts of the system that the experiment names in ``measure.processes``; null where a part was not there."""
    tier_threads: dict[str, float | None]
    """The busiest thread of each of these parts; without those that had none at work for a twentieth of the time."""
    processors: dict[str, list[int]]
    """The processors that each tier may use, where dbdyno started it, and ``load`` where that is kept to some."""


@dataclass(slots=True, kw_only=True)
class Disk:
    """The device that holds the data, per second and per request; means over the rounds."""

    device: str | None
    reads_per_s: float | None
    read_bytes_per_s: float | None
    read_ms: float | None
    """Mean latency of a read request."""
    writes_per_s: float | None
    write_bytes_per_s: float | None
    write_ms: float | None
    flushes_per_s: float | None
    flush_ms: float | None
    queue_length: float | None


@dataclass(slots=True, kw_only=True)
class Proof:
    """What a `dbdyno why` of the same cell, on the same machine, found."""

    run: str
    resource: str | None
    """The bottleneck by its changes; null where none is shown to be it."""
    agrees: bool | None
    """Whether that is what was inferred; null where the changes settle nothing of it."""
    text: str
    """Its answer, a sentence."""


@dataclass(slots=True, kw_only=True)
class Bottleneck:
    """The resource that stopped a cell from going faster, inferred from where time went."""

    resource: str
    evidence: str
    advice: str
    rounds: int
    """Rounds in which this resource was the bottleneck."""
    of: int
    """Rounds with a diagnosis."""
    proven: Proof | None
    """By the newest `why` of the store that has asked about it; null where none has."""


@dataclass(slots=True, kw_only=True)
class MutexSite:
    """A place where clients queued on a mutex, over all rounds."""

    function: str | None
    mutex: str | None
    waits: int
    wait_s: float
    stack: list[str]


@dataclass(slots=True, kw_only=True)
class Mutex:
    """Contention on the engine's mutexes, over all rounds."""

    contended: int
    wait_s: float
    wait_share: float | None
    """Of the clients' time."""
    sites: list[MutexSite]
    """The ten with the longest waits."""


@dataclass(slots=True, kw_only=True)
class Time:
    """Where the clients' time went, over all rounds."""

    client_s: float
    """Clients times elapsed seconds, summed over the rounds."""
    cpu_s: float | None
    segments: dict[str, float | None]
    """Seconds per segment, summed over the rounds; null where it was not looked at."""
    shares: dict[str, float | None]
    """The same as shares of client_s."""


@dataclass(slots=True, kw_only=True)
class ShareOfCeiling:
    """Throughput as a share of what would be possible at most; 1 is the ceiling itself."""

    harness: float | None
    """Statements a second, of what the worker can do with the null engine and as many clients."""
    device_sync: float | None
    """Transactions a second of a power-safe system that synced, of the device's syncs a second one after another.
    Above 1 where several commits share one sync."""
    device_read: float | None
    """Device reads a second, of the most random reads a second the device gave at any depth."""


class Published(TypedDict, total=False):
    """A figure somebody else published, for orientation; never a result of this run."""

    value: float
    unit: str
    source: str
    machine: str
    year: int
    cpu_percent: float
    rounds: list[float]
    phases_ms: dict[str, float]
    """Milliseconds of one transaction's parts, by name as in latency_ms."""
    rows: int
    """Rows returned by a transaction."""


@dataclass(slots=True, kw_only=True)
class RowEstimate:
    """Rows that the planner expected of a step of a plan, and those that came when it was executed."""

    step: str
    """In the engine's words."""
    table: str | None
    """The table that it reads, by name or alias; null where it works on other steps' rows."""
    depth: int
    """How many steps lie above it."""
    expected: float
    """Rows of one execution."""
    found: float
    """Rows of one execution, on average."""
    executions: float
    at_least: bool
    """It was, or may have been, ended early: it would have given as many rows, or more."""


@dataclass(slots=True, kw_only=True)
class CellStatement:
    """A statement that the cell's transactions run."""

    name: str
    sql: str
    """As the engine gets it."""
    values: list[Any]
    """Of its parameters, where they are the same each time."""
    rows: float | None
    """Rows returned by an execution, over all rounds."""
    plan: list[str]
    """How the engine means to carry it out, with these values, a step a line; empty where it does not tell."""
    analyzed: list[Any]
    """Values of its parameters with which it was run once for its ``estimates``."""
    estimates: list[RowEstimate]
    """Of the steps whose numbers can be compared; empty where it was not run for it, or the engine does not tell."""


OperationKind = Literal["transaction", "statement", "control"]


@dataclass(slots=True, kw_only=True)
class Operation:
    """The time of a transaction, of a statement, or of beginning, committing or rolling back, over all rounds."""

    kind: OperationKind
    name: str
    count: int
    """How often it ended well."""
    seconds: float
    """Of all clients together."""
    share: float | None
    """Of a transaction: of the time of all that ended well; else of the transactions whose operations were timed."""
    latency_ms: Latency


@dataclass(slots=True, kw_only=True)
class LoadStep:
    """One thing that was done to load the data."""

    step: str
    """A table, or a part of one; a statement after the rows; in parentheses what the loader did by itself."""
    rows: int
    seconds: float


@dataclass(slots=True, kw_only=True)
class Load:
    """What it took to load the data that the cell's trials begin with."""

    rows: int
    rows_s: float
    """Making the rows and putting them into the tables."""
    indexes_s: float
    other_s: float
    """The rest: setup, syncing."""
    at: str
    """When: loaded data are kept, so that it may be before the run."""
    steps: list[LoadStep]


@dataclass(slots=True, kw_only=True)
class Growth:
    """How far a growing table had grown at the cell's trials."""

    rows: float
    """Its rows when a trial began, mean of the trials."""
    end_rows: float
    """Its rows when the last trial was over, with those of its warm-up."""
    filled_rows: int
    """Rows that it was filled up with from the size before, of all rounds; 0 where the trials there had made enough."""
    fill_s: float
    """Seconds that this took, as data are loaded: without a limit to memory."""
    fill_rows_per_s: float | None
    windows: int
    """Rounds that are windows on one growth. They are repeated measures of it, and count as one in intervals."""


@dataclass(slots=True, kw_only=True)
class StoredObject:
    """A table or an index on disk, when the cell's last trial was over."""

    name: str
    table: str
    kind: str
    """table or index. A table that is kept in the order of its primary key is the key's index too."""
    bytes: int
    leaves: int | None
    """Pages with entries; null where the engine does not tell."""
    leaf_fill: float | None
    """The mean share of a leaf that its entries take."""
    leaves_seen: int | None
    """How many leaves that is of, where those are not all."""


@dataclass(slots=True, kw_only=True)
class Waits:
    """What the server's sessions were seen doing, over all rounds."""

    samples: int
    """How often was looked."""
    query_s: float
    """Seconds that the server took to answer the looks."""
    sessions: dict[str, float]
    """Mean number of sessions by wait, ``class:event`` in the server's words; ``CPU:running`` waits for nothing."""


@dataclass(slots=True, kw_only=True)
class RateBasis:
    """What a round's throughput is told from, and with it how sure it is by itself."""

    time_s: float
    """Seconds that the transactions counted took of a client, on average."""
    count: int
    """Transactions whose times are known, those that failed included; 0 in an open loop."""
    seconds: float
    """The sum of their times, thinking included."""
    squares: float
    """The sum of the squares of their times."""
    resolution: float
    """By what share the throughput may be off because of what the window's ends cut."""
    other: float
    """What the other estimate of few transactions' rate comes to, as a multiple of this one; 1 where there is none."""


@dataclass(slots=True, kw_only=True)
class LoadMachineRound:
    """What one of several load machines did of a trial."""

    name: str
    """Its number, and the address of its node."""
    host: str
    clients: int
    issued: int
    ok: int
    failed: int
    skipped: int
    in_flight: int
    throughput: float
    """In the unit of the cell."""
    share: float | None
    """Of the sum over the machines."""
    p99_ms: float | None
    """Of the response time; in a closed loop of the service time."""
    began_ms: float | None
    """How long after the agreed moment its window began; in a closed loop its clients have each ended a transaction."""
    clock_ms: float
    """By how much its clock, and with it ``began_ms``, may be wrong, either way."""
    rate_ratio: float | None
    """The rate of its clients as a multiple of that of all clients."""
    rate_p: float | None
    """How probable such a difference is by chance, from the intervals of the window; null of fewer than five."""
    time_ratio: float | None
    """Its median service time as a multiple of that of the others, mean of the intervals."""
    time_p: float | None


@dataclass(slots=True, kw_only=True)
class FailedByCode:
    """Transactions of a round that failed with one code."""

    kind: str
    code: str
    """The system's own name or number for the failure; ``other``: it has none, or one of too many."""
    count: int
    message: str
    """The first."""


@dataclass(slots=True, kw_only=True)
class Listener:
    """A listening socket of the system on this machine."""

    part: str
    """The part whose it is, as in ``tiers``; empty: what clients connect to, where no part is named."""
    address: str
    backlog: int
    """Connections that it holds until they are accepted."""
    somaxconn: int
    """The most that the kernel allows of those."""
    dropped: int
    """How often a connection found it full, from before the warm-up on."""


@dataclass(slots=True, kw_only=True)
class Round:
    """One trial of the cell."""

    block: int
    position: int
    """Place in the random order of the block, from 0."""
    status: str
    """done, failed or interrupted."""
    error: str | None
    error_kind: str | None
    error_code: str | None
    """The system's own name or number for why the trial could not begin; null where it was not the system."""
    started: str
    issued: int
    ok: int
    failed: dict[str, int]
    """Failures by kind."""
    failures: dict[str, str]
    """The first message of each kind."""
    failed_by_code: list[FailedByCode]
    """The failures by the system's own name or number for them."""
    skipped: int
    in_flight: int
    retries: int
    completed: int
    """Of the transactions begun in the window, those that ended well, in it or later: throughput, latencies and all
    that is told of a transaction are of these."""
    elapsed_s: float | None
    """The length of the window."""
    ended_by: str | None
    window: JsonObject
    """What was to end it: clients, and seconds, transactions or statements of each client."""
    throughput: float | None
    """In the unit of the cell; null where the trial gave no result."""
    transactions_per_s: float | None
    rate: RateBasis
    outlier: bool
    """Far from the other rounds; counted all the same."""
    instructions: float | None
    """Of each thing that throughput counts, where they were counted: one client's, the worker's own part included."""
    rows: int | None
    """Rows returned by the completed transactions."""
    rows_squared: float | None
    """The sum of the squares of the rows that each of them returned; null where it was not counted."""
    rows_changed: int | None
    """Rows changed by the completed transactions."""
    transactions_changing: int | None
    """Completed transactions that changed rows."""
    statements: int | None
    """Statements run by the completed transactions."""
    transactions: JsonObject
    """By name: ok, failed."""
    statements_by_name: JsonObject
    """By name: executions, rows, changed; of all transactions, those that failed included."""
    latency_ms: dict[str, Latency]
    cpu_percent: CpuPercent
    scheduling: JsonObject
    """voluntary_switches, involuntary_switches, run_queue_wait_s, batch_threads."""
    throttling: JsonObject
    """What a CPU quota did to the ``client`` and to the ``server``, where one holds for them: cpus, periods,
    throttled_periods, throttled_s."""
    server_run_queue_s: float | None
    """Seconds that threads of the server were ready but had no CPU, summed over them; null where it is not known."""
    disk: Disk
    flushes: JsonObject
    """What all programs asked of the disk below the data, the slices of other cells included: device, flushes,
    forced_writes; empty where the kernel does not count it."""
    process_io: JsonObject
    """read_bytes, write_bytes of the worker's process."""
    io: dict[str, float | None]
    """Counts of the engine: syncs, reads, read_bytes, writes, write_bytes, lock_calls, file_lock_waits, cache_hits,
    cache_misses, cache_spills; null what nothing looked at, as on a server."""
    segments: dict[str, float | None]
    """Seconds of the clients' time; null where it was not looked at."""
    client_s: float | None
    peak_rss_bytes: int | None
    warmup: JsonObject
    """``seconds`` that the warm-up took."""
    observed: JsonObject
    """What the engine told: ``acknowledged`` transactions, ``counters``, ``backlog``, ``backlog_before``."""
    lock_holders: JsonObject
    """Other programs that locked the data: ``samples``, and of each of the ``holders`` its ``pid``, ``command`` and
    ``samples``; empty where none was seen."""
    changes: JsonObject
    """Of a trial that changed calls on purpose, else empty: by kind ``calls``, ``own_s``, ``added_s``."""
    interleaving: JsonObject
    """How a trial was interleaved with others: ``overrun_s``, ``real_s`` and the plan's settings; else empty."""
    competitor: float | None
    """The share of each processor that a program took which competed on purpose; null where there was none."""
    durations: JsonObject
    """Seconds around the load: load_s, copy_s, start_s, analyze_s, total_s."""
    bottleneck: Bottleneck | None
    plans: dict[str, list[str]]
    """Of statements whose plan is not the one in ``system``, by name, a step a line; empty where all are the same."""
    listeners: list[Listener]
    """Listening TCP sockets of this machine that clients, or parts of the system, connect to."""
    load_machines: list[LoadMachineRound]
    """Where the load came from, in the order of the clients' numbers; empty where it came from one place."""
    lost_machines: list[str]
    """What was said of the load machines that earlier tries of this trial lost."""
    intervals: list[JsonObject]
    """The timeline: one object per interval of the window; see docs/reference/result-document.md."""
    histograms: dict[str, str]
    """HdrHistogram V2, base64, in nanoseconds, by name."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """One combination of levels."""

    id: str
    system: System
    factors: JsonObject
    throughput: Throughput
    instructions: float | None
    """Of each thing that throughput counts, mean of the rounds that counted them."""
    latency_ms: dict[str, Latency]
    """Over all rounds, from merged histograms, by name: service, response, queue, failed, at_least, connect, prepare, …

    What clients waited for (``response``, in a closed loop ``service``) counts what did not end well as a lower
    bound."""
    histograms: dict[str, str]
    """The same as HdrHistogram V2, base64, in nanoseconds."""
    cpu_percent: CpuPercent
    disk: Disk
    io_per_transaction: dict[str, float | None]
    """The engine's own counts divided by the transactions that succeeded, over all rounds; null as in the rounds."""
    observed: Observed
    rows_per_transaction: float | None
    """Rows returned by a transaction that succeeded, over all rounds."""
    rows_standard_error: float | None
    """Of that; null where it is not known how the transactions differed."""
    retries_per_transaction: float | None
    """Further attempts per transaction that succeeded, over all rounds; null if none succeeded."""
    time: Time | None
    mutex: Mutex | None
    waits: Waits | None
    """Null where there is no server, or it does not tell."""
    bottleneck: Bottleneck | None
    share_of_ceiling: ShareOfCeiling
    published: Published | None
    failed: dict[str, int]
    """Failures by kind over all rounds."""
    statements: list[CellStatement]
    operations: list[Operation]
    """Empty where they were not timed."""
    load: Load | None
    """Loading the data; null where there was nothing to load, or it is not known."""
    growth: Growth | None
    """Null where no table grows from trial to trial."""
    space: list[StoredObject]
    """Empty where it was not asked for, or the engine does not tell."""
    timed: dict[str, float]
    """Seconds of statements that were timed when a trial was over, by name."""
    not_looked_at: dict[str, str]
    """What of ``space`` and ``timed`` could not be had, and why."""
    memory_limit: JsonObject | None
    """Bytes of memory that were to be the most, its ``means``, why it was ``refused``; null where there was none."""
    rounds: list[Round]
