//! Measurements recorded by the clients of one thread.
//!
//! Latencies are counted in an array for the current interval of the timeline. At the interval's end, it is added to
//! the totals, so an operation is counted only once. Counts per transaction and per statement are in [`Live`], where
//! other threads can read them while the trial runs.

use crate::accounting::Accounting;
use crate::failures::Failures;
use crate::interleaving::Interleaving;
use crate::latency::{Counts, Latencies, Timeline, latencies};
use crate::live::{Live, Work};
use crate::operations::Operations;
use dbdyno_engine::Failure;
use dbdyno_probes::Clock;
use dbdyno_protocol::plan::document::FailureKind;
use std::collections::BTreeMap;

/// Histograms of the phases of transactions, created when first used.
#[derive(Debug, Clone, Default)]
pub struct Phases {
    /// By phase: `connect`, `prepare`, `execute`, `fetch`, `commit`.
    pub histograms: BTreeMap<&'static str, Latencies>,
}

impl Phases {
    /// Records a time.
    pub fn record(&mut self, phase: &'static str, nanoseconds: u64) {
        self.histograms
            .entry(phase)
            .or_insert_with(latencies)
            .saturating_record(nanoseconds);
    }
}

/// The transactions of a stage of an open loop.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Scheduled in it.
    pub scheduled: u64,
    /// Completed in it and in the window, whenever they were scheduled.
    pub ok: u64,
    /// Scheduled in it and failed.
    pub failed: u64,
    /// Scheduled in it and not begun.
    pub skipped: u64,
    /// Response times of those scheduled in it that completed.
    pub response: Latencies,
    /// Lower bounds of the response times of failed and skipped transactions.
    pub at_least: Latencies,
}

impl Stage {
    fn new() -> Self {
        Self {
            scheduled: 0,
            ok: 0,
            failed: 0,
            skipped: 0,
            response: latencies(),
            at_least: latencies(),
        }
    }

    /// No transactions in each of `count` stages.
    pub fn none(count: usize) -> Vec<Self> {
        (0..count).map(|_| Self::new()).collect()
    }

    /// Records a transaction that was scheduled in it and has ended. `response`: nanoseconds, a lower bound if it failed.
    pub fn ended(&mut self, response: u64, ok: bool) {
        self.scheduled += 1;
        self.failed += u64::from(!ok);
        let times = if ok { &mut self.response } else { &mut self.at_least };
        times.saturating_record(response);
    }

    /// Records a transaction that was scheduled in it and never began. `waited`: nanoseconds.
    pub fn skipped(&mut self, waited: u64) {
        self.scheduled += 1;
        self.skipped += 1;
        self.at_least.saturating_record(waited);
    }

    /// Adds the transactions of other clients.
    pub fn add(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.ok += other.ok;
        self.failed += other.failed;
        self.skipped += other.skipped;
        // All histograms have the same bounds, so adding cannot fail.
        let _ = self.response.add(&other.response);
        let _ = self.at_least.add(&other.at_least);
    }
}

/// What to record, according to the plan.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Whether the loop is open.
    pub open: bool,
    /// Number of transactions.
    pub transactions: usize,
    /// Number of statements, if they are timed.
    pub timed_statements: Option<usize>,
    /// Number of stages.
    pub stages: usize,
}

/// The measurements of one thread's clients.
#[derive(Debug)]
pub struct Recorder<'a> {
    /// Counts per transaction and statement.
    pub live: &'a Live,
    timeline: &'a Timeline,
    shape: Shape,
    /// When the recorded window began, and its slices if the trial is interleaved.
    start: Option<u64>,
    interleaving: Option<Interleaving>,
    /// End of the current interval.
    boundary: u64,
    interval: Counts,
    /// Actual start to end, of completed transactions.
    pub service: Latencies,
    /// Scheduled start to end; open loop only.
    pub response: Option<Latencies>,
    /// Scheduled to actual start; open loop only.
    pub queue: Option<Latencies>,
    /// Actual start to end, of failed transactions.
    pub failed: Option<Latencies>,
    /// Lower bounds of the response time (closed loop: service time) of transactions that failed or were skipped: the
    /// time until the failure, or until the end of the trial.
    pub at_least: Option<Latencies>,
    /// Times of transactions and their operations.
    pub operations: Operations,
    /// Phases of transactions.
    pub phases: Phases,
    /// Connect times of sessions that last the whole trial. These connect before the window, and their times are kept.
    pub opened: Option<Latencies>,
    /// The stages of an open loop whose rate changes.
    pub stages: Vec<Stage>,
    /// Transaction counts, except `ok`, which is in `live`.
    pub accounting: Accounting,
    /// The first message of each kind of failure.
    pub messages: BTreeMap<FailureKind, String>,
    /// The failures by code.
    pub failures: Failures,
    /// Work of failed attempts; `live` includes it.
    pub failed_work: Work,
    /// Sum, over completed transactions, of the squared number of returned rows.
    pub returned_squared: u128,
    /// How many of these changed rows.
    pub changing: u64,
    /// Increase that think time causes in the sum of squared transaction times; square nanoseconds.
    pub thought_squared: f64,
    /// Nanoseconds spent parsing statements, if timed.
    pub prepare_ns: u64,
    /// Nanoseconds in which clients were idle: thinking, or waiting for a scheduled start.
    pub idle_ns: u64,
}

impl<'a> Recorder<'a> {
    /// An empty record.
    pub fn new(live: &'a Live, timeline: &'a Timeline, shape: Shape) -> Self {
        Self {
            live,
            timeline,
            shape,
            start: None,
            interleaving: None,
            boundary: u64::MAX,
            interval: Counts::default(),
            service: latencies(),
            response: shape.open.then(latencies),
            queue: shape.open.then(latencies),
            failed: None,
            at_least: None,
            operations: Operations::default(),
            phases: Phases::default(),
            opened: None,
            stages: Stage::none(shape.stages),
            accounting: Accounting::default(),
            messages: BTreeMap::new(),
            failures: Failures::default(),
            failed_work: Work::default(),
            returned_squared: 0,
            changing: 0,
            thought_squared: 0.0,
            prepare_ns: 0,
            idle_ns: 0,
        }
    }

    /// Discards everything except connect times: the window began at `start`. The first client of a thread does this
    /// for all.
    pub fn begin(&mut self, start: u64, interleaving: Option<Interleaving>) {
        if self.start == Some(start) {
            return;
        }
        let opened = self.opened.take();
        *self = Self::new(self.live, self.timeline, self.shape);
        self.operations = Operations::new(self.shape.transactions, self.shape.timed_statements);
        self.opened = opened;
        self.start = Some(start);
        self.interleaving = interleaving;
        self.boundary = start.saturating_add(self.timeline.interval);
    }

    /// Records the connect time of a session that lasts the whole trial.
    pub fn opened(&mut self, nanoseconds: u64) {
        self.opened.get_or_insert_with(latencies).saturating_record(nanoseconds);
    }

    /// Records the rows of a completed transaction.
    #[inline(always)]
    pub fn rows(&mut self, work: &Work) {
        self.returned_squared += u128::from(work.returned) * u128::from(work.returned);
        self.changing += u64::from(work.changed > 0);
    }

    /// Records a completed transaction. Times are in nanoseconds of the clock; `service` excludes think time.
    #[inline(always)]
    pub fn ok(&mut self, transaction: usize, service: u64, end: u64) {
        self.live.ok(transaction);
        self.operations.transaction(transaction, service);
        self.interval.record(service);
        if end >= self.boundary {
            self.next_interval(end);
        }
    }

    /// Records a transaction that completed after the window: in the latencies but not in the counts.
    pub fn late(&mut self, transaction: usize, service: u64) {
        self.operations.transaction(transaction, service);
        self.interval.record(service);
    }

    /// Records a transaction that failed after `service` nanoseconds; `response` is a lower bound.
    #[cold]
    pub fn unserved(&mut self, service: u64, response: u64) {
        self.failed.get_or_insert_with(latencies).saturating_record(service);
        self.never_begun(response);
    }

    /// Records a lower bound, in nanoseconds, for a transaction that didn't complete.
    #[cold]
    pub fn never_begun(&mut self, response: u64) {
        self.at_least.get_or_insert_with(latencies).saturating_record(response);
    }

    /// Records the think time of a transaction that took `cycle` nanoseconds.
    pub fn thought(&mut self, cycle: u64, thought: u64) {
        self.idle_ns += thought;
        let (cycle, service) = (cycle as f64, (cycle - thought) as f64);
        self.thought_squared += cycle * cycle - service * service;
    }

    /// Records the response time of the same transaction, and the time it waited before it began.
    pub fn delayed(&mut self, response: u64, queue: u64) {
        if let Some(histogram) = &mut self.response {
            histogram.saturating_record(response);
        }
        if let Some(histogram) = &mut self.queue {
            histogram.saturating_record(queue);
        }
    }

    /// Counts a transaction that failed after all retries.
    #[cold]
    pub fn failed(&mut self, transaction: usize, failure: &Failure, end: u64) {
        *self.accounting.failed.entry(failure.kind).or_default() += 1;
        self.messages
            .entry(failure.kind)
            .or_insert_with(|| failure.message.clone());
        self.failures.count(failure);
        self.live.failed(transaction);
        if end >= self.boundary {
            self.next_interval(end);
        }
    }

    /// Ends a client's window. Adds the last interval to the totals, and the transactions that the client began and
    /// skipped to the accounting.
    pub fn end(&mut self, begun: u64, skipped: u64) {
        self.next_interval(u64::MAX);
        self.accounting.issued += begun + skipped;
        self.accounting.skipped += skipped;
        self.accounting.ok = self.live.transactions().map(|count| count.ok).sum();
    }

    #[cold]
    fn next_interval(&mut self, end: u64) {
        self.timeline.take_in(&mut self.interval, &mut self.service);
        let Some(start) = self.start else { return };
        // If a thread is late for its slices, its own time falls behind the timeline.
        let active = self.interleaving.map_or(end.saturating_sub(start), |interleaving| {
            interleaving
                .active(Clock::real().now())
                .saturating_sub(interleaving.own(start))
        });
        let left = self.timeline.interval - active % self.timeline.interval;
        self.boundary = end.saturating_add(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::LiveCounts;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape {
        open: false,
        transactions: 1,
        timed_statements: None,
        stages: 0,
    };

    proptest! {
        #[test]
        fn no_latency_is_lost_at_interval_boundaries(steps in proptest::collection::vec(1u64..5_000_000, 1..200)) {
            let (live, timeline) = (Live::new(1, 1), Timeline::new(10_000_000));
            let mut recorder = Recorder::new(&live, &timeline, SHAPE);
            recorder.begin(0, None);
            let mut now = 0;
            for step in &steps {
                now += step;
                recorder.ok(0, *step, now);
            }
            recorder.end(0, 0);
            prop_assert_eq!(recorder.service.len(), steps.len() as u64);
            prop_assert_eq!(recorder.accounting.ok, steps.len() as u64);
            let longest = *steps.iter().max().expect("at least one");
            prop_assert!(recorder.service.max() >= longest && recorder.service.max() <= longest + longest / 500 + 1);
            prop_assert_eq!(LiveCounts::read(std::slice::from_ref(&live)).ok, steps.len() as u64);
        }
    }

    #[test]
    fn measurements_before_the_window_are_discarded() {
        let (live, timeline) = (Live::new(1, 1), Timeline::new(10_000_000));
        let mut recorder = Recorder::new(&live, &timeline, SHAPE);
        recorder.late(0, 5);
        recorder.unserved(5, 6);
        recorder.phases.record("execute", 7);
        recorder.begin(100, None);
        recorder.end(0, 0);
        assert_eq!(recorder.service.len(), 0);
        assert!(recorder.failed.is_none() && recorder.at_least.is_none() && recorder.phases.histograms.is_empty());
        assert_eq!(recorder.accounting, Accounting::default());
    }
}
