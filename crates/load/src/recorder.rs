//! What the clients of one thread record.
//!
//! Latencies are counted in an array of the current interval of the timeline, which is added to the whole at the
//! interval's end: one count of an operation serves both. What is counted by transaction and by statement is in
//! [`Live`], where it can be read while the trial runs.

use crate::accounting::Accounting;
use crate::failures::Failures;
use crate::interleaving::Interleaving;
use crate::latency::{Counts, Latencies, Timeline, latencies};
use crate::live::{Live, Work};
use crate::operations::Operations;
use dbdyno_engine::Failure;
use dbdyno_plan::document::FailureKind;
use dbdyno_probes::Clock;
use std::collections::BTreeMap;

/// Histograms of parts of transactions, made only where they are wanted.
#[derive(Debug, Clone, Default)]
pub struct Phases {
    /// By name: `connect`, `prepare`, `execute`, `fetch`, `commit`.
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

/// What a record is to hold, by the plan.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The loop is open.
    pub open: bool,
    /// How many transactions there are.
    pub transactions: usize,
    /// How many statements, where they are timed.
    pub timed_statements: Option<usize>,
}

/// The record of the clients of one thread.
#[derive(Debug)]
pub struct Recorder<'a> {
    /// The counts by transaction and statement.
    pub live: &'a Live,
    timeline: &'a Timeline,
    shape: Shape,
    /// When the window began that is recorded, and its slices, where there are any.
    start: Option<u64>,
    interleaving: Option<Interleaving>,
    /// The end of the interval.
    boundary: u64,
    interval: Counts,
    /// Actual start to end, of transactions that ended well.
    pub service: Latencies,
    /// Scheduled start to end; open loop only.
    pub response: Option<Latencies>,
    /// Scheduled to actual start; open loop only.
    pub queue: Option<Latencies>,
    /// Actual start to end, of transactions that failed.
    pub failed: Option<Latencies>,
    /// Lower bounds of the response time, in a closed loop of the service time, of what did not end well: until it failed, or
    /// until the end of the trial where it was skipped.
    pub at_least: Option<Latencies>,
    /// Transactions and their operations, each by itself.
    pub operations: Operations,
    /// Parts of transactions.
    pub phases: Phases,
    /// Connecting, of sessions that last the whole trial: that is before the window, and is kept all the same.
    pub opened: Option<Latencies>,
    /// The accounts, but for `ok`, which is in `live`.
    pub accounting: Accounting,
    /// The first message of each kind of failure.
    pub messages: BTreeMap<FailureKind, String>,
    /// The failures by code.
    pub failures: Failures,
    /// What was done in tries that failed; it is in `live` all the same.
    pub failed_work: Work,
    /// The sum, over the transactions that ended well, of the squares of the rows each returned.
    pub returned_squared: u128,
    /// How many of those changed rows.
    pub changing: u64,
    /// What thinking adds to the sum, over transactions, of the squares of the time from start to end; square nanoseconds.
    pub thought_squared: f64,
    /// Nanoseconds in parsing statements, where that is timed.
    pub prepare_ns: u64,
    /// Nanoseconds in which clients had nothing to do: thinking, or waiting for a scheduled start.
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

    /// Forgets everything but the connecting: the window began at `start` by the clock. Of a thread's clients the first does
    /// it for all.
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

    /// A session that is to last the whole trial was opened in so many nanoseconds.
    pub fn opened(&mut self, nanoseconds: u64) {
        self.opened.get_or_insert_with(latencies).saturating_record(nanoseconds);
    }

    /// A transaction that ended well returned and changed so many rows.
    #[inline(always)]
    pub fn rows(&mut self, work: &Work) {
        self.returned_squared += u128::from(work.returned) * u128::from(work.returned);
        self.changing += u64::from(work.changed > 0);
    }

    /// A transaction ended well. Times in nanoseconds of the clock; `service` excludes time spent thinking.
    #[inline(always)]
    pub fn ok(&mut self, transaction: usize, service: u64, end: u64) {
        self.live.ok(transaction);
        self.operations.transaction(transaction, service);
        self.interval.record(service);
        if end >= self.boundary {
            self.next_interval(end);
        }
    }

    /// A transaction ended well after the window: it is in the latencies, and in none of the counts.
    pub fn late(&mut self, transaction: usize, service: u64) {
        self.operations.transaction(transaction, service);
        self.interval.record(service);
    }

    /// A transaction took `service` nanoseconds until it failed, and would have taken `response` at least.
    #[cold]
    pub fn unserved(&mut self, service: u64, response: u64) {
        self.failed.get_or_insert_with(latencies).saturating_record(service);
        self.never_begun(response);
    }

    /// A transaction that did not end well would have taken so many nanoseconds at least.
    #[cold]
    pub fn never_begun(&mut self, response: u64) {
        self.at_least.get_or_insert_with(latencies).saturating_record(response);
    }

    /// A transaction of `cycle` nanoseconds thought for some of them.
    pub fn thought(&mut self, cycle: u64, thought: u64) {
        self.idle_ns += thought;
        let (cycle, service) = (cycle as f64, (cycle - thought) as f64);
        self.thought_squared += cycle * cycle - service * service;
    }

    /// The same transaction waited `queue` nanoseconds before it began.
    pub fn delayed(&mut self, response: u64, queue: u64) {
        if let Some(histogram) = &mut self.response {
            histogram.saturating_record(response);
        }
        if let Some(histogram) = &mut self.queue {
            histogram.saturating_record(queue);
        }
    }

    /// A transaction failed for good.
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

    /// A client's window is over: what the last interval holds is added to the whole, and what was counted to the
    /// accounts: the transactions that the client began, and those that it was to begin and did not.
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
        // Where a thread is late for its slices its own time falls behind the timeline's.
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
    };

    proptest! {
        #[test]
        fn no_latency_is_lost_at_the_intervals_ends(steps in proptest::collection::vec(1u64..5_000_000, 1..200)) {
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
    fn what_was_recorded_before_the_window_is_forgotten() {
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
