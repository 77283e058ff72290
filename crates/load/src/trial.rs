//! One trial from start to end: the clients' threads, the phases they pass together, the timeline, and the result.

use crate::books::Unbalanced;
use crate::latency::Timeline;
use crate::lead::Lead;
use crate::live::{Live, LiveCounts};
use crate::outcome::{Outcome, conclude};
use crate::pacing::Timer;
use crate::slices::Switch;
use crate::threads::{give_way, run_thread, threads};
use crate::turns::{self, Turns};
use dbdyno_engines::waits::Waits;
use dbdyno_engines::{Engine, Failure};
use dbdyno_plan::PlanError;
use dbdyno_plan::document::{Arrival, Trial};
use dbdyno_plan::program::Programs;
use dbdyno_probes::disk::{Disk, DiskActivity, DiskCounters};
use dbdyno_probes::process::{CpuShare, Usage, tree_cpu_ns};
use dbdyno_probes::{Clock, ProbeError};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Whoever leads the trial did not say when a phase starts.
    #[error("waiting to be told when to start: {0}")]
    Lead(#[source] std::io::Error),
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

/// What the clients of a trial share.
pub struct Shared<'a, E: Engine> {
    pub(crate) engine: &'a E,
    pub(crate) trial: &'a Trial,
    pub(crate) programs: &'a Programs,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a AtomicBool,
    /// How many threads the clients are divided among.
    pub(crate) threads: u32,
    /// When the others of those that take turns had ended; nanoseconds of the clock, 0 where they have not.
    pub(crate) alone: Arc<AtomicU64>,
    /// Whether these take no processor from a server.
    pub(crate) give_way: bool,
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
    /// Whether the trial is to end early.
    #[inline(always)]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

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
                0 => timer.look_again().await,
                u64::MAX => return u64::MAX,
                at => {
                    timer.sleep_until(at).await;
                    return at;
                }
            }
        }
    }

    /// Asks when a phase starts; where nobody says, the clients wait for it no longer.
    fn start(&self, lead: &mut impl Lead, phase: &'static str, at: &AtomicU64) -> Result<u64, TrialError> {
        lead.start(phase, self.clock, notice::<E>()).map_err(|error| {
            at.store(u64::MAX, Ordering::Release);
            TrialError::Lead(error)
        })
    }

    /// The number of a client among those of all processes, by its number in this one; and how many there are.
    pub(crate) fn place_of(&self, client: u32) -> (u32, u32) {
        match self.trial.part {
            None => (client, self.trial.clients),
            Some(part) => (part.first + client, part.of),
        }
    }

    /// Waits, in the coordinating thread, until all clients have come.
    fn gather(&self, at: &AtomicU32) {
        while at.load(Ordering::Acquire) < self.trial.clients {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

/// Nanoseconds between two looks at whether the others have ended of those that take turns.
const LOOK: u64 = 50_000_000;

/// Nanoseconds between telling the start and the start itself, so that every client is there.
fn notice<E: Engine>() -> u64 {
    if E::REMOTE { 10_000_000 } else { 2_000_000 }
}

/// What the coordinating thread saw of the machine during the window.
pub(crate) struct Watched {
    /// When the window began; nanoseconds of the clock.
    pub(crate) window_start: u64,
    pub(crate) warmup_s: f64,
    pub(crate) before: Usage,
    pub(crate) after: Usage,
    pub(crate) disk: Option<(DiskCounters, DiskCounters)>,
    /// Seconds of the trial's turns between the two readings: all, where it takes none.
    pub(crate) seconds: f64,
    /// All seconds between them.
    pub(crate) real_s: f64,
    /// CPU nanoseconds of the server's processes, at the window's start and at its end, where it is known.
    pub(crate) server_cpu: Option<(u64, u64)>,
    /// How much longer that time is than the part of it in which contended mutexes were watched; `None` where no part was.
    pub(crate) watched_one_in: Option<f64>,
}

/// What of this machine is watched beside the clients.
#[derive(Debug, Clone, Copy, Default)]
pub struct Site<'a> {
    /// The file or directory whose disk it is.
    pub storage: Option<&'a std::path::Path>,
    /// The main process of the server.
    pub server: Option<u32>,
}

/// Carries out a trial.
///
/// `stop` ends the window early when it is set; `lead` says when its phases start.
pub fn run<E: Engine>(
    engine: &E,
    trial: &Trial,
    seed: u64,
    site: Site<'_>,
    stop: &AtomicBool,
    lead: &mut impl Lead,
    mut say: impl FnMut(Event),
) -> Result<Outcome, TrialError> {
    let programs = Programs::compile(&trial.transactions, trial.statements.len())?;
    check(trial, E::REMOTE)?;
    let threads = threads::<E>(trial);
    let shared = Shared {
        engine,
        trial,
        programs: &programs,
        seed,
        clock: if trial.turns.is_some() {
            Clock::get().that_stands_still()
        } else {
            Clock::get()
        },
        stop,
        threads,
        alone: lead.alone(),
        give_way: give_way::<E>(trial, &programs),
        connected: AtomicU32::new(0),
        warm: AtomicU32::new(0),
        warmup_start: AtomicU64::new(0),
        window_start: AtomicU64::new(0),
        refused: AtomicBool::new(false),
        released: AtomicBool::new(false),
    };
    let live: Vec<Live> = (0..threads)
        .map(|_| Live::new(trial.transactions.len(), trial.statements.len()))
        .collect();
    let timeline = Timeline::new(trial.record.interval_ms * 1_000_000);
    let finished = AtomicU32::new(0);
    let first_error: Mutex<Option<(u32, Failure)>> = Mutex::new(None);
    // What a disk did it did for all that take turns.
    let disk = site.storage.filter(|_| trial.turns.is_none()).and_then(Disk::of);
    let coordinator = std::thread::current();
    say(Event::Phase("connect"));
    std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads as usize);
        for (number, live) in live.iter().enumerate() {
            let number = number as u32;
            let (shared, timeline, finished, first_error) = (&shared, &timeline, &finished, &first_error);
            let coordinator = &coordinator;
            let body = move || {
                let (record, failures) = run_thread(shared, live, timeline, number, threads);
                if let Some(failure) = failures {
                    let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(other, _)| failure.0 < *other) {
                        *first = Some(failure);
                    }
                }
                finished.fetch_add(1, Ordering::Release);
                coordinator.unpark();
                while !shared.released.load(Ordering::Acquire) {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
                record
            };
            let builder = std::thread::Builder::new().name(format!("client-{number}"));
            match builder.spawn_scoped(scope, body) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    // The clients that were started wait for a start that will never come.
                    shared.warmup_start.store(u64::MAX, Ordering::Release);
                    shared.released.store(true, Ordering::Release);
                    return Err(TrialError::Thread(format!(
                        "starting the thread {number} of clients: {error}"
                    )));
                }
            }
        }
        let waits = (E::REMOTE && trial.record.waits).then(|| scope.spawn(|| sample_waits(&shared)));
        let watched = coordinate(
            &shared,
            &live,
            &timeline,
            (disk.as_ref(), site.server),
            &finished,
            lead,
            &mut say,
        );
        shared.released.store(true, Ordering::Release);
        let mut records = Vec::with_capacity(handles.len());
        for handle in handles {
            let record = handle
                .join()
                .map_err(|_| TrialError::Thread("a client's thread broke off".into()))?;
            records.push(record);
        }
        if let Some((client, failure)) = first_error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(TrialError::Connect { client, failure });
        }
        let watched = watched?;
        let mut outcome = conclude(&shared, records, &watched, disk.as_ref());
        outcome.waits = waits.and_then(|handle| handle.join().ok()).flatten();
        outcome.books.check()?;
        Ok(outcome)
    })
}

/// Looks at what the server's sessions wait for during the window.
fn sample_waits<E: Engine>(shared: &Shared<'_, E>) -> Option<Result<Waits, Failure>> {
    while shared.window_start.load(Ordering::Acquire) == 0 {
        if shared.released.load(Ordering::Acquire) {
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    shared.engine.sample_waits(&|| !shared.released.load(Ordering::Acquire))
}

/// What the types of a plan cannot exclude.
fn check(trial: &Trial, remote: bool) -> Result<(), TrialError> {
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
    if trial
        .part
        .is_some_and(|part| part.first.checked_add(trial.clients).is_none_or(|end| end > part.of))
    {
        return wrong("task.part", "there are more clients than in all processes");
    }
    if let Some(turns) = trial.turns {
        if !(turns.length_ms.is_finite() && turns.length_ms >= 1.0) {
            return wrong("task.turns.length_ms", "a turn must last a millisecond at least");
        }
        if turns.index >= turns.of {
            return wrong("task.turns.index", "it must be below `of`");
        }
        if !matches!(trial.arrival, Arrival::Closed) {
            return wrong(
                "task.turns",
                "transactions of an open loop start by the clock, and cannot take turns",
            );
        }
        if remote {
            return wrong("task.turns", "a server does not pause between the turns of its clients");
        }
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
    (disk, server): (Option<&Disk>, Option<u32>),
    finished: &AtomicU32,
    lead: &mut impl Lead,
    say: &mut impl FnMut(Event),
) -> Result<Watched, TrialError> {
    let clock = shared.clock;
    shared.gather(&shared.connected);
    if shared.refused.load(Ordering::Relaxed) {
        shared.warmup_start.store(u64::MAX, Ordering::Release);
        return Err(TrialError::Thread("a client could not connect".into()));
    }
    say(Event::Phase("warmup"));
    let warmup_start = shared.start(lead, "warmup", &shared.warmup_start)?;
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
    let window_start = shared.start(lead, "window", &shared.window_start)? + turns::delay(shared.trial.turns);
    let mut turns = shared
        .trial
        .turns
        .map_or(Turns::none(window_start), |turns| Turns::new(turns, window_start));
    shared.engine.reset_contention();
    timeline.take();
    let disk_before = disk.and_then(Disk::read);
    let server_before = server.and_then(tree_cpu_ns);
    let mut switch = shared
        .engine
        .slices()
        .map(|slices| Switch::new(slices, shared.seed, window_start));
    shared.window_start.store(window_start, Ordering::Release);

    let mut server_after = None;
    let (mut usage, mut counts, mut disk_then, mut then) =
        (before.clone(), LiveCounts::default(), disk_before, window_start);
    let mut index = 0;
    let mut after = None;
    loop {
        let interval_end = (index + 1) * timeline.interval;
        // What turns there are changes when the others have ended.
        let look = if shared.trial.turns.is_some() {
            clock.now() + LOOK
        } else {
            u64::MAX
        };
        let all_done = watch_until(shared, turns.moment(interval_end).min(look), switch.as_mut(), || {
            finished.load(Ordering::Acquire) as usize >= live.len()
        });
        turns = turns.alone_from(shared.alone.load(Ordering::Acquire));
        if !all_done && clock.now() < turns.moment(interval_end) {
            continue;
        }
        let (now, usage_now, disk_now) = (clock.now(), Usage::read(), disk.and_then(Disk::read));
        let Ok(usage_now) = usage_now else { break };
        let seconds = (turns.active(now) - turns.active(then)) as f64 / 1e9;
        let real_s = now.saturating_sub(then) as f64 / 1e9;
        let counts_now = LiveCounts::read(live);
        if !all_done || counts_now != counts {
            say(Event::Interval(Box::new(Interval {
                index,
                span_s: (turns.active(then) as f64 / 1e9, turns.active(now) as f64 / 1e9),
                counts: counts_now.since(counts),
                service_ns: timeline.take(),
                cpu: usage_now.since(&usage, seconds, real_s),
                disk: disk
                    .zip(disk_then.zip(disk_now))
                    .map(|(disk, (a, b))| disk.between(&a, &b, seconds)),
            })));
        }
        (usage, counts, disk_then, then) = (usage_now.clone(), counts_now, disk_now, now);
        index += 1;
        after = Some((usage_now, now));
        if all_done {
            server_after = server.and_then(tree_cpu_ns);
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
        seconds: turns.active(now) as f64 / 1e9,
        real_s: now.saturating_sub(window_start) as f64 / 1e9,
        server_cpu: server_before.zip(server_after),
        watched_one_in: switch.map_or(Some(1.0), |switch| switch.scale(now)),
    })
}

/// Waits until a time, or until `done`, and watches the engine in slices meanwhile; tells whether it was the latter.
fn watch_until<E: Engine>(
    shared: &Shared<'_, E>,
    until: u64,
    mut switch: Option<&mut Switch>,
    done: impl Fn() -> bool,
) -> bool {
    loop {
        let turn = switch.as_ref().map_or(u64::MAX, |switch| switch.next());
        if wait(shared.clock, until.min(turn), &done) {
            return true;
        }
        let now = shared.clock.now();
        if let Some(on) = switch.as_mut().and_then(|switch| switch.turn(now)) {
            shared.engine.watch(on);
        }
        if now >= until {
            return false;
        }
    }
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
        // The last client to finish unparks this thread; until then it takes no time from the clients.
        std::thread::park_timeout(std::time::Duration::from_nanos(left));
    }
}
