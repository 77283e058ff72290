//! One trial from start to end: the clients' threads, the phases they pass together, the timeline, and the result.

use crate::books::{Books, Unbalanced};
use crate::client::{self, ClientReport};
use crate::pacing::{ThreadTimer, Timer};
use crate::recorder::{Latencies, Live, LiveCounts, Recorder, Timeline, Work, latencies};
use dbdyno_engines::{Contention, Engine, Failure, SessionCounters, ThreadCounters};
use dbdyno_plan::PlanError;
use dbdyno_plan::document::{Arrival, FailureKind, Trial};
use dbdyno_plan::program::Programs;
use dbdyno_probes::disk::{Disk, DiskActivity, DiskCounters};
use dbdyno_probes::process::{CpuShare, Usage, peak_rss_bytes};
use dbdyno_probes::{Clock, ProbeError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Why a trial gave no result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No session could be opened, or its statements could not be prepared.
    #[error("client {client}: {failure}")]
    Connect {
        /// The client's number.
        client: u32,
        /// What the engine said.
        #[source]
        failure: Failure,
    },
    /// The accounts do not add up.
    #[error(transparent)]
    Books(#[from] Unbalanced),
    /// The machine's figures could not be read.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A thread could not be started, or broke off.
    #[error("{0}")]
    Thread(String),
}

/// What a trial says while it runs.
#[derive(Debug)]
pub enum Event {
    /// A phase begins: `connect`, `warmup`, `window`.
    Phase(&'static str),
    /// An interval of the window is over.
    Interval(Box<Interval>),
}

/// One interval of the timeline.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Its number, from 0.
    pub index: u64,
    /// Its start and end in seconds of the window.
    pub span_s: (f64, f64),
    /// What was done in it.
    pub counts: LiveCounts,
    /// 50th and 99th percentile and greatest service time in nanoseconds, of the transactions recorded in it.
    pub service_ns: Option<(u64, u64, u64)>,
    /// CPU used.
    pub cpu: CpuShare,
    /// What the disk did.
    pub disk: Option<DiskActivity>,
}

/// What a trial found.
#[derive(Debug)]
pub struct Outcome {
    /// The accounts.
    pub books: Books,
    /// The first message of each kind of failure.
    pub messages: BTreeMap<FailureKind, String>,
    /// Seconds from the window's start to the end of the last transaction that counts, or to the window's end.
    pub elapsed_s: f64,
    /// What ended the window: `seconds`, `transactions`, `statements` or `interrupted`.
    pub ended_by: &'static str,
    /// Seconds the warm-up took.
    pub warmup_s: f64,
    /// By transaction: name, ok, failed.
    pub transactions: Vec<(String, u64, u64)>,
    /// By statement: name, executions, rows returned, rows changed.
    pub statements: Vec<(String, u64, u64, u64)>,
    /// What the transactions did that ended well.
    pub work: Work,
    /// Latencies by name: `service`, and those of `response`, `queue` and the phases that were recorded.
    pub histograms: BTreeMap<&'static str, Latencies>,
    /// CPU used.
    pub cpu: CpuShare,
    /// Switches of threads: voluntary, involuntary.
    pub switches: (u64, u64),
    /// What the disk did.
    pub disk: Option<DiskActivity>,
    /// Bytes the process fetched from and sent to storage.
    pub process_io: (u64, u64),
    /// Where the clients' time went.
    pub time: Time,
    /// What the engine asked of the file system and waited for.
    pub thread: ThreadCounters,
    /// What the sessions' page caches did.
    pub session: SessionCounters,
    /// Contended mutexes, where they were watched.
    pub contention: Option<Contention>,
    /// The most memory the process had.
    pub peak_rss_bytes: u64,
}

/// Where the clients' time went, in nanoseconds summed over clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// All of it: each client from the window's start to its last transaction's end.
    pub total: u64,
    /// CPU time of the clients' threads, whatever they did.
    pub cpu: u64,
    /// Waiting for the device to sync.
    pub sync: u64,
    /// In reads of the file, from the operating system's cache or the device.
    pub read: u64,
    /// In writes.
    pub write: u64,
    /// In calls to lock and unlock the file.
    pub lock_calls: u64,
    /// Waiting for a mutex.
    pub mutex_wait: u64,
    /// Waiting for a lock on the file.
    pub file_lock_wait: u64,
    /// Parsing statements.
    pub prepare: u64,
    /// Nothing to do: thinking, or waiting for a scheduled start.
    pub idle: u64,
    /// Ready, but without a processor.
    pub run_queue: u64,
    /// Computing in the engine (and the client loop): CPU time in none of the above.
    pub engine: u64,
    /// None of these.
    pub unknown: u64,
}

impl Time {
    /// Divides the total. The parts always add up to it.
    ///
    /// What was timed as it happened is either a *wait* (idle, sync, mutex, file lock) or *work* (reads, writes, lock calls,
    /// parsing, and as the rest the engine). A thread that is pushed off its processor while it works makes each kind
    /// of work look longer in proportion; what the scheduler says of that, as far as the work was not CPU time, is
    /// taken off all of them alike. Of the engine's part, what exceeds the CPU time is unknown.
    fn divide(total: u64, cpu: u64, run_queue: u64, idle: u64, prepare: u64, counters: &ThreadCounters) -> Self {
        let mut rest = total;
        let mut take = |part: u64| {
            let taken = part.min(rest);
            rest -= taken;
            taken
        };
        let (idle, sync) = (take(idle), take(counters.sync_ns));
        let (mutex_wait, file_lock_wait) = (take(counters.mutex_ns), take(counters.file_lock_ns));
        let (read, write) = (take(counters.read_ns), take(counters.write_ns));
        let (lock_calls, prepare) = (take(counters.lock_call_ns), take(prepare));
        let work = read + write + lock_calls + prepare + rest;
        let run_queue = run_queue.min(work.saturating_sub(cpu));
        let working = |part: u64| (u128::from(part) * u128::from(work - run_queue) / u128::from(work.max(1))) as u64;
        let [read, write, lock_calls, prepare] = [read, write, lock_calls, prepare].map(working);
        let rest = work - run_queue - (read + write + lock_calls + prepare);
        let engine = rest.min(cpu);
        Self {
            total,
            cpu,
            sync,
            read,
            write,
            lock_calls,
            mutex_wait,
            file_lock_wait,
            prepare,
            idle,
            run_queue,
            engine,
            unknown: rest - engine,
        }
    }
}

/// What the clients of a trial share.
pub struct Shared<'a, E: Engine> {
    pub(crate) engine: &'a E,
    pub(crate) trial: &'a Trial,
    pub(crate) programs: &'a Programs,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a AtomicBool,
    /// Clients that have connected, or failed to.
    pub(crate) connected: AtomicU32,
    /// Clients that have warmed up.
    pub(crate) warm: AtomicU32,
    /// When the warm-up starts; 0: not known yet; the greatest number: never.
    pub(crate) warmup_start: AtomicU64,
    /// When the window starts, likewise.
    pub(crate) window_start: AtomicU64,
    refused: AtomicBool,
    /// Set when the last figures have been read: the clients' threads, whose CPU times are among them, may end.
    released: AtomicBool,
}

impl<E: Engine> Shared<'_, E> {
    /// Counts a client in.
    pub(crate) fn arrive(&self, at: &AtomicU32, result: &Result<(), Failure>) {
        if result.is_err() {
            self.refused.store(true, Ordering::Relaxed);
        }
        at.fetch_add(1, Ordering::Release);
    }

    /// Waits until a start has been set and has come.
    pub(crate) async fn wait_for<T: Timer>(&self, timer: &T, start: &AtomicU64) -> u64 {
        loop {
            match start.load(Ordering::Acquire) {
                0 => timer.sleep_until(self.clock.now() + 200_000).await,
                u64::MAX => return u64::MAX,
                at => {
                    timer.sleep_until(at).await;
                    return at;
                }
            }
        }
    }

    /// Waits, in the coordinating thread, until all clients have come.
    fn gather(&self, at: &AtomicU32) {
        while at.load(Ordering::Acquire) < self.trial.clients {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

/// Milliseconds between telling the start and the start itself, so that every client is there.
const NOTICE: u64 = 2_000_000;

/// What the coordinating thread saw of the machine during the window.
struct Watched {
    window_start: u64,
    warmup_s: f64,
    before: Usage,
    after: Usage,
    disk: Option<(DiskCounters, DiskCounters)>,
    seconds: f64,
}

/// Carries out a trial on an engine whose sessions run in the calling thread: a thread for each client.
///
/// `stop` ends the window early when it is set. `storage` is the file or directory whose disk is watched.
pub fn run<E: Engine>(
    engine: &E,
    trial: &Trial,
    seed: u64,
    storage: Option<&std::path::Path>,
    stop: &AtomicBool,
    mut say: impl FnMut(Event),
) -> Result<Outcome, TrialError> {
    let programs = Programs::compile(&trial.transactions, trial.statements.len())?;
    check(trial)?;
    let shared = Shared {
        engine,
        trial,
        programs: &programs,
        seed,
        clock: Clock::get(),
        stop,
        connected: AtomicU32::new(0),
        warm: AtomicU32::new(0),
        warmup_start: AtomicU64::new(0),
        window_start: AtomicU64::new(0),
        refused: AtomicBool::new(false),
        released: AtomicBool::new(false),
    };
    let live: Vec<Live> = (0..trial.clients).map(|_| Live::default()).collect();
    let timeline = Timeline::new(trial.record.interval_ms * 1_000_000);
    let finished = AtomicU32::new(0);
    let first_error: Mutex<Option<(u32, Failure)>> = Mutex::new(None);
    let open = matches!(trial.arrival, Arrival::Open { .. });
    let disk = storage.and_then(Disk::of);
    say(Event::Phase("connect"));
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(trial.clients as usize);
        for (number, live) in live.iter().enumerate() {
            let number = number as u32;
            let (shared, timeline, finished, first_error) = (&shared, &timeline, &finished, &first_error);
            let body = move || {
                let recorder = RefCell::new(Recorder::new(
                    live,
                    timeline,
                    open,
                    trial.transactions.len(),
                    trial.statements.len(),
                ));
                let timer = ThreadTimer::new(shared.clock);
                let result = block_on(client::run(shared, &timer, &recorder, number));
                finished.fetch_add(1, Ordering::Release);
                while !shared.released.load(Ordering::Acquire) {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
                match result {
                    Ok(report) => Some((report, recorder.into_inner())),
                    Err(failure) => {
                        let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                        if first.as_ref().is_none_or(|(other, _)| number < *other) {
                            *first = Some((number, failure));
                        }
                        None
                    }
                }
            };
            let builder = std::thread::Builder::new().name(format!("client-{number}"));
            match builder.spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    // The clients that were started wait for a start that will never come.
                    shared.warmup_start.store(u64::MAX, Ordering::Release);
                    shared.released.store(true, Ordering::Release);
                    return Err(TrialError::Thread(format!(
                        "starting the thread of client {number}: {error}"
                    )));
                }
            }
        }
        let watched = coordinate(&shared, &live, &timeline, disk.as_ref(), &finished, &mut say);
        shared.released.store(true, Ordering::Release);
        let mut records = Vec::with_capacity(threads.len());
        for thread in threads {
            let record = thread
                .join()
                .map_err(|_| TrialError::Thread("a client's thread broke off".into()))?;
            records.extend(record);
        }
        if let Some((client, failure)) = first_error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(TrialError::Connect { client, failure });
        }
        let watched = watched?;
        let outcome = conclude(&shared, records, &watched, disk.as_ref());
        outcome.books.check()?;
        Ok(outcome)
    })
}

/// What the types of a plan cannot exclude.
fn check(trial: &Trial) -> Result<(), TrialError> {
    let wrong = |place: &str, problem: &str| {
        Err(TrialError::Plan(PlanError::Invalid {
            place: place.into(),
            problem: problem.into(),
        }))
    };
    let window = &trial.window;
    if trial.clients == 0 {
        return wrong("task.clients", "there must be at least one client");
    }
    if window.seconds.is_none() && window.transactions.is_none() && window.statements.is_none() {
        return wrong(
            "task.window",
            "something must end the window: seconds, transactions or statements",
        );
    }
    if window
        .seconds
        .is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0))
    {
        return wrong("task.window.seconds", "the window must be longer than nothing");
    }
    if !(trial.warmup.seconds.is_finite() && trial.warmup.seconds >= 0.0) {
        return wrong("task.warmup.seconds", "the warm-up cannot be shorter than nothing");
    }
    if let Arrival::Open { rate, .. } = trial.arrival
        && !(rate.is_finite() && rate > 0.0)
    {
        return wrong("task.arrival.rate", "the rate must be above 0");
    }
    Ok(())
}

/// Leads the clients through the phases and watches the machine meanwhile.
fn coordinate<E: Engine>(
    shared: &Shared<'_, E>,
    live: &[Live],
    timeline: &Timeline,
    disk: Option<&Disk>,
    finished: &AtomicU32,
    say: &mut impl FnMut(Event),
) -> Result<Watched, TrialError> {
    let clock = shared.clock;
    shared.gather(&shared.connected);
    if shared.refused.load(Ordering::Relaxed) {
        shared.warmup_start.store(u64::MAX, Ordering::Release);
        return Err(TrialError::Thread("a client could not connect".into()));
    }
    say(Event::Phase("warmup"));
    let warmup_start = clock.now() + NOTICE;
    shared.warmup_start.store(warmup_start, Ordering::Release);
    shared.gather(&shared.warm);
    let before = match Usage::read() {
        Ok(usage) => usage,
        Err(error) => {
            shared.window_start.store(u64::MAX, Ordering::Release);
            return Err(error.into());
        }
    };
    say(Event::Phase("window"));
    shared.engine.reset_contention();
    timeline.take();
    let window_start = clock.now() + NOTICE;
    let disk_before = disk.and_then(Disk::read);
    shared.window_start.store(window_start, Ordering::Release);

    let (mut usage, mut counts, mut disk_then, mut then) =
        (before.clone(), LiveCounts::default(), disk_before, window_start);
    let mut index = 0;
    let mut after = None;
    loop {
        let boundary = window_start + (index + 1) * timeline.interval;
        let all_done = wait(clock, boundary, || {
            finished.load(Ordering::Acquire) >= shared.trial.clients
        });
        let (now, usage_now, disk_now) = (clock.now(), Usage::read(), disk.and_then(Disk::read));
        let Ok(usage_now) = usage_now else { break };
        let seconds = now.saturating_sub(then) as f64 / 1e9;
        let counts_now = LiveCounts::read(live);
        if !all_done || counts_now != counts {
            say(Event::Interval(Box::new(Interval {
                index,
                span_s: (
                    (then - window_start) as f64 / 1e9,
                    now.saturating_sub(window_start) as f64 / 1e9,
                ),
                counts: counts_now.since(counts),
                service_ns: timeline.take(),
                cpu: usage_now.since(&usage, seconds),
                disk: disk
                    .zip(disk_then.zip(disk_now))
                    .map(|(disk, (a, b))| disk.between(&a, &b, seconds)),
            })));
        }
        (usage, counts, disk_then, then) = (usage_now.clone(), counts_now, disk_now, now);
        index += 1;
        after = Some((usage_now, now));
        if all_done {
            break;
        }
    }
    let (after, now) = after.unwrap_or((before.clone(), clock.now()));
    Ok(Watched {
        window_start,
        warmup_s: window_start.saturating_sub(warmup_start) as f64 / 1e9,
        before,
        after,
        disk: disk_before.zip(disk_then),
        seconds: now.saturating_sub(window_start) as f64 / 1e9,
    })
}

/// Waits until a time, or until `done`; tells whether it was the latter.
fn wait(clock: Clock, until: u64, done: impl Fn() -> bool) -> bool {
    loop {
        if done() {
            return true;
        }
        let left = until.saturating_sub(clock.now());
        if left == 0 {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_nanos(left.min(2_000_000)));
    }
}

/// Puts together what the clients and the coordinating thread have seen.
fn conclude<E: Engine>(
    shared: &Shared<'_, E>,
    records: Vec<(ClientReport, Recorder<'_>)>,
    watched: &Watched,
    disk: Option<&Disk>,
) -> Outcome {
    let trial = shared.trial;
    let mut outcome = Outcome {
        books: Books::default(),
        messages: BTreeMap::new(),
        elapsed_s: 0.0,
        ended_by: "transactions",
        warmup_s: watched.warmup_s,
        transactions: trial
            .transactions
            .iter()
            .map(|transaction| (transaction.name.clone(), 0, 0))
            .collect(),
        statements: trial
            .statements
            .iter()
            .map(|statement| (statement.name.clone(), 0, 0, 0))
            .collect(),
        work: Work::default(),
        histograms: BTreeMap::new(),
        cpu: watched.after.since(&watched.before, watched.seconds),
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
        disk: disk
            .zip(watched.disk)
            .map(|(disk, (a, b))| disk.between(&a, &b, watched.seconds)),
        process_io: (
            watched.after.read_bytes.saturating_sub(watched.before.read_bytes),
            watched.after.write_bytes.saturating_sub(watched.before.write_bytes),
        ),
        time: Time::default(),
        thread: ThreadCounters::default(),
        session: SessionCounters::default(),
        contention: None,
        peak_rss_bytes: peak_rss_bytes(),
    };
    let (mut total, mut cpu, mut run_queue, mut idle, mut prepare) = (0, 0, 0, 0, 0);
    let mut ended = watched.window_start;
    for (report, recorder) in records {
        outcome.books.add(&recorder.books);
        for (kind, message) in recorder.messages {
            outcome.messages.entry(kind).or_insert(message);
        }
        for (sum, count) in outcome.transactions.iter_mut().zip(&recorder.transactions) {
            sum.1 += count.ok;
            sum.2 += count.failed;
        }
        for (sum, count) in outcome.statements.iter_mut().zip(&recorder.statements) {
            sum.1 += count.executions;
            sum.2 += count.rows;
            sum.3 += count.changed;
        }
        outcome.work.statements += recorder.work.statements;
        outcome.work.returned += recorder.work.returned;
        outcome.work.changed += recorder.work.changed;
        let mut named: Vec<(&'static str, Latencies)> = vec![("service", recorder.service)];
        named.extend(recorder.response.map(|histogram| ("response", histogram)));
        named.extend(recorder.queue.map(|histogram| ("queue", histogram)));
        named.extend(recorder.phases.histograms);
        for (name, histogram) in named {
            // All have the same bounds, so nothing can fail to fit.
            let _ = outcome.histograms.entry(name).or_insert_with(latencies).add(&histogram);
        }
        outcome.thread.add(&report.thread);
        outcome.session.add(&report.session);
        total += report.ended.saturating_sub(watched.window_start);
        cpu += report.cpu_ns;
        run_queue += report.run_queue_ns;
        idle += recorder.idle_ns;
        prepare += recorder.prepare_ns;
        ended = ended.max(report.ended);
    }
    outcome.elapsed_s = ended.saturating_sub(watched.window_start) as f64 / 1e9;
    let timed_out = trial.window.seconds.is_some_and(|seconds| {
        outcome.books.in_flight + outcome.books.skipped > 0 || outcome.elapsed_s >= seconds * 0.999_999
    });
    // A window of a given length counts as that long, even if its last transaction ended a little earlier.
    if let Some(seconds) = trial.window.seconds.filter(|_| !reached_number(trial, &outcome)) {
        outcome.elapsed_s = seconds;
        outcome.ended_by = "seconds";
    } else if timed_out {
        outcome.ended_by = "seconds";
    } else if trial.window.transactions.is_none() {
        outcome.ended_by = "statements";
    }
    if shared.stop.load(Ordering::Relaxed) {
        outcome.ended_by = "interrupted";
        outcome.elapsed_s = ended.saturating_sub(watched.window_start) as f64 / 1e9;
    }
    outcome.time = Time::divide(total, cpu, run_queue, idle, prepare, &outcome.thread);
    outcome.contention = shared.engine.contention();
    outcome
}

/// Whether the clients did the number of transactions or statements that ends the window.
fn reached_number(trial: &Trial, outcome: &Outcome) -> bool {
    let clients = u64::from(trial.clients);
    let ended = outcome.books.ok + outcome.books.failures();
    trial
        .window
        .transactions
        .is_some_and(|number| ended >= number * clients)
        || trial
            .window
            .statements
            .is_some_and(|number| outcome.work.statements >= number * clients)
}

/// Runs a future whose parts all answer at once, in this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(time: &Time) -> u64 {
        let waits = time.idle + time.sync + time.mutex_wait + time.file_lock_wait;
        let work = time.read + time.write + time.lock_calls + time.prepare + time.engine;
        waits + work + time.run_queue + time.unknown
    }

    proptest! {
        #[test]
        fn the_parts_add_up(
            total in 0u64..1_000_000_000_000,
            parts in proptest::array::uniform9(0u64..300_000_000_000),
        ) {
            let [cpu, run_queue, idle, prepare, read_ns, write_ns, sync_ns, lock_call_ns, mutex_ns] = parts;
            let counters =
                ThreadCounters { read_ns, write_ns, sync_ns, lock_call_ns, mutex_ns, ..ThreadCounters::default() };
            let time = Time::divide(total, cpu, run_queue, idle, prepare, &counters);
            prop_assert_eq!(sum(&time), total);
        }
    }

    #[test]
    fn waiting_for_a_processor_is_taken_off_all_work_alike() {
        // Ten seconds, half of them on a processor; a fifth of the wall time of the work was in reads.
        let counters = ThreadCounters {
            read_ns: 2_000,
            ..ThreadCounters::default()
        };
        let time = Time::divide(10_000, 5_000, 5_000, 0, 0, &counters);
        assert_eq!(
            (time.read, time.engine, time.run_queue, time.unknown),
            (1_000, 4_000, 5_000, 0)
        );
    }

    #[test]
    fn what_nothing_explains_is_unknown() {
        let time = Time::divide(10_000, 3_000, 0, 0, 0, &ThreadCounters::default());
        assert_eq!((time.engine, time.unknown), (3_000, 7_000));
    }
}
