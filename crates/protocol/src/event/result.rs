//! What a trial found.

use super::{
    Accounting, Changed, Contention, CpuShare, Cycles, DeviceFlushes, DiskActivity, EndedBy, Execution, Facts,
    FailedByCode, LockHolders, Observed, Rate, Summary, Throttling, Waits,
};
use crate::plan::document::FailureKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a trial found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrialResult<'a> {
    /// Counts of transactions by outcome.
    pub accounting: &'a Accounting,
    /// The first message of each kind of failure.
    pub failures: &'a BTreeMap<FailureKind, String>,
    /// The failures by code; left out if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub failed_by_code: &'a [FailedByCode],
    /// Transactions that began in the window and completed, in it or later.
    pub completed: u64,
    /// Transactions that completed but do not count: those of the warm-up and around the window.
    #[serde(skip_serializing_if = "is_zero")]
    pub besides: u64,
    /// The next value of the clients' counters.
    #[serde(skip_serializing_if = "is_zero")]
    pub next_use: u64,
    /// The start of the window, in nanoseconds of the kernel's monotonic clock.
    #[serde(skip_serializing_if = "is_zero")]
    pub began_ns: u64,
    /// The rate.
    pub rate: &'a Rate,
    /// Durations of transactions, as their clients saw them.
    pub cycles: Cycles,
    /// Seconds of the window.
    pub elapsed_s: f64,
    /// Seconds between the two readings of the machine's counters.
    pub watched_s: f64,
    /// Why the window ended.
    pub ended_by: EndedBy,
    /// The phase before the window.
    pub warmup: Warmup,
    /// For an interleaved trial.
    pub interleaving: Option<Interleaving>,
    /// Transactions by name.
    pub transactions: BTreeMap<&'a str, TransactionCounts>,
    /// Statements by name.
    pub statements: BTreeMap<&'a str, StatementCounts>,
    /// The work of the completed transactions.
    pub work: Work,
    /// The stages of an open loop whose rate changes, in order; left out without stages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// The work beside the clients, in the plan's order; left out if the plan has no such work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside<'a>>,
    /// Histograms by name: base64 of HdrHistogram's V2 format, deflated.
    pub histograms: BTreeMap<&'a str, String>,
    /// Times of transactions and of their operations, by name; left out if the plan does not record them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations<'a>>,
    /// Latencies in milliseconds, by name: `service`, `response`, `queue`, and phases that were recorded.
    pub latency_ms: BTreeMap<&'a str, Summary>,
    /// The CPU time of the worker.
    pub cpu: &'a CpuShare,
    /// Throttling by CPU quotas of control groups: of the worker (`client`) and of the `server`; left out if there are
    /// no quotas.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub throttling: BTreeMap<&'static str, Throttling>,
    /// The server's processes, if they are known.
    pub server: Option<Server>,
    /// The CPU time of the parts of the system that the plan names, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier<'a>>,
    /// Decisions of the kernel's scheduler.
    pub scheduling: Scheduling,
    /// The activity of the disk.
    pub disk: Option<&'a DiskActivity>,
    /// Flushes of the disks below the data by all programs, including the slices of other trials; left out if the
    /// kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<&'a DeviceFlushes>,
    /// Bytes that the process read from and wrote to storage.
    pub process_io: ProcessIo,
    /// Facts about the engine, read back from it.
    pub engine: &'a Facts,
    /// The clients' time, by purpose.
    pub time: Time,
    /// The engine's file I/O and waits.
    pub io: Io,
    /// Contended mutexes, if they were recorded.
    pub mutex: Option<&'a Contention>,
    /// The engine's own counters.
    pub observed: Option<&'a Observed>,
    /// The waits of the server's sessions.
    pub waits: Option<WaitsOrError<'a>>,
    /// Other programs that locked the data during the window; left out if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_holders: Option<&'a LockHolders>,
    /// The calls that the plan changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<&'a Changed>,
    /// Memory of the process.
    pub memory: Memory,
    /// The source of the clock.
    pub clock: &'a str,
}

/// A stage of an open loop. Its response times belong to the transactions that were scheduled in it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stage {
    /// Transactions scheduled in it.
    pub scheduled: u64,
    /// Transactions that completed in it, whenever they were scheduled.
    pub ok: u64,
    /// Transactions scheduled in it that failed.
    pub failed: u64,
    /// Transactions scheduled in it that no client began.
    pub skipped: u64,
    /// Response times of completed transactions; encoded as in `histograms`.
    pub response: String,
    /// Lower bounds of the response times of failed and skipped transactions.
    pub at_least: String,
}

/// Work beside the clients.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Beside<'a> {
    /// Its name in the plan.
    pub name: &'a str,
    /// Executions that failed.
    pub failed: u64,
    /// The message of the first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'a str>,
    /// The executions that ended without a failure, in order, at most 1,000.
    pub executions: &'a [Execution],
    /// Their number.
    pub ok: u64,
    /// The sum of their seconds.
    pub total_s: f64,
    /// The longest one, in seconds.
    pub longest_s: f64,
}

/// Times of completed transactions and operations, by name; encoded as in `histograms`. If the only transaction is a
/// single statement, only `service` exists. If the only transaction has several statements, `service` is its time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operations<'a> {
    /// Times of transactions, if there are several.
    pub transactions: BTreeMap<&'a str, String>,
    /// Times of statements.
    pub statements: BTreeMap<&'a str, String>,
    /// Times of `begin`, `commit` and `rollback`.
    pub controls: BTreeMap<&'a str, String>,
    /// Seconds of all transactions whose statements were timed, each with its sampling weight.
    pub timed_s: f64,
}

/// The phase before the window.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Warmup {
    /// Its seconds.
    pub seconds: f64,
}

/// The interleaving of a trial with others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Interleaving {
    /// Seconds that clients ran past their slices, per client.
    pub overrun_s: f64,
    /// Seconds of its window, including the slices of other trials.
    pub real_s: f64,
}

/// Outcomes of transactions with one name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransactionCounts {
    /// Completed.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
}

/// The work of a statement.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatementCounts {
    /// The number of its executions.
    pub executions: u64,
    /// Rows it returned.
    pub rows: u64,
    /// Rows it changed.
    pub changed: u64,
}

/// The work of the completed transactions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Work {
    /// The number of transactions.
    pub transactions: u64,
    /// Their statements.
    pub statements: u64,
    /// Rows returned.
    pub rows_returned: u64,
    /// The sum of the squares of the rows that each returned.
    pub rows_returned_squared: f64,
    /// Rows changed.
    pub rows_changed: u64,
    /// Transactions that changed rows.
    pub transactions_changing: u64,
}

/// The server's processes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Server {
    /// The CPU time.
    pub cpu: ServerCpu,
    /// Seconds that its threads were ready but had no CPU, summed over the threads that exist at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_queue_wait_s: Option<f64>,
}

/// CPU that a server used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerCpu {
    /// In percent of one processor.
    pub process_percent: f64,
}

/// A part of the system.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tier<'a> {
    /// Its name in the plan.
    pub name: &'a str,
    /// CPU time of its processes, in percent of one CPU; null if there were no processes.
    pub cpu_percent: Option<f64>,
    /// Its busiest threads, busiest first; left out if no thread used 5% of the time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<BusyThread<'a>>,
}

/// A busy thread.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BusyThread<'a> {
    /// Its name, of at most 15 characters.
    pub name: &'a str,
    /// Its process.
    pub pid: i32,
    /// CPU time, in percent of one CPU.
    pub cpu_percent: f64,
}

/// Decisions of the kernel's scheduler.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Scheduling {
    /// Switches of threads that waited.
    pub voluntary_switches: u64,
    /// Switches of threads that were preempted.
    pub involuntary_switches: u64,
    /// Seconds that runnable threads waited for a CPU.
    pub run_queue_wait_s: f64,
    /// Threads that never preempt others (`SCHED_BATCH`).
    pub batch_threads: u32,
}

/// Bytes that the process read from and wrote to storage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProcessIo {
    /// Bytes fetched.
    pub read_bytes: u64,
    /// Bytes sent.
    pub write_bytes: u64,
}

/// The clients' time, by purpose.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Time {
    /// All of it.
    pub client_s: f64,
    /// CPU time of the clients' threads.
    pub cpu_s: f64,
    /// Parts of all of it.
    pub segments: Segments,
}

/// Parts of the clients' time in seconds, which add up to all of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Segments {
    /// Waiting for the device to sync.
    pub sync: f64,
    /// Reading.
    pub read: f64,
    /// Writing.
    pub write: f64,
    /// Calls that lock and unlock files.
    pub lock_calls: f64,
    /// Waiting for mutexes.
    pub mutex_wait: f64,
    /// The client's own work.
    pub client: f64,
    /// Waiting for the server.
    pub server: f64,
    /// Waiting for locks on files.
    pub file_lock_wait: f64,
    /// Preparing statements.
    pub prepare: f64,
    /// Doing nothing.
    pub idle: f64,
    /// Waiting for a processor.
    pub run_queue: f64,
    /// The rest, on a processor.
    pub engine: f64,
    /// The rest, off it.
    pub unknown: f64,
}

/// The engine's file I/O and waits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Io {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Syncs.
    pub syncs: u64,
    /// Calls that lock and unlock files.
    pub lock_calls: u64,
    /// Times a session waited for a lock on a file.
    pub file_lock_waits: u64,
    /// Pages found in the cache.
    pub cache_hits: u64,
    /// Pages not found there.
    pub cache_misses: u64,
    /// Changed pages written before the commit because the cache was full.
    pub cache_spills: u64,
}

/// The waits of the sessions, or why they could not be sampled.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WaitsOrError<'a> {
    /// The waits.
    Seen(&'a Waits),
    /// The server did not report them.
    Error {
        /// Why.
        error: &'a str,
    },
}

/// Memory of the process.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Memory {
    /// Its peak.
    pub peak_rss_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
