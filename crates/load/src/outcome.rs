//! Result of a trial, combined from its clients and its coordinating thread.

use crate::accounting::Accounting;
use crate::beside::Report;
use crate::changed::{self, add_delays};
use crate::coordinate::Watched;
use crate::failures::Failures;
use crate::latency::{Latencies, latencies};
use crate::live::Work;
use crate::operations::Histograms;
use crate::rate;
use crate::recorder::Stage;
use crate::report::{ClientReport, EndedBy};
use crate::shared::Shared;
use crate::threads::Record;
use crate::time::Time;
use dbdyno_engine::changes::CallCounts;
use dbdyno_engine::observed::Observed;
use dbdyno_engine::probe::{Contention, SessionCounters, ThreadCounters};
use dbdyno_engine::waits::Waits;
use dbdyno_engine::{Engine, Failure, printable};
use dbdyno_probes::disk::{Disk, DiskActivity};
use dbdyno_probes::flushes::DeviceFlushes;
use dbdyno_probes::locks::LockHolders;
use dbdyno_probes::process::{CpuShare, peak_rss_bytes};
use dbdyno_probes::quota::Throttling;
use dbdyno_probes::tree::TreeUsage;
use dbdyno_protocol::event::{Changed, Cycles, Rate};
use dbdyno_protocol::plan::document::{Arrival, FailureKind};
use std::collections::BTreeMap;

/// Result of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// Transaction counts.
    pub accounting: Accounting,
    /// The first message of each kind of failure.
    pub messages: BTreeMap<FailureKind, String>,
    /// The failures by code.
    pub failures: Failures,
    /// Transactions begun in the window that completed, in it or later. All figures per transaction refer to these.
    pub completed: u64,
    /// Completed transactions that don't count: the warm-up's, and those around the window.
    pub besides: u64,
    /// The first value that a later trial may use for the clients' counters.
    pub next_use: u64,
    /// When the window began, in nanoseconds of the kernel's monotonic clock.
    pub began_ns: u64,
    /// Throughput.
    pub rate: Rate,
    /// Time per transaction, think time included; empty in an open loop.
    pub cycles: Cycles,
    /// Seconds from the window's start to the end of the last transaction that counts, or to the window's end.
    pub elapsed_s: f64,
    /// Seconds of the trial between the two readings of the machine's counters.
    pub watched_s: f64,
    /// What ended the window.
    pub ended_by: EndedBy,
    /// Seconds the warm-up took.
    pub warmup_s: f64,
    /// Maximum lateness, in seconds, with which the coordinating thread woke up.
    pub late_s: f64,
    /// If the trial was interleaved: seconds that each client overran its slices, and seconds of the whole window
    /// including the slices of other trials.
    pub interleaving: Option<(f64, f64)>,
    /// By transaction: name, ok, failed.
    pub transactions: Vec<(String, u64, u64)>,
    /// By statement: name, executions, rows returned, rows changed.
    pub statements: Vec<(String, u64, u64, u64)>,
    /// Work of the completed transactions.
    pub work: Work,
    /// Sum, over these transactions, of the squared number of returned rows. It gives their variance.
    pub returned_squared: f64,
    /// How many of these changed rows.
    pub changing: u64,
    /// The stages of an open loop whose rate changes.
    pub stages: Vec<Stage>,
    /// The work beside the clients.
    pub beside: Vec<Report>,
    /// Latencies by name: `service`, and if recorded `response`, `queue` and the phases.
    pub histograms: BTreeMap<&'static str, Latencies>,
    /// Times of transactions and their operations, if requested.
    pub operations: Option<Histograms>,
    /// CPU used.
    pub cpu: CpuShare,
    /// CPU used by the server's processes in percent of one CPU, if they are known.
    pub server_cpu_percent: Option<f64>,
    /// Seconds that the server's threads were runnable but had no CPU, summed over threads. `None` if its processes are
    /// unknown.
    pub server_run_queue_s: Option<f64>,
    /// CPU throttling by quotas of this process (`client`) and of the `server`.
    pub throttling: Vec<(&'static str, Throttling)>,
    /// CPU use of each tier.
    pub tiers: Vec<TierUse>,
    /// Context switches: voluntary, involuntary.
    pub switches: (u64, u64),
    /// Number of client threads that ran without preempting others (`SCHED_BATCH`).
    pub gave_way: u32,
    /// Disk activity.
    pub disk: Option<DiskActivity>,
    /// How often the disks that hold the data were flushed, by all programs, from the window's start to its end.
    pub flushes: Option<DeviceFlushes>,
    /// Bytes that the process read from and wrote to storage.
    pub process_io: (u64, u64),
    /// Breakdown of the clients' time.
    pub time: Time,
    /// The engine's file system calls and waits.
    pub thread: ThreadCounters,
    /// Page cache counters of the sessions.
    pub session: SessionCounters,
    /// Contended mutexes, if they were watched.
    pub contention: Option<Contention>,
    /// The engine's own counters, if it has any.
    pub observed: Option<Observed>,
    /// Waits of the server's sessions, or why they could not be sampled. `None` if the system has no such data.
    pub waits: Option<Result<Waits, Failure>>,
    /// Other programs that locked the data, if any.
    pub lock_holders: Option<LockHolders>,
    /// Calls that the trial changed, if it changes any.
    pub changed: Option<Changed>,
    /// Peak memory of the process.
    pub peak_rss_bytes: u64,
}

/// CPU use of a tier, in percent of one CPU.
#[derive(Debug, Clone)]
pub struct TierUse {
    /// Its name.
    pub name: String,
    /// All its processes; `None` if they don't exist.
    pub cpu_percent: Option<f64>,
    /// Its busiest threads: name, process ID and CPU use.
    pub threads: Vec<(String, i32, f64)>,
}

/// CPU use between two readings in nanoseconds, as percent of one CPU.
fn percent_of(watched: &Watched, before: Option<u64>, after: Option<u64>) -> Option<f64> {
    let (before, after) = before.zip(after)?;
    Some(percent(watched, after.saturating_sub(before)))
}

fn percent(watched: &Watched, used_ns: u64) -> f64 {
    used_ns as f64 / 1e7 / watched.seconds.max(1e-9)
}

fn cpu(usage: &Option<TreeUsage>) -> Option<u64> {
    usage.as_ref().map(|usage| usage.cpu_ns)
}

/// Combines the measurements of the clients and of the coordinating thread.
pub(crate) fn conclude<E: Engine>(
    shared: &Shared<'_, E>,
    records: Vec<Record<'_>>,
    watched: &Watched,
    disk: Option<&Disk>,
) -> Outcome {
    let trial = shared.trial;
    let mut outcome = Outcome {
        accounting: Accounting::default(),
        messages: BTreeMap::new(),
        failures: Failures::default(),
        completed: 0,
        besides: 0,
        next_use: 0,
        began_ns: watched.began_ns,
        rate: Rate::default(),
        cycles: Cycles::default(),
        elapsed_s: 0.0,
        watched_s: watched.seconds,
        ended_by: EndedBy::default(),
        warmup_s: watched.warmup_s,
        late_s: watched.late_s,
        interleaving: None,
        transactions: trial
            .transactions
            .iter()
            .map(|transaction| (transaction.name.clone(), 0, 0))
            .collect(),
        statements: trial
            .statements
            .iter()
            .take(shared.prepared)
            .map(|statement| (statement.name.clone(), 0, 0, 0))
            .collect(),
        work: Work::default(),
        returned_squared: 0.0,
        changing: 0,
        stages: Stage::none(trial.arrival.stages().len()),
        beside: Vec::new(),
        histograms: BTreeMap::new(),
        operations: trial.record.operations.then(Histograms::default),
        cpu: watched.after.since(&watched.before, watched.seconds, watched.real_s),
        server_cpu_percent: percent_of(watched, cpu(&watched.server_cpu.0.0), cpu(&watched.server_cpu.1.0)),
        server_run_queue_s: {
            let ((before, _), (after, _)) = &watched.server_cpu;
            let both = before.as_ref().zip(after.as_ref());
            both.map(|(before, after)| after.run_queue_since(before) as f64 / 1e9)
        },
        throttling: watched.throttling.clone(),
        tiers: {
            let ((_, before), (_, after)) = &watched.server_cpu;
            let used = before.iter().zip(after).zip(&watched.busy_threads);
            let tiers = trial.tiers.iter().zip(used);
            tiers
                .map(|(tier, ((before, after), threads))| TierUse {
                    name: tier.name.clone(),
                    cpu_percent: percent_of(watched, cpu(before), cpu(after)),
                    threads: threads
                        .iter()
                        .map(|thread| {
                            let name = printable(thread.name.clone());
                            (name, thread.pid, percent(watched, thread.cpu_ns))
                        })
                        .collect(),
                })
                .collect()
        },
        switches: (
            watched
                .after
                .voluntary_switches
                .saturating_sub(watched.before.voluntary_switches),
            watched
                .after
                .involuntary_switches
                .saturating_sub(watched.before.involuntary_switches),
        ),
        gave_way: 0,
        disk: disk
            .zip(watched.disk)
            .map(|(disk, (a, b))| disk.between(&a, &b, watched.seconds)),
        flushes: watched.flushes.clone(),
        process_io: (
            watched.after.read_bytes.saturating_sub(watched.before.read_bytes),
            watched.after.write_bytes.saturating_sub(watched.before.write_bytes),
        ),
        time: Time::default(),
        thread: ThreadCounters::default(),
        session: SessionCounters::default(),
        contention: None,
        observed: watched.backlog.as_ref().map(|backlog| match backlog {
            Ok(backlog) => Observed {
                backlog: backlog.clone(),
                ..Observed::default()
            },
            Err(failure) => Observed {
                error: Some(failure.message.clone()),
                ..Observed::default()
            },
        }),
        waits: None,
        lock_holders: None,
        changed: None,
        peak_rss_bytes: peak_rss_bytes(),
    };
    let open = matches!(trial.arrival, Arrival::Open { .. });
    let (mut total, mut cpu, mut run_queue, mut idle, mut prepare) = (0, 0, 0, 0, 0);
    let (mut ended, mut overrun) = (watched.window_start, 0);
    let mut changed = CallCounts::default();
    let mut all_clients = Vec::with_capacity(trial.clients as usize);
    let (mut begun, mut squares) = (0, 0.0);
    for Record {
        clients,
        usage,
        recorder,
        gave_way,
    } in records
    {
        outcome.gave_way += u32::from(gave_way);
        begun += recorder.accounting.issued - recorder.accounting.skipped;
        squares += recorder.thought_squared;
        outcome.accounting.add(&recorder.accounting);
        for (kind, message) in recorder.messages {
            outcome.messages.entry(kind).or_insert(message);
        }
        outcome.failures.add(&recorder.failures);
        for (sum, count) in outcome.transactions.iter_mut().zip(recorder.live.transactions()) {
            sum.1 += count.ok;
            sum.2 += count.failed;
        }
        for (sum, count) in outcome.statements.iter_mut().zip(recorder.live.statements()) {
            sum.1 += count.executions;
            sum.2 += count.rows;
            sum.3 += count.changed;
        }
        outcome.work.add(&recorder.live.work().without(&recorder.failed_work));
        outcome.returned_squared += recorder.returned_squared as f64;
        outcome.changing += recorder.changing;
        for (sum, stage) in outcome.stages.iter_mut().zip(&recorder.stages) {
            sum.add(stage);
        }
        let mut named: Vec<(&'static str, Latencies)> = vec![("service", recorder.service)];
        named.extend(recorder.response.map(|histogram| ("response", histogram)));
        named.extend(recorder.queue.map(|histogram| ("queue", histogram)));
        named.extend(recorder.failed.map(|histogram| ("failed", histogram)));
        named.extend(recorder.at_least.map(|histogram| ("at_least", histogram)));
        named.extend(recorder.phases.histograms);
        named.extend(recorder.opened.map(|histogram| ("connect", histogram)));
        for (name, histogram) in named {
            // All histograms have the same bounds, so adding cannot fail.
            let _ = outcome.histograms.entry(name).or_insert_with(latencies).add(&histogram);
        }
        if let Some(operations) = &mut outcome.operations {
            operations.add(recorder.operations);
        }
        outcome.thread.add(&usage.counters);
        changed.add(&usage.changed);
        let (measured, thread) = times(&clients);
        // A thread with several clients keeps running after the first of them ends. Subtract its time after a client's
        // end.
        let part = |nanoseconds: u64| (u128::from(nanoseconds) * measured / thread.max(1)) as u64;
        total += measured as u64;
        cpu += part(usage.cpu_ns);
        run_queue += part(usage.run_queue_ns);
        idle += recorder.idle_ns;
        prepare += recorder.prepare_ns;
        for report in &clients {
            outcome.session.add(&report.session);
            outcome.completed += report.completed;
            outcome.besides += report.uncounted;
            outcome.next_use = outcome.next_use.max(report.next_use);
            ended = ended.max(report.ended);
            overrun += report.overrun;
            outcome.ended_by = outcome.ended_by.max(report.ended_by);
        }
        all_clients.extend(clients);
    }
    outcome.elapsed_s = ended.saturating_sub(watched.window_start) as f64 / 1e9;
    // A window of a given length counts as that long, whenever the last transaction ended.
    if let (EndedBy::Seconds, Some(seconds)) = (outcome.ended_by, trial.window.seconds) {
        outcome.elapsed_s = seconds;
    }
    outcome.rate = rate::of(&all_clients, trial.window.seconds, outcome.elapsed_s, open);
    if !open {
        let sum_of_squares = |name| outcome.histograms.get(name).map_or(0.0, sum_of_squares);
        squares += sum_of_squares("service") + sum_of_squares("failed");
        outcome.cycles = Cycles {
            count: begun,
            seconds: total as f64 / 1e9,
            squares: squares / 1e18,
        };
    }
    outcome.interleaving = trial
        .interleaving
        .map(|_| (overrun as f64 / 1e9 / f64::from(trial.clients), watched.real_s));
    if let Some(one_in) = watched.watched_one_in {
        outcome.thread.scale_mutexes(one_in);
    }
    if let Some(changes) = shared.changes {
        outcome.changed = Some(changed::collect(
            changes,
            &changed,
            &outcome.thread,
            watched.server_calls,
        ));
        add_delays(&mut outcome.thread, &changed);
    }
    outcome.time = Time::divide(total, cpu, run_queue, idle, prepare, &outcome.thread, E::REMOTE);
    outcome.contention = watched.watched_one_in.and_then(|one_in| {
        let mut contention = shared.engine.probe().contention()?;
        contention.scale(one_in, outcome.time.mutex_wait as f64 / 1e9);
        Some(contention)
    });
    outcome
}

/// Nanoseconds measured, summed over the clients of a thread, and the thread's nanoseconds times the number of clients.
fn times(clients: &[ClientReport]) -> (u128, u128) {
    let measured = clients
        .iter()
        .map(|client| u128::from(client.ended.saturating_sub(client.begun)))
        .sum();
    let begun = clients.iter().map(|client| client.begun).min().unwrap_or_default();
    let ended = clients.iter().map(|client| client.ended).max().unwrap_or_default();
    (
        measured,
        u128::from(ended.saturating_sub(begun)) * clients.len() as u128,
    )
}

/// Sum of the squares of a histogram's values.
fn sum_of_squares(histogram: &Latencies) -> f64 {
    let (mean, deviation) = (histogram.mean(), histogram.stdev());
    histogram.len() as f64 * (mean * mean + deviation * deviation)
}
