//! What a trial found.

use super::{
    Accounting, Changed, Contention, CpuShare, Cycles, DeviceFlushes, DiskActivity, EndedBy, Facts, FailedByCode,
    LockHolders, Observed, Rate, Summary, Throttling, Waits,
};
use crate::plan::document::FailureKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a trial found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrialResult<'a> {
    /// Where each transaction that was due went.
    pub accounting: &'a Accounting,
    /// The first message of each kind of failure.
    pub failures: &'a BTreeMap<FailureKind, String>,
    /// The failures by code; left out where there is none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub failed_by_code: &'a [FailedByCode],
    /// Transactions begun in the window that ended well, in it or later.
    pub completed: u64,
    /// Transactions that ended well and do not count, of the warm-up and around the window.
    #[serde(skip_serializing_if = "is_zero")]
    pub besides: u64,
    /// Where later values of the clients' counters go on.
    #[serde(skip_serializing_if = "is_zero")]
    pub next_use: u64,
    /// When the window began, nanoseconds of the kernel's monotonic clock.
    #[serde(skip_serializing_if = "is_zero")]
    pub began_ns: u64,
    /// How fast they were.
    pub rate: &'a Rate,
    /// The times that transactions took of their clients.
    pub cycles: Cycles,
    /// Seconds of the window.
    pub elapsed_s: f64,
    /// Seconds between the two readings of the machine's figures.
    pub watched_s: f64,
    /// What ended the window.
    pub ended_by: EndedBy,
    /// What came before the window.
    pub warmup: Warmup,
    /// Of a trial that was interleaved with others.
    pub interleaving: Option<Interleaving>,
    /// Transactions by name.
    pub transactions: BTreeMap<&'a str, TransactionCounts>,
    /// Statements by name.
    pub statements: BTreeMap<&'a str, StatementCounts>,
    /// What the completed transactions did.
    pub work: Work,
    /// Histograms by name: base64 of HdrHistogram's V2 format, deflated.
    pub histograms: BTreeMap<&'a str, String>,
    /// Times of transactions and their operations, each by itself; left out where the plan wants none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations<'a>>,
    /// Latencies in milliseconds, by name: `service`, `response`, `queue`, and phases that were recorded.
    pub latency_ms: BTreeMap<&'a str, Summary>,
    /// CPU used.
    pub cpu: &'a CpuShare,
    /// What CPU quotas of control groups did to the worker, `client`, and to the `server`; left out where there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub throttling: BTreeMap<&'static str, Throttling>,
    /// Of the server's processes, where they are known.
    pub server: Option<Server>,
    /// CPU of the parts of the system that the plan names, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier<'a>>,
    /// What the kernel's scheduler did with the threads.
    pub scheduling: Scheduling,
    /// What the disk did.
    pub disk: Option<&'a DiskActivity>,
    /// How often the disks below the data were flushed, by all programs, the slices of other trials included; left out
    /// if the kernel does not count that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<&'a DeviceFlushes>,
    /// What the process fetched from and sent to storage.
    pub process_io: ProcessIo,
    /// What the engine is, read back.
    pub engine: &'a Facts,
    /// Where the clients' time went.
    pub time: Time,
    /// What the engine asked of the file system and waited for.
    pub io: Io,
    /// Contended mutexes, where they were watched.
    pub mutex: Option<&'a Contention>,
    /// What the engine told of what it did beneath its transactions.
    pub observed: Option<&'a Observed>,
    /// What the server's sessions waited for.
    pub waits: Option<WaitsOrError<'a>>,
    /// Other programs that locked the data during the window; left out where none was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_holders: Option<&'a LockHolders>,
    /// The calls that the plan changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<&'a Changed>,
    /// Memory of the process.
    pub memory: Memory,
    /// Where the clock's time comes from.
    pub clock: &'a str,
}

/// Times of transactions and their operations that ended well, by name; histograms as in `histograms`. One transaction
/// that is one statement has `service` alone; one of several statements has these, and `service` for itself.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operations<'a> {
    /// Of transactions, where there are several.
    pub transactions: BTreeMap<&'a str, String>,
    /// Of statements.
    pub statements: BTreeMap<&'a str, String>,
    /// Of `begin`, `commit` and `rollback`.
    pub controls: BTreeMap<&'a str, String>,
    /// Seconds of all transactions whose statements were timed, each as often as it stands for.
    pub timed_s: f64,
}

/// What came before the window.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Warmup {
    /// How long it took.
    pub seconds: f64,
}

/// Of a trial that was interleaved with others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Interleaving {
    /// Seconds that it went on after its slices, by client.
    pub overrun_s: f64,
    /// Seconds of its window, the others' slices included.
    pub real_s: f64,
}

/// How transactions of one name ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransactionCounts {
    /// Well.
    pub ok: u64,
    /// Not.
    pub failed: u64,
}

/// What a statement did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatementCounts {
    /// How often it was run.
    pub executions: u64,
    /// Rows it returned.
    pub rows: u64,
    /// Rows it changed.
    pub changed: u64,
}

/// What the completed transactions did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Work {
    /// How many.
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
    /// CPU used.
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
    /// As the plan calls it.
    pub name: &'a str,
    /// CPU that its processes used, in percent of one processor; null where they were not there.
    pub cpu_percent: Option<f64>,
    /// Its busiest threads, the busiest first; left out where none was at work for a twentieth of the time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<BusyThread<'a>>,
}

/// A thread that was at work.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BusyThread<'a> {
    /// Its name, of at most 15 characters.
    pub name: &'a str,
    /// Its process.
    pub pid: i32,
    /// CPU that it used, in percent of one processor.
    pub cpu_percent: f64,
}

/// What the kernel's scheduler did with the threads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Scheduling {
    /// Switches of threads that waited.
    pub voluntary_switches: u64,
    /// Switches of threads that were pushed off their processors.
    pub involuntary_switches: u64,
    /// Seconds that runnable threads waited for a processor.
    pub run_queue_wait_s: f64,
    /// Threads that took no processor from another.
    pub batch_threads: u32,
}

/// What the process fetched from and sent to storage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProcessIo {
    /// Bytes fetched.
    pub read_bytes: u64,
    /// Bytes sent.
    pub write_bytes: u64,
}

/// Where the clients' time went.
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

/// What the engine asked of the file system and waited for.
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

/// What sessions waited for, or why that was not seen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WaitsOrError<'a> {
    /// What was seen.
    Seen(&'a Waits),
    /// The server did not tell.
    Error {
        /// Why.
        error: &'a str,
    },
}

/// Memory of the process.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Memory {
    /// The most that it had.
    pub peak_rss_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
