"""The types of a cell in the result document: the measurements of one combination of levels, and of each round.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

# pydantic, which generates the JSON Schema, requires this TypedDict before Python 3.12.
from typing_extensions import TypedDict

JsonObject = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Latency:
    """A latency distribution in milliseconds."""

    p50: float | None
    """The median."""
    p90: float | None
    """The 90th percentile."""
    p99: float | None
    """The 99th percentile."""
    p99_9: float | None
    """The 99.9th percentile."""
    max: float | None
    """The largest recorded value."""
    mean: float | None
    """The arithmetic mean."""
    count: int | None
    """Recorded events."""
    at_least: list[str]
    """The names of the values above that are lower bounds, because transactions failed or were skipped."""


@dataclass(slots=True, kw_only=True)
class Throughput:
    """Throughput over all rounds, counting only successful transactions."""

    mean: float | None
    """Mean over the rounds with a result."""
    ci95: list[float] | None
    """The 95% t interval across rounds, [low, high]; null with fewer than two rounds."""
    unit: str
    """What is counted, per second or minute, such as "lookups/s" or "new orders/min"."""


@dataclass(slots=True, kw_only=True)
class System:
    """The measured system, as read back from the engine."""

    name: str
    """The URL of the system, without its password."""
    engine: str | None
    """The name of the product, such as SQLite or MariaDB."""
    version: str | None
    """The version that the engine reports."""
    source_id: str | None
    """The exact source version, such as a commit hash; null if the engine doesn't report it."""
    compile_options: list[str]
    """The options that the engine was compiled with; empty if it doesn't report them."""
    settings: JsonObject
    """Settings in effect, read back from the engine."""
    durability: str | None
    """The durability class of the settings in effect: power-safe, process-safe, torn-pages or none."""
    durability_because: str | None
    """The settings that determine the durability class."""
    plans: dict[str, list[str]]
    """The query plan of each statement by name, one step per line; empty if the engine reports no plans."""
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
    """``syncs`` divided by ``commits``."""
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
    """The busiest thread of the worker's process."""
    user: float | None
    """The worker's process in user mode."""
    system: float | None
    """The worker's process in the kernel."""
    machine: float | None
    """The whole machine."""
    steal: float | None
    """CPU time that the hypervisor gave to other virtual machines."""
    cores: int | None
    """Number of CPUs that the worker may use."""
    tiers: dict[str, float | None]
    """The parts of the system that ``measure.processes`` names; null if a part had no processes."""
    tier_threads: dict[str, float | None]
    """The busiest thread of each of these parts. A part is left out if none of its threads used 5% of a CPU."""
    processors: dict[str, list[int]]
    """The CPUs that each tier started by dbdyno may use. ``load`` has the CPUs of the load generator if they are
    restricted."""


@dataclass(slots=True, kw_only=True)
class Disk:
    """The device that holds the data, per second and per request; means over the rounds."""

    device: str | None
    """Name of the device; null if the data are not on a device, such as on tmpfs."""
    reads_per_s: float | None
    """Completed read requests per second."""
    read_bytes_per_s: float | None
    """Bytes read per second."""
    read_ms: float | None
    """Mean latency of a read request, including the time in the queue."""
    writes_per_s: float | None
    """Completed write requests per second."""
    write_bytes_per_s: float | None
    """Bytes written per second."""
    write_ms: float | None
    """Mean latency of a write request."""
    flushes_per_s: float | None
    """Requests to flush the device's cache; 0 if the device has no cache to flush."""
    flush_ms: float | None
    """Mean latency of a flush."""
    queue_length: float | None
    """Mean number of requests that are waiting or in progress."""


@dataclass(slots=True, kw_only=True)
class Proof:
    """The result of a `dbdyno why` run of the same cell on the same machine."""

    run: str
    """The id of the `dbdyno why` run."""
    resource: str | None
    """The bottleneck according to `dbdyno why`; null if it didn't confirm one."""
    agrees: bool | None
    """Whether `dbdyno why` found the inferred bottleneck; null if it was inconclusive."""
    text: str
    """The answer of `dbdyno why`, a sentence."""


@dataclass(slots=True, kw_only=True)
class Bottleneck:
    """The resource that stopped a cell from going faster, inferred from where time went."""

    resource: str
    """The name of the resource in sentences."""
    evidence: str
    """The measurements behind the inference, as a sentence."""
    advice: str
    """A change to try."""
    rounds: int
    """Rounds in which this resource was the bottleneck."""
    of: int
    """Rounds with a diagnosis."""
    proven: Proof | None
    """The newest `dbdyno why` result for this cell in the store; null if there is none."""


@dataclass(slots=True, kw_only=True)
class MutexSite:
    """A place where clients queued on a mutex, over all rounds."""

    function: str | None
    """The function that acquired the mutex."""
    mutex: str | None
    """The kind of mutex."""
    waits: int
    """Number of waits at this place."""
    wait_s: float
    """Seconds of waiting, summed over the threads."""
    stack: list[str]
    """The callers in the longest wait, innermost first."""


@dataclass(slots=True, kw_only=True)
class Mutex:
    """Contention on the engine's mutexes, over all rounds."""

    contended: int
    """Number of times a thread had to wait for a mutex."""
    wait_s: float
    """Seconds of waiting, summed over the threads."""
    wait_share: float | None
    """``wait_s`` as a share of the clients' time."""
    sites: list[MutexSite]
    """The ten places with the longest total wait."""


@dataclass(slots=True, kw_only=True)
class Time:
    """Where the clients' time went, over all rounds."""

    client_s: float
    """Clients times elapsed seconds, summed over the rounds."""
    cpu_s: float | None
    """CPU time of the clients' threads in seconds."""
    segments: dict[str, float | None]
    """Seconds per segment, summed over the rounds; null if the segment was not measured."""
    shares: dict[str, float | None]
    """The segments as shares of ``client_s``, over the rounds in which they were measured."""


@dataclass(slots=True, kw_only=True)
class ShareOfCeiling:
    """Throughput as a share of upper limits; 1 is the limit itself."""

    harness: float | None
    """Statements per second, relative to the worker's maximum with the null engine and the same number of clients."""
    device_sync: float | None
    """Transactions per second, relative to the syncs per second that the device completes one after another. Above 1 if
    several commits share one sync. Null if the system isn't power-safe or didn't sync."""
    device_read: float | None
    """Device reads per second, relative to the highest rate of random reads measured at any queue depth."""


class Published(TypedDict, total=False):
    """A result from a publication, for orientation; never a result of this run."""

    value: float
    """The published value, in ``unit``."""
    unit: str
    """The unit of ``value``."""
    source: str
    """The publication."""
    machine: str
    """The machine that the publication measured on."""
    year: int
    """The year of the publication."""
    cpu_percent: float
    """CPU in percent of one core."""
    rounds: list[float]
    """The values of the single rounds, in ``unit``."""
    phases_ms: dict[str, float]
    """Milliseconds of the parts of a transaction, by name as in ``latency_ms``."""
    rows: int
    """Rows returned by a transaction."""


@dataclass(slots=True, kw_only=True)
class RowEstimate:
    """Rows that the planner expected from a step of a plan, and rows that the step returned when it was executed."""

    step: str
    """The step in the engine's words."""
    table: str | None
    """The table that the step reads, by name or alias; null if it reads the output of other steps."""
    depth: int
    """Number of steps above it in the plan."""
    expected: float
    """Expected rows per execution."""
    found: float
    """Mean number of rows returned per execution."""
    executions: float
    """How often the step was executed."""
    at_least: bool
    """Whether the step ended early or may have: ``found`` is then a lower bound."""


PlanNodeKind = Literal["scan", "search", "sort", "hash join", "merge join", "nested loop", "temp", "other"]


@dataclass(slots=True, kw_only=True)
class PlanNode:
    """A step of a query plan, in the same terms for all engines."""

    kind: PlanNodeKind
    """``scan`` reads a whole table or index, ``search`` looks rows up by an index or key, ``sort`` sorts or groups
    rows, ``temp`` stores rows temporarily. ``nested loop`` appears only if the engine reports joins as steps."""
    line: str
    """The step in the engine's words."""
    depth: int
    """Number of steps above it in the plan; 0 if the engine reports a plain list."""
    table: str | None = None
    """The table that the step reads, by its name in the catalog as far as the statement tells it; null if the step
    reads the output of other steps."""
    alias: str | None = None
    """The table's alias in the statement; null if it has none."""
    index: str | None = None
    """The index that the step uses; null for a primary key without a name."""
    condition: str | None = None
    """The condition that the index serves, or what a sort is for, in the engine's words; null if not reported."""
    index_only: bool = False
    """Whether the index has all columns, so that the table isn't read."""
    inner: bool = False
    """Whether the table is read once per row of another one, as far as the plan shows it."""
    temp: bool = False
    """Whether the step creates a temporary table or index, as far as the plan shows it."""
    expected: float | None = None
    """Rows that the planner expected per execution; null if unknown."""
    found: float | None = None
    """Rows that the step returned per execution; null if not measured."""


@dataclass(slots=True, kw_only=True)
class PreparedPlans:
    """The generic plan of a prepared statement, and the custom plan that is made for the values of an execution."""

    generic: list[str]
    """The generic plan, one step per line."""
    generic_cost: float
    """Its estimated cost, in the engine's units."""
    custom: list[str]
    """The custom plan for the statement's example or representative values."""
    custom_cost: float
    """Its estimated cost, including an estimate for planning it."""
    generic_from: int | None
    """The first execution in a session that uses the generic plan; null if the engine keeps making custom plans."""


@dataclass(slots=True, kw_only=True)
class CellStatement:
    """A statement that the cell's transactions run."""

    name: str
    """The name of the statement."""
    sql: str
    """The text that is sent to the engine."""
    values: list[Any]
    """Parameter values, if every execution uses the same ones."""
    rows: float | None
    """Mean number of rows returned per execution, over all rounds."""
    plan: list[str]
    """The query plan, one step per line; empty if the engine reports no plan."""
    plan_nodes: list[PlanNode]
    """The steps of ``plan`` in the same order; empty if dbdyno can't parse this engine's plans."""
    analyzed: list[Any]
    """The parameter values of the execution that ``estimates`` comes from."""
    estimates: list[RowEstimate]
    """Row estimates of the steps that can be compared; empty if they were not measured."""
    prepared: PreparedPlans | None
    """The two plans of a statement that is prepared once, if they differ in kind; null if not, or if the engine doesn't
    report them."""


OperationKind = Literal["transaction", "statement", "control"]


@dataclass(slots=True, kw_only=True)
class Operation:
    """The time of a transaction, a statement, or a begin, commit or rollback, over all rounds."""

    kind: OperationKind
    """``control`` is a begin, commit or rollback."""
    name: str
    """The name of the transaction, statement or control operation."""
    count: int
    """Number of successful operations."""
    seconds: float
    """Time of all of them, summed over the clients."""
    share: float | None
    """For a transaction, its share of the time of all successful transactions. For other operations, the share of the
    time of the transactions whose operations were timed."""
    latency_ms: Latency
    """The latency of successful operations."""


@dataclass(slots=True, kw_only=True)
class LoadStep:
    """One step of loading the data."""

    step: str
    """A table or a part of one, a statement that ran after the rows were loaded, or, in parentheses, an action of the
    loader itself."""
    rows: int
    """Rows loaded in this step."""
    seconds: float
    """The duration of the step."""


@dataclass(slots=True, kw_only=True)
class Load:
    """Loading the initial data of the cell's trials."""

    rows: int
    """Rows loaded into all tables."""
    rows_s: float
    """Seconds for generating and inserting the rows."""
    indexes_s: float
    """Seconds for creating indexes."""
    other_s: float
    """Seconds for everything else, such as setup and syncing."""
    at: str
    """When the data were loaded. This can be before the run, because loaded data are reused."""
    steps: list[LoadStep]
    """The steps in the order in which they ran."""


@dataclass(slots=True, kw_only=True)
class Growth:
    """The size of a growing table during the cell's trials."""

    rows: float
    """Rows of the table at the start of a trial, mean over the trials."""
    end_rows: float
    """Rows of the table after the last trial, including rows inserted during warm-up."""
    filled_rows: int
    """Rows that dbdyno inserted to reach this size from the previous one, over all rounds; 0 if the trials at the
    previous size had inserted enough."""
    fill_s: float
    """Seconds for inserting these rows. As in loading, memory was not limited."""
    fill_rows_per_s: float | None
    """Null if no rows were inserted for this."""
    windows: int
    """Rounds that measure the same growth of the table. They are repeated measurements, so intervals count them as
    one."""


@dataclass(slots=True, kw_only=True)
class StoredObject:
    """A table or an index on disk after the cell's last trial."""

    name: str
    """The name of the table or index."""
    table: str
    """The table that an index belongs to; the table's own name if this is a table."""
    kind: str
    """table or index. A table stored in primary-key order is also the index of the primary key."""
    bytes: int
    """Bytes on disk."""
    leaves: int | None
    """Leaf pages; null if the engine doesn't report them."""
    leaf_fill: float | None
    """Mean share of a leaf page that entries occupy, from 0 to 1."""
    leaves_seen: int | None
    """Number of leaf pages that ``leaf_fill`` was measured on; null if it was all of them."""


@dataclass(slots=True, kw_only=True)
class Waits:
    """What the server's sessions were doing in random samples, over all rounds."""

    samples: int
    """Number of samples."""
    query_s: float
    """Seconds that the server spent on answering the sampling queries."""
    sessions: dict[str, float]
    """Mean number of sessions by wait, as ``class:event`` in the server's terms; ``CPU:running`` sessions don't
    wait."""


@dataclass(slots=True, kw_only=True)
class RateBasis:
    """The basis of a round's throughput, from which the precision of a single round follows."""

    time_s: float
    """Mean seconds that a client spent on the counted transactions."""
    count: int
    """Transactions whose times are known, failed ones included; 0 in an open loop."""
    seconds: float
    """The sum of their times in seconds, including think time."""
    squares: float
    """The sum of the squares of their times, in square seconds."""
    resolution: float
    """The largest relative error of the throughput from transactions that the ends of the window cut."""
    other: float
    """The alternative estimate for windows with few transactions, as a multiple of this throughput; 1 if there is
    none."""


@dataclass(slots=True, kw_only=True)
class LoadMachineRound:
    """The part of a trial that one of several load machines ran."""

    name: str
    """The number of the load machine and the address of its node."""
    host: str
    """The host name that the load machine reports."""
    clients: int
    """Number of clients on this load machine."""
    issued: int
    """Transactions that were due: ok + failed + skipped + in_flight."""
    ok: int
    """Successful transactions."""
    failed: int
    """Failed transactions."""
    skipped: int
    """Transactions that were due but never started."""
    in_flight: int
    """Transactions that had not ended when the window ended."""
    throughput: float
    """In the unit of the cell's throughput."""
    share: float | None
    """Share of the throughput of all load machines."""
    p99_ms: float | None
    """99th percentile of the response time; in a closed loop, of the service time."""
    began_ms: float | None
    """Delay of the window's start after the agreed time. In a closed loop, a window starts after each client has
    completed a transaction."""
    clock_ms: float
    """The error of the machine's clock, and therefore of ``began_ms``, in either direction."""
    rate_ratio: float | None
    """The throughput per client as a multiple of the mean over all load machines' clients."""
    rate_p: float | None
    """The probability of such a difference by chance, from the window's intervals; null with fewer than five
    intervals."""
    time_ratio: float | None
    """The median service time as a multiple of the other machines' mean, averaged over the window's intervals."""
    time_p: float | None
    """The same probability for ``time_ratio``."""


@dataclass(slots=True, kw_only=True)
class FailedByCode:
    """Transactions of a round that failed with one code."""

    kind: str
    """The kind of failure, such as "locked" or "timeout"."""
    code: str
    """The system's own name or number for the failure; ``other`` if it has none or there were too many codes."""
    count: int
    """Number of failed transactions."""
    message: str
    """The first message with this code."""


@dataclass(slots=True, kw_only=True)
class Listener:
    """A listening socket of the system on this machine."""

    part: str
    """The part of the system, as in ``tiers``; empty for the socket that clients connect to if no part is named."""
    address: str
    """Address and port of the socket."""
    backlog: int
    """The length of the socket's accept queue, in connections."""
    somaxconn: int
    """The kernel's upper limit for accept queues."""
    dropped: int
    """Connections that found the accept queue full, counted from before the warm-up."""


@dataclass(slots=True, kw_only=True)
class Round:
    """One trial of the cell."""

    block: int
    """The number of the round."""
    position: int
    """Position in the random order of the round, from 0."""
    status: str
    """done, failed or interrupted."""
    error: str | None
    """Why the trial failed; null if it didn't."""
    error_kind: str | None
    """The kind of error."""
    error_code: str | None
    """The system's error code if the system prevented the trial from starting, otherwise null."""
    started: str
    """When the trial started."""
    issued: int
    """Transactions that were due: ok + failed + skipped + in_flight."""
    ok: int
    """Successful transactions."""
    failed: dict[str, int]
    """Failed transactions by kind of failure."""
    failures: dict[str, str]
    """The first message of each kind of failure."""
    failed_by_code: list[FailedByCode]
    """Failed transactions by the system's error code."""
    skipped: int
    """Transactions that were due but never started."""
    in_flight: int
    """Transactions that had not ended when the window ended."""
    retries: int
    """Further attempts of transactions. They don't count as transactions."""
    completed: int
    """Transactions that started in the window and succeeded, in it or later. Throughput, latencies and values per
    transaction refer to these."""
    elapsed_s: float | None
    """The length of the window in seconds."""
    ended_by: str | None
    """What ended the window: transactions, statements, rows, seconds or interrupted."""
    window: JsonObject
    """The planned window: ``clients``, and ``seconds``, ``transactions``, ``statements`` or ``rows`` per client."""
    throughput: float | None
    """In the unit of the cell's throughput; null if the trial has no result."""
    transactions_per_s: float | None
    """Successful transactions per second."""
    rate: RateBasis
    """The basis of ``throughput``."""
    outlier: bool
    """Whether the throughput is far from the other rounds'. Outliers are not excluded."""
    instructions: float | None
    """CPU instructions per unit of throughput, counted with one client and including the worker's own; null if not
    counted."""
    rows: int | None
    """Rows returned by the completed transactions."""
    rows_squared: float | None
    """The sum over the completed transactions of the square of the rows returned; null if not counted."""
    rows_changed: int | None
    """Rows changed by the completed transactions."""
    transactions_changing: int | None
    """Completed transactions that changed rows."""
    statements: int | None
    """Statements run by the completed transactions."""
    transactions: JsonObject
    """``ok`` and ``failed`` by transaction name."""
    statements_by_name: JsonObject
    """``executions``, ``rows`` and ``changed`` by statement name, from all transactions, failed ones included."""
    latency_ms: dict[str, Latency]
    """Latency distributions by name, as in the cell."""
    cpu_percent: CpuPercent
    """CPU usage during the window."""
    scheduling: JsonObject
    """``voluntary_switches``, ``involuntary_switches``, ``run_queue_wait_s`` and ``batch_threads`` of the worker."""
    throttling: JsonObject
    """The effect of CPU quotas on ``client`` and ``server``, if they have one: ``cpus``, ``periods``,
    ``throttled_periods``, ``throttled_s``."""
    server_run_queue_s: float | None
    """Seconds that the server's threads were ready to run but had no CPU, summed over the threads; null if unknown."""
    disk: Disk
    """Activity of the data's device during the window."""
    flushes: JsonObject
    """Requests of all programs to the disk that holds the data, including the time slices of other cells: ``device``,
    ``flushes``, ``forced_writes``; empty if the kernel doesn't count them."""
    process_io: JsonObject
    """``read_bytes`` and ``write_bytes`` of the worker's process."""
    io: dict[str, float | None]
    """The engine's counts: ``syncs``, ``reads``, ``read_bytes``, ``writes``, ``write_bytes``, ``lock_calls``,
    ``file_lock_waits``, ``cache_hits``, ``cache_misses``, ``cache_spills``. A count is null if nothing measured it,
    such as on a server."""
    segments: dict[str, float | None]
    """Seconds of the clients' time per segment; null if the segment was not measured."""
    client_s: float | None
    """The clients' total time: number of clients times elapsed seconds."""
    peak_rss_bytes: int | None
    """Peak resident memory of the worker."""
    warmup: JsonObject
    """The ``seconds`` of the warm-up."""
    observed: JsonObject
    """The engine's report: ``acknowledged`` transactions, ``counters``, ``backlog``, ``backlog_before``."""
    lock_holders: JsonObject
    """Other programs that locked the data: ``samples``, and ``holders`` with ``pid``, ``command`` and ``samples``;
    empty if none was found."""
    changes: JsonObject
    """Calls that the trial delayed on purpose, by kind: ``calls``, ``own_s``, ``added_s``; otherwise empty."""
    interleaving: JsonObject
    """Interleaving with other trials: ``overrun_s``, ``real_s`` and the plan's settings; empty without interleaving."""
    competitor: float | None
    """The share of each CPU that a deliberately competing program used; null without such a program."""
    durations: JsonObject
    """Seconds of the steps around the window (``load_s``, ``copy_s``, ``start_s``, ``analyze_s``) and of the whole
    trial (``total_s``)."""
    bottleneck: Bottleneck | None
    """The inferred bottleneck of this round; null if it couldn't be diagnosed."""
    plans: dict[str, list[str]]
    """Query plans that differ from the plans in ``system``, by statement name, one step per line."""
    listeners: list[Listener]
    """Listening TCP sockets on this machine that clients or parts of the system connect to."""
    load_machines: list[LoadMachineRound]
    """The load machines in the order of the clients' numbers; empty with a single load generator."""
    lost_machines: list[str]
    """Messages about load machines that were lost in earlier attempts of this trial."""
    intervals: list[JsonObject]
    """The timeline: one object per interval of the window; see docs/reference/result-document.md."""
    histograms: dict[str, str]
    """HdrHistogram V2, base64, in nanoseconds, by name."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """A stage of an open loop whose rate changes, over all rounds."""

    start_s: float
    """Its start in seconds of the window."""
    seconds: float
    """Its length."""
    rate: list[float]
    """The planned transactions per second when it begins and when it ends."""
    offered: float
    """Transactions scheduled in it, per second."""
    throughput: float
    """Transactions completed in it, per second, including transactions that an earlier stage left waiting."""
    failed: int
    """Transactions scheduled in it that failed."""
    skipped: int
    """Transactions scheduled in it that no client began before the window ended."""
    latency_ms: Latency
    """Response times of the transactions scheduled in it; failed and skipped ones count as lower bounds."""


@dataclass(slots=True, kw_only=True)
class Beside:
    """Work beside the clients, over all rounds. It doesn't count as throughput."""

    name: str
    """Its name in the experiment."""
    executions: int
    """Executions without an error."""
    mean_s: float | None
    """Their mean length in seconds, without think time; null without executions."""
    max_s: float | None
    """The length of the longest one."""
    failed: int
    """Executions with an error."""
    failure: str | None
    """The message of the first error."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """The measurements of one combination of levels."""

    id: str
    """The levels that identify the cell, such as "cache=private,threads=1"."""
    system: System
    """The measured system."""
    factors: JsonObject
    """Level by factor."""
    throughput: Throughput
    """Throughput over all rounds."""
    instructions: float | None
    """CPU instructions per unit of throughput, mean over the rounds that counted them."""
    latency_ms: dict[str, Latency]
    """Over all rounds, from merged histograms, by name: service, response, queue, failed, at_least, connect, prepare, …

    ``response`` (in a closed loop ``service``) includes failed and skipped transactions as lower bounds."""
    histograms: dict[str, str]
    """The histograms of ``latency_ms``: HdrHistogram V2, base64, in nanoseconds."""
    cpu_percent: CpuPercent
    """CPU usage, means over the rounds."""
    disk: Disk
    """Activity of the data's device, means over the rounds."""
    io_per_transaction: dict[str, float | None]
    """The counts in ``io`` of the rounds per successful transaction, over all rounds; null if not measured."""
    observed: Observed
    """The engine's own counts, over all rounds."""
    rows_per_transaction: float | None
    """Rows returned per successful transaction, over all rounds."""
    rows_standard_error: float | None
    """The standard error of ``rows_per_transaction``; null if the squares were not counted."""
    rows_differ: dict[str, str]
    """How its rows differ from those of other cells for the same values, by the other cell's id."""
    retries_per_transaction: float | None
    """Further attempts per successful transaction, over all rounds; null if no transaction succeeded."""
    time: Time | None
    """Null if no round recorded the clients' time."""
    mutex: Mutex | None
    """Null if mutexes were not observed."""
    waits: Waits | None
    """Null without a server, or if the server doesn't report waits."""
    bottleneck: Bottleneck | None
    """Null if no round could be diagnosed."""
    share_of_ceiling: ShareOfCeiling
    """Throughput relative to upper limits."""
    published: Published | None
    """Null if the experiment has no published result for the cell."""
    failed: dict[str, int]
    """Failed transactions by kind of failure, over all rounds."""
    statements: list[CellStatement]
    """The statements of the cell's transactions."""
    operations: list[Operation]
    """Empty if operations were not timed."""
    stages: list[Stage]
    """Empty if the rate of arrivals doesn't change."""
    beside: list[Beside]
    """Empty without work beside the clients."""
    load: Load | None
    """Null if no data were loaded, or if it is unknown how."""
    growth: Growth | None
    """Null if no table grows from trial to trial."""
    space: list[StoredObject]
    """Empty if space was not measured, or if the engine doesn't report it."""
    timed: dict[str, float]
    """Mean seconds of the statements that are timed after a trial, by name."""
    not_looked_at: dict[str, str]
    """The reason for each part of ``space`` and ``timed`` that couldn't be measured."""
    memory_limit: JsonObject | None
    """The requested memory limit: ``bytes``, the ``means`` that enforces it, and why it was ``refused``; null without a
    limit."""
    rounds: list[Round]
    """One entry per trial, in the order of the rounds."""
