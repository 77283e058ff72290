//! The coordinating thread of a trial. It leads the clients through the phases and samples the machine's counters.

use crate::coordinator::Coordinator;
use crate::error::TrialError;
use crate::event::{Event, Interval};
use crate::interleaving::{self, Interleaving};
use crate::latency::Timeline;
use crate::live::{Live, LiveCounts};
use crate::preloaded::{Preloaded, Readings, rise};
use crate::shared::Shared;
use crate::slices::Switch;
use dbdyno_engine::driver::Site;
use dbdyno_engine::observed::Backlog;
use dbdyno_engine::{Engine, Failure};
use dbdyno_probes::Clock;
use dbdyno_probes::disk::{Disk, DiskCounters};
use dbdyno_probes::flushes::{DeviceFlushes, FlushCounter, FlushReading};
use dbdyno_probes::process::Usage;
use dbdyno_probes::quota::{CpuQuota, Throttled, Throttling};
use dbdyno_probes::tree::{BusyThread, TreeUsage, trees_usage};
use dbdyno_protocol::plan::document::Tier;
use std::sync::atomic::{AtomicU32, Ordering};

/// Nanoseconds between two checks whether the other interleaved trials have ended.
const POLL_INTERVAL: u64 = 50_000_000;

/// The coordinating thread's measurements of the window.
pub(crate) struct Watched {
    /// When the window began; nanoseconds of the clients' clock.
    pub(crate) window_start: u64,
    /// The same in the kernel's monotonic clock, which other processes of the machine share.
    pub(crate) began_ns: u64,
    pub(crate) warmup_s: f64,
    /// Maximum lateness, in seconds, with which the coordinating thread woke up.
    pub(crate) late_s: f64,
    pub(crate) before: Usage,
    pub(crate) after: Usage,
    pub(crate) disk: Option<(DiskCounters, DiskCounters)>,
    /// How often the disks that hold the data were flushed, by all programs.
    pub(crate) flushes: Option<DeviceFlushes>,
    /// CPU throttling of this process and of the server by quotas.
    pub(crate) throttling: Vec<(&'static str, Throttling)>,
    /// Seconds of this trial's slices between the two readings. Equal to `real_s` if the trial isn't interleaved.
    pub(crate) seconds: f64,
    /// Seconds between the two readings.
    pub(crate) real_s: f64,
    /// Work that the engine had deferred when the window ended.
    pub(crate) backlog: Option<Result<Backlog, Failure>>,
    /// CPU of the server's processes and of its tiers, at the window's start and at its end.
    pub(crate) server_cpu: (ServerCpu, ServerCpu),
    /// The busiest threads of each tier.
    pub(crate) busy_threads: Vec<Vec<BusyThread>>,
    /// Calls counted by the server's preloaded library between the two readings, if it has one.
    pub(crate) server_calls: Option<Readings>,
    /// Time to the end of the last counted transaction, divided by the time during which contended mutexes were
    /// watched. `None` if they weren't watched.
    pub(crate) watched_one_in: Option<f64>,
}

/// One reading of the machine's counters.
#[derive(Clone)]
struct Reading {
    usage: Usage,
    counts: LiveCounts,
    disk: Option<DiskCounters>,
    flushes: Option<FlushReading>,
    throttled: Vec<Option<Throttled>>,
    at: u64,
}

/// Sources of the readings.
struct Machine<'a> {
    disk: Option<&'a Disk>,
    flushes: Option<FlushCounter>,
    quotas: Vec<(&'static str, CpuQuota)>,
    server: Option<u32>,
    tiers: &'a [Tier],
    live: &'a [Live],
    clock: Clock,
}

/// Maximum difference between the two clocks over a window, in nanoseconds.
const MOST_DRIFT: u64 = 500_000_000;

/// CPU use of the server's processes and of each tier's, if they exist.
pub(crate) type ServerCpu = (Option<TreeUsage>, Vec<Option<TreeUsage>>);

/// Maximum number of threads reported per tier, and the minimum share of the time during which a reported thread ran.
const MOST_THREADS: usize = 32;
const LEAST_SHARE: f64 = 0.05;

impl Machine<'_> {
    fn read(&self) -> Result<Reading, TrialError> {
        Ok(Reading {
            usage: Usage::read()?,
            counts: LiveCounts::read(self.live),
            disk: self.disk.and_then(Disk::read),
            flushes: self.flushes.as_ref().and_then(FlushCounter::read),
            throttled: self.quotas.iter().map(|(_, quota)| quota.read()).collect(),
            at: self.clock.now(),
        })
    }

    /// If the server's process is unknown, its tiers count as the server.
    fn server_cpu(&self) -> ServerCpu {
        let tiers: Vec<_> = self.tiers.iter().map(|tier| trees_usage(&tier.pids)).collect();
        let server = match self.server {
            Some(server) => trees_usage(&[server]),
            None => {
                let all: Vec<u32> = self.tiers.iter().flat_map(|tier| &tier.pids).copied().collect();
                if all.is_empty() { None } else { trees_usage(&all) }
            }
        };
        (server, tiers)
    }

    fn throttling(&self, then: &Reading, now: &Reading) -> Vec<(&'static str, Throttling)> {
        let both = then.throttled.iter().zip(&now.throttled);
        let quotas = self.quotas.iter().zip(both);
        quotas
            .filter_map(|((whose, quota), (then, now))| Some((*whose, quota.between(then.as_ref()?, now.as_ref()?))))
            .collect()
    }
}

/// Leads the clients through the phases and samples the machine's counters.
///
/// The counters are read when the window begins and when it ends, or when all clients have ended if that is earlier.
/// Then it waits for the transactions that the window's end cut; the counters don't cover these.
pub(crate) fn coordinate<E: Engine>(
    shared: &Shared<'_, E>,
    live: &[Live],
    timeline: &Timeline,
    (disk, site): (Option<&Disk>, Site<'_>),
    finished: &AtomicU32,
    coordinator: &mut impl Coordinator,
    emit: &mut impl FnMut(Event),
) -> Result<Watched, TrialError> {
    let clock = shared.clock;
    let server = site.server;
    let machine = Machine {
        disk,
        flushes: site.storage.and_then(FlushCounter::of),
        quotas: quotas(server),
        server,
        tiers: &shared.trial.tiers,
        live,
        clock,
    };
    let all_done = || finished.load(Ordering::Acquire) as usize >= live.len();
    shared.gather(&shared.connected);
    if shared.refused.load(Ordering::Relaxed) {
        shared.announce(&shared.warmup_start, u64::MAX);
        return Err(TrialError::Thread("a client could not connect".into()));
    }
    emit(Event::Phase("warmup"));
    let warmup_start = shared.start(coordinator, "warmup", &shared.warmup_start)?;
    enforce(shared, true);
    shared.announce(&shared.warmup_start, warmup_start);
    shared.gather(&shared.warm);
    let mut first = machine.read().inspect_err(|_| {
        shared.announce(&shared.window_start, u64::MAX);
    })?;
    emit(Event::Phase("window"));
    let begin =
        shared.start(coordinator, "window", &shared.window_start)? + interleaving::delay(shared.trial.interleaving);
    let mut interleaving = shared
        .trial
        .interleaving
        .map_or(Interleaving::none(begin), |interleaving| {
            Interleaving::new(interleaving, begin)
        });
    shared.engine.probe().reset_contention();
    timeline.take();
    let mut server_before = machine.server_cpu();
    let mut calls_before = shared.preloaded.map(Preloaded::read);
    shared.announce(&shared.window_start, begin);
    first.at = begin;
    let mut window_start = begin;
    if shared.leads_in() {
        wait_until(clock, u64::MAX, || shared.measured_from().is_some() || all_done());
        window_start = shared.measured_from().unwrap_or(begin);
        shared.engine.probe().reset_contention();
        timeline.take();
        server_before = machine.server_cpu();
        calls_before = shared.preloaded.map(Preloaded::read);
        // Events counted before this thread woke up belong to the window.
        first = Reading {
            counts: LiveCounts::default(),
            ..machine.read()?
        };
    }
    let began_ns = clock.kernels_at(window_start);
    shared.watched.store(true, Ordering::Release);
    // The clients' own time equals active time from the first slice on.
    let origin = interleaving.own(window_start);
    let end = shared
        .trial
        .window
        .seconds
        .map_or(u64::MAX, |seconds| origin.saturating_add((seconds * 1e9) as u64));
    let mut switch = shared
        .engine
        .probe()
        .slices()
        .map(|slices| Switch::new(slices, shared.seed, first.at));
    let mut last = first.clone();
    let (mut index, mut late) = (0, 0);
    loop {
        let interval_end = (origin + (index + 1) * timeline.interval).min(end);
        // The slices change when the other trials have ended.
        let look = if shared.trial.interleaving.is_some() {
            clock.now() + POLL_INTERVAL
        } else {
            u64::MAX
        };
        let done = watch_until(
            shared,
            interleaving.moment(interval_end).min(look),
            switch.as_mut(),
            all_done,
        );
        interleaving = interleaving.alone_from(shared.alone.load(Ordering::Acquire));
        if !done && clock.now() < interleaving.moment(interval_end) {
            continue;
        }
        if !done {
            late = late.max(clock.now().saturating_sub(interleaving.moment(interval_end)));
        }
        let Ok(now) = machine.read() else { break };
        if !done || now.counts != last.counts {
            emit(interval(&machine, timeline, (index, origin), interleaving, &last, &now));
        }
        last = now;
        index += 1;
        if done || interval_end == end {
            break;
        }
    }
    let server_after = machine.server_cpu();
    let seconds = (interleaving.active(last.at) - interleaving.active(first.at)) as f64 / 1e9;
    let busy_threads = busy_threads(&server_before, &server_after, seconds);
    let calls_after = shared.preloaded.map(Preloaded::read);
    let backlog = shared.engine.probe().backlog();
    shared.watched.store(false, Ordering::Release);
    // Transactions cut by the window's end complete under the same watching.
    watch_until(shared, u64::MAX, switch.as_mut(), all_done);
    enforce(shared, false);
    check_clock(
        began_ns,
        clock.kernels_at(window_start),
        last.at.saturating_sub(first.at),
    )?;
    // A thread that was late for its slices continued its window after the others.
    if let Ok(now) = machine.read()
        && now.counts != last.counts
    {
        emit(interval(&machine, timeline, (index, origin), interleaving, &last, &now));
    }
    Ok(Watched {
        window_start,
        began_ns,
        late_s: late as f64 / 1e9,
        warmup_s: window_start.saturating_sub(warmup_start) as f64 / 1e9,
        seconds,
        real_s: last.at.saturating_sub(first.at) as f64 / 1e9,
        disk: first.disk.zip(last.disk),
        flushes: machine
            .flushes
            .as_ref()
            .zip(first.flushes.as_ref().zip(last.flushes.as_ref()))
            .map(|(counter, (then, now))| counter.between(then, now)),
        throttling: machine.throttling(&first, &last),
        before: first.usage,
        after: last.usage,
        server_cpu: (server_before, server_after),
        busy_threads,
        server_calls: calls_before
            .zip(calls_after)
            .map(|(before, after)| rise(&before, &after)),
        backlog,
        watched_one_in: switch.map_or(Some(1.0), |switch| switch.scale(clock.now())),
    })
}

/// The CPU quotas of this process and of the server, named for [`Watched::throttling`]. A control group that contains
/// both counts as the client's.
fn quotas(server: Option<u32>) -> Vec<(&'static str, CpuQuota)> {
    let client = CpuQuota::of(std::process::id());
    let server = server
        .and_then(CpuQuota::of)
        .filter(|quota| Some(quota) != client.as_ref());
    let named = [("client", client), ("server", server)];
    named
        .into_iter()
        .filter_map(|(whose, quota)| Some((whose, quota?)))
        .collect()
}

/// Fails if the two clocks drifted apart since the window began. `began` and `again`: the window's start in the
/// kernel's clock, converted at the window's start and at its end.
fn check_clock(began: u64, again: u64, window: u64) -> Result<(), TrialError> {
    let drift = began.abs_diff(again);
    // A thread that is preempted between its readings of the two clocks sees them apart by that long.
    if drift <= MOST_DRIFT + window / 100 {
        return Ok(());
    }
    Err(TrialError::Clock {
        seconds: drift as f64 / 1e9,
    })
}

/// The threads of each tier that ran for at least [`LEAST_SHARE`] of `seconds`.
fn busy_threads((_, before): &ServerCpu, (_, after): &ServerCpu, seconds: f64) -> Vec<Vec<BusyThread>> {
    let least_ns = (LEAST_SHARE * seconds * 1e9) as u64;
    let both = before.iter().zip(after);
    both.map(|each| match each {
        (Some(before), Some(after)) => after.busiest_since(before, MOST_THREADS, least_ns),
        _ => Vec::new(),
    })
    .collect()
}

/// Starts or stops changing calls in the clients' threads and in the server.
fn enforce<E: Engine>(shared: &Shared<'_, E>, on: bool) {
    if let Some(changes) = shared.changes {
        changes.enforce(on);
    }
    match shared.preloaded {
        Some(preloaded) if on => preloaded.begin(),
        Some(preloaded) => preloaded.end(),
        None => {}
    }
}

/// The interval between two readings. `origin`: the active time at which the window began.
fn interval(
    machine: &Machine<'_>,
    timeline: &Timeline,
    (index, origin): (u64, u64),
    interleaving: Interleaving,
    last: &Reading,
    now: &Reading,
) -> Event {
    let own = |moment| interleaving.active(moment).saturating_sub(origin) as f64 / 1e9;
    let seconds = own(now.at) - own(last.at);
    let real_s = now.at.saturating_sub(last.at) as f64 / 1e9;
    Event::Interval(Box::new(Interval {
        index,
        span_s: (own(last.at), own(now.at)),
        counts: now.counts.since(last.counts),
        service_ns: timeline.take(),
        cpu: now.usage.since(&last.usage, seconds, real_s),
        disk: machine
            .disk
            .zip(last.disk.zip(now.disk))
            .map(|(disk, (a, b))| disk.between(&a, &b, seconds)),
    }))
}

/// Waits until a time or until `done`, and switches the engine's watched slices on and off. Returns whether `done`
/// ended the wait.
fn watch_until<E: Engine>(
    shared: &Shared<'_, E>,
    until: u64,
    mut switch: Option<&mut Switch>,
    done: impl Fn() -> bool,
) -> bool {
    loop {
        let turn = switch.as_ref().map_or(u64::MAX, |switch| switch.next());
        if wait_until(shared.clock, until.min(turn), &done) {
            return true;
        }
        let now = shared.clock.now();
        if let Some(on) = switch.as_mut().and_then(|switch| switch.turn(now)) {
            shared.engine.probe().watch(on);
        }
        if now >= until {
            return false;
        }
    }
}

/// Waits until a time or until `done`. Returns whether `done` ended the wait.
fn wait_until(clock: Clock, until: u64, done: impl Fn() -> bool) -> bool {
    loop {
        if done() {
            return true;
        }
        let left = until.saturating_sub(clock.now());
        if left == 0 {
            return false;
        }
        // The thread that makes `done` true unparks this one. Polling would take CPU time from the clients.
        std::thread::park_timeout(std::time::Duration::from_nanos(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumped_fails_the_trial() {
        let second = 1_000_000_000;
        assert!(check_clock(5 * second, 5 * second + 1000, second).is_ok());
        assert!(check_clock(5 * second, 6 * second, 60 * second).is_ok());
        let failed = check_clock(5 * second, 35 * second, second).unwrap_err();
        assert!(failed.to_string().contains("differ by 30.000 s"), "{failed}");
    }
}
