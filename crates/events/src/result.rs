//! What a trial found, as its event has it.

use crate::latency::{EncodingFailed, Summary, encode};
use dbdyno_engine::Facts;
use dbdyno_engine::observed::Observed;
use dbdyno_engine::probe::Contention;
use dbdyno_engine::waits::Waits;
use dbdyno_load::accounting::Accounting;
use dbdyno_load::changed::Changed;
use dbdyno_load::failures::FailedByCode;
use dbdyno_load::latency::Latencies;
use dbdyno_load::operations::CONTROLS;
use dbdyno_load::outcome::{Cycles, Outcome};
use dbdyno_load::rate::Rate;
use dbdyno_load::report::EndedBy;
use dbdyno_plan::document::FailureKind;
use dbdyno_probes::disk::DiskActivity;
use dbdyno_probes::flushes::DeviceFlushes;
use dbdyno_probes::locks::LockHolders;
use dbdyno_probes::process::CpuShare;
use dbdyno_probes::quota::Throttling;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a trial found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrialResult<'a> {
    /// Where each transaction that was due went.
    accounting: &'a Accounting,
    /// The first message of each kind of failure.
    failures: &'a BTreeMap<FailureKind, String>,
    /// The failures by code; left out where there is none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed_by_code: &'a [FailedByCode],
    /// Transactions begun in the window that ended well, in it or later.
    completed: u64,
    /// Transactions that ended well and do not count, of the warm-up and around the window.
    #[serde(skip_serializing_if = "is_zero")]
    besides: u64,
    /// Where later values of the clients' counters go on.
    #[serde(skip_serializing_if = "is_zero")]
    next_use: u64,
    /// When the window began, nanoseconds of the kernel's monotonic clock.
    #[serde(skip_serializing_if = "is_zero")]
    began_ns: u64,
    /// How fast they were.
    rate: &'a Rate,
    /// The times that transactions took of their clients.
    cycles: Cycles,
    /// Seconds of the window.
    elapsed_s: f64,
    /// Seconds between the two readings of the machine's figures.
    watched_s: f64,
    /// What ended the window.
    ended_by: EndedBy,
    /// What came before the window.
    warmup: Warmup,
    /// Of a trial that was interleaved with others.
    interleaving: Option<Interleaving>,
    /// Transactions by name.
    transactions: BTreeMap<&'a str, TransactionCounts>,
    /// Statements by name.
    statements: BTreeMap<&'a str, StatementCounts>,
    /// What the completed transactions did.
    work: Work,
    /// Histograms by name: base64 of HdrHistogram's V2 format, deflated.
    histograms: BTreeMap<&'a str, String>,
    /// Times of transactions and their operations, each by itself; left out where the plan wants none.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<Operations<'a>>,
    /// Latencies in milliseconds, by name: `service`, `response`, `queue`, and phases that were recorded.
    latency_ms: BTreeMap<&'a str, Summary>,
    /// CPU used.
    cpu: &'a CpuShare,
    /// What CPU quotas of control groups did to the worker, `client`, and to the `server`; left out where there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    throttling: BTreeMap<&'static str, Throttling>,
    /// Of the server's processes, where they are known.
    server: Option<Server>,
    /// CPU of the parts of the system that the plan names, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<Tier<'a>>,
    /// What the kernel's scheduler did with the threads.
    scheduling: Scheduling,
    /// What the disk did.
    disk: Option<&'a DiskActivity>,
    /// How often the disks below the data were flushed, by all programs, the slices of other trials included; left out
    /// if the kernel does not count that.
    #[serde(skip_serializing_if = "Option::is_none")]
    flushes: Option<&'a DeviceFlushes>,
    /// What the process fetched from and sent to storage.
    process_io: ProcessIo,
    /// What the engine is, read back.
    engine: &'a Facts,
    /// Where the clients' time went.
    time: Time,
    /// What the engine asked of the file system and waited for.
    io: Io,
    /// Contended mutexes, where they were watched.
    mutex: Option<&'a Contention>,
    /// What the engine told of what it did beneath its transactions.
    observed: Option<&'a Observed>,
    /// What the server's sessions waited for.
    waits: Option<WaitsOrError<'a>>,
    /// Other programs that locked the data during the window; left out where none was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_holders: Option<&'a LockHolders>,
    /// The calls that the plan changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a Changed>,
    /// Memory of the process.
    memory: Memory,
    /// Where the clock's time comes from.
    clock: &'a str,
}

/// Times of transactions and their operations that ended well, by name; histograms as in `histograms`. One transaction
/// that is one statement has `service` alone; one of several statements has these, and `service` for itself.
#[derive(Debug, Serialize, JsonSchema)]
struct Operations<'a> {
    /// Of transactions, where there are several.
    transactions: BTreeMap<&'a str, String>,
    /// Of statements.
    statements: BTreeMap<&'a str, String>,
    /// Of `begin`, `commit` and `rollback`.
    controls: BTreeMap<&'a str, String>,
    /// Seconds of all transactions whose statements were timed, each as often as it stands for.
    timed_s: f64,
}

/// What came before the window.
#[derive(Debug, Serialize, JsonSchema)]
struct Warmup {
    /// How long it took.
    seconds: f64,
}

/// Of a trial that was interleaved with others.
#[derive(Debug, Serialize, JsonSchema)]
struct Interleaving {
    /// Seconds that it went on after its slices, by client.
    overrun_s: f64,
    /// Seconds of its window, the others' slices included.
    real_s: f64,
}

/// How transactions of one name ended.
#[derive(Debug, Serialize, JsonSchema)]
struct TransactionCounts {
    /// Well.
    ok: u64,
    /// Not.
    failed: u64,
}

/// What a statement did.
#[derive(Debug, Serialize, JsonSchema)]
struct StatementCounts {
    /// How often it was run.
    executions: u64,
    /// Rows it returned.
    rows: u64,
    /// Rows it changed.
    changed: u64,
}

/// What the completed transactions did.
#[derive(Debug, Serialize, JsonSchema)]
struct Work {
    /// How many.
    transactions: u64,
    /// Their statements.
    statements: u64,
    /// Rows returned.
    rows_returned: u64,
    /// The sum of the squares of the rows that each returned.
    rows_returned_squared: f64,
    /// Rows changed.
    rows_changed: u64,
    /// Transactions that changed rows.
    transactions_changing: u64,
}

/// The server's processes.
#[derive(Debug, Serialize, JsonSchema)]
struct Server {
    /// CPU used.
    cpu: ServerCpu,
    /// Seconds that its threads were ready but had no CPU, summed over the threads that exist at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_queue_wait_s: Option<f64>,
}

/// CPU that a server used.
#[derive(Debug, Serialize, JsonSchema)]
struct ServerCpu {
    /// In percent of one processor.
    process_percent: f64,
}

/// A part of the system.
#[derive(Debug, Serialize, JsonSchema)]
struct Tier<'a> {
    /// As the plan calls it.
    name: &'a str,
    /// CPU that its processes used, in percent of one processor; null where they were not there.
    cpu_percent: Option<f64>,
    /// Its busiest threads, the busiest first; left out where none was at work for a twentieth of the time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    threads: Vec<BusyThread<'a>>,
}

/// A thread that was at work.
#[derive(Debug, Serialize, JsonSchema)]
struct BusyThread<'a> {
    /// Its name, of at most 15 characters.
    name: &'a str,
    /// Its process.
    pid: i32,
    /// CPU that it used, in percent of one processor.
    cpu_percent: f64,
}

/// What the kernel's scheduler did with the threads.
#[derive(Debug, Serialize, JsonSchema)]
struct Scheduling {
    /// Switches of threads that waited.
    voluntary_switches: u64,
    /// Switches of threads that were pushed off their processors.
    involuntary_switches: u64,
    /// Seconds that runnable threads waited for a processor.
    run_queue_wait_s: f64,
    /// Threads that took no processor from another.
    batch_threads: u32,
}

/// What the process fetched from and sent to storage.
#[derive(Debug, Serialize, JsonSchema)]
struct ProcessIo {
    /// Bytes fetched.
    read_bytes: u64,
    /// Bytes sent.
    write_bytes: u64,
}

/// Where the clients' time went.
#[derive(Debug, Serialize, JsonSchema)]
struct Time {
    /// All of it.
    client_s: f64,
    /// CPU time of the clients' threads.
    cpu_s: f64,
    /// Parts of all of it.
    segments: Segments,
}

/// Parts of the clients' time in seconds, which add up to all of it.
#[derive(Debug, Serialize, JsonSchema)]
struct Segments {
    /// Waiting for the device to sync.
    sync: f64,
    /// Reading.
    read: f64,
    /// Writing.
    write: f64,
    /// Calls that lock and unlock files.
    lock_calls: f64,
    /// Waiting for mutexes.
    mutex_wait: f64,
    /// The client's own work.
    client: f64,
    /// Waiting for the server.
    server: f64,
    /// Waiting for locks on files.
    file_lock_wait: f64,
    /// Preparing statements.
    prepare: f64,
    /// Doing nothing.
    idle: f64,
    /// Waiting for a processor.
    run_queue: f64,
    /// The rest, on a processor.
    engine: f64,
    /// The rest, off it.
    unknown: f64,
}

/// What the engine asked of the file system and waited for.
#[derive(Debug, Serialize, JsonSchema)]
struct Io {
    /// Reads.
    reads: u64,
    /// Bytes read.
    read_bytes: u64,
    /// Writes.
    writes: u64,
    /// Bytes written.
    write_bytes: u64,
    /// Syncs.
    syncs: u64,
    /// Calls that lock and unlock files.
    lock_calls: u64,
    /// Times a session waited for a lock on a file.
    file_lock_waits: u64,
    /// Pages found in the cache.
    cache_hits: u64,
    /// Pages not found there.
    cache_misses: u64,
    /// Changed pages written before the commit because the cache was full.
    cache_spills: u64,
}

/// What sessions waited for, or why that was not seen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum WaitsOrError<'a> {
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
struct Memory {
    /// The most that it had.
    peak_rss_bytes: u64,
}

impl<'a> TrialResult<'a> {
    /// Puts together what a trial found; `clock`: where its time comes from. Fails where a histogram cannot be written.
    pub fn of(outcome: &'a Outcome, facts: &'a Facts, clock: &'a str) -> Result<Self, EncodingFailed> {
        let mut histograms = BTreeMap::new();
        let mut latency_ms = BTreeMap::new();
        let answers = if outcome.histograms.contains_key("response") {
            "response"
        } else {
            "service"
        };
        for (name, histogram) in &outcome.histograms {
            histograms.insert(*name, encode(histogram)?);
            let at_least = outcome.histograms.get("at_least").filter(|_| *name == answers);
            latency_ms.insert(*name, Summary::of(histogram, at_least));
        }
        let transactions = outcome.transactions.iter();
        let statements = outcome.statements.iter();
        let time = &outcome.time;
        Ok(Self {
            accounting: &outcome.accounting,
            failures: &outcome.messages,
            failed_by_code: outcome.failures.all(),
            completed: outcome.completed,
            besides: outcome.besides,
            next_use: outcome.next_use,
            began_ns: outcome.began_ns,
            rate: &outcome.rate,
            cycles: outcome.cycles,
            elapsed_s: outcome.elapsed_s,
            watched_s: outcome.watched_s,
            ended_by: outcome.ended_by,
            warmup: Warmup {
                seconds: outcome.warmup_s,
            },
            interleaving: outcome
                .interleaving
                .map(|(overrun_s, real_s)| Interleaving { overrun_s, real_s }),
            transactions: transactions
                .map(|(name, ok, failed)| {
                    (
                        name.as_str(),
                        TransactionCounts {
                            ok: *ok,
                            failed: *failed,
                        },
                    )
                })
                .collect(),
            statements: statements
                .map(|(name, executions, rows, changed)| {
                    let counts = StatementCounts {
                        executions: *executions,
                        rows: *rows,
                        changed: *changed,
                    };
                    (name.as_str(), counts)
                })
                .collect(),
            work: Work {
                transactions: outcome.completed,
                statements: outcome.work.statements,
                rows_returned: outcome.work.returned,
                rows_returned_squared: outcome.returned_squared,
                rows_changed: outcome.work.changed,
                transactions_changing: outcome.changing,
            },
            histograms,
            operations: operations(outcome)?,
            latency_ms,
            cpu: &outcome.cpu,
            throttling: outcome.throttling.iter().copied().collect(),
            server: outcome.server_cpu_percent.map(|process_percent| Server {
                cpu: ServerCpu { process_percent },
                run_queue_wait_s: outcome.server_run_queue_s,
            }),
            tiers: outcome
                .tiers
                .iter()
                .map(|tier| Tier {
                    name: &tier.name,
                    cpu_percent: tier.cpu_percent,
                    threads: tier
                        .threads
                        .iter()
                        .map(|(name, pid, cpu_percent)| BusyThread {
                            name,
                            pid: *pid,
                            cpu_percent: *cpu_percent,
                        })
                        .collect(),
                })
                .collect(),
            scheduling: Scheduling {
                voluntary_switches: outcome.switches.0,
                involuntary_switches: outcome.switches.1,
                run_queue_wait_s: seconds(time.run_queue),
                batch_threads: outcome.gave_way,
            },
            disk: outcome.disk.as_ref(),
            flushes: outcome.flushes.as_ref(),
            process_io: ProcessIo {
                read_bytes: outcome.process_io.0,
                write_bytes: outcome.process_io.1,
            },
            engine: facts,
            time: Time {
                client_s: seconds(time.total),
                cpu_s: seconds(time.cpu),
                segments: segments(time),
            },
            io: Io {
                reads: outcome.thread.reads,
                read_bytes: outcome.thread.read_bytes,
                writes: outcome.thread.writes,
                write_bytes: outcome.thread.write_bytes,
                syncs: outcome.thread.syncs,
                lock_calls: outcome.thread.lock_calls,
                file_lock_waits: outcome.thread.file_lock_waits,
                cache_hits: outcome.session.cache_hits,
                cache_misses: outcome.session.cache_misses,
                cache_spills: outcome.session.cache_spills,
            },
            mutex: outcome.contention.as_ref(),
            observed: outcome.observed.as_ref(),
            waits: outcome.waits.as_ref().map(|waits| match waits {
                Ok(waits) => WaitsOrError::Seen(waits),
                Err(failure) => WaitsOrError::Error {
                    error: &failure.message,
                },
            }),
            lock_holders: outcome.lock_holders.as_ref(),
            changes: outcome.changed.as_ref(),
            memory: Memory {
                peak_rss_bytes: outcome.peak_rss_bytes,
            },
            clock,
        })
    }
}

/// The histograms of what was done at all.
fn operations(outcome: &Outcome) -> Result<Option<Operations<'_>>, EncodingFailed> {
    let transactions = outcome.transactions.iter().map(|(name, ..)| name.as_str());
    let statements = outcome.statements.iter().map(|(name, ..)| name.as_str());
    let Some(times) = &outcome.operations else {
        return Ok(None);
    };
    Ok(Some(Operations {
        transactions: encode_each(transactions, &times.transactions)?,
        statements: encode_each(statements, &times.statements)?,
        controls: encode_each(CONTROLS.into_iter(), &times.controls)?,
        timed_s: seconds(times.timed),
    }))
}

fn encode_each<'a>(
    names: impl Iterator<Item = &'a str>,
    histograms: &[Latencies],
) -> Result<BTreeMap<&'a str, String>, EncodingFailed> {
    let named = names.zip(histograms).filter(|(_, histogram)| !histogram.is_empty());
    named.map(|(name, histogram)| Ok((name, encode(histogram)?))).collect()
}

fn segments(time: &dbdyno_load::time::Time) -> Segments {
    Segments {
        sync: seconds(time.sync),
        read: seconds(time.read),
        write: seconds(time.write),
        lock_calls: seconds(time.lock_calls),
        mutex_wait: seconds(time.mutex_wait),
        client: seconds(time.client),
        server: seconds(time.server),
        file_lock_wait: seconds(time.file_lock_wait),
        prepare: seconds(time.prepare),
        idle: seconds(time.idle),
        run_queue: seconds(time.run_queue),
        engine: seconds(time.engine),
        unknown: seconds(time.unknown),
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
