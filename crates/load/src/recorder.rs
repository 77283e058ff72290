//! What the clients of one thread record.
//!
//! Latencies go into a histogram of the current interval of the timeline, which is added to the whole at the interval's
//! end: one record an operation serves both. Counts go into plain numbers of the thread, and copies of a few into
//! atomics that only this thread writes, for the live display.

use crate::books::Books;
use dbdyno_plan::document::FailureKind;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A histogram of nanoseconds up to an hour, with three significant digits.
pub type Latencies = Histogram<u64>;

/// An hour in nanoseconds; what takes longer counts as an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// An empty histogram.
pub fn latencies() -> Latencies {
    match Histogram::new_with_bounds(1, LONGEST, 3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("the bounds are constants, and right"),
    }
}

/// Counts that are shown while the trial runs: this thread's alone to write, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    ok: AtomicU64,
    failed: AtomicU64,
    statements: AtomicU64,
    rows: AtomicU64,
}

/// A reading of all threads' [`Live`] counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Transactions that ended well.
    pub ok: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Statements run, also in transactions that have not ended.
    pub statements: u64,
    /// Rows returned or changed by them.
    pub rows: u64,
}

impl LiveCounts {
    /// The sum over threads.
    pub fn read(live: &[Live]) -> Self {
        live.iter().fold(Self::default(), |sum, live| Self {
            ok: sum.ok + live.ok.load(Ordering::Relaxed),
            failed: sum.failed + live.failed.load(Ordering::Relaxed),
            statements: sum.statements + live.statements.load(Ordering::Relaxed),
            rows: sum.rows + live.rows.load(Ordering::Relaxed),
        })
    }

    /// What has come since an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ok: self.ok.saturating_sub(earlier.ok),
            failed: self.failed.saturating_sub(earlier.failed),
            statements: self.statements.saturating_sub(earlier.statements),
            rows: self.rows.saturating_sub(earlier.rows),
        }
    }
}

/// The latencies of the interval that the live display will show next, from all threads.
#[derive(Debug)]
pub struct Timeline {
    /// The length of an interval in nanoseconds.
    pub interval: u64,
    pending: Mutex<Latencies>,
}

impl Timeline {
    /// A timeline with intervals of so many nanoseconds.
    pub fn new(interval: u64) -> Self {
        Self {
            interval: interval.max(1_000_000),
            pending: Mutex::new(latencies()),
        }
    }

    fn add(&self, part: &Latencies) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Both have the same bounds, so nothing can fail to fit.
        let _ = pending.add(part);
    }

    /// Takes what has come in: 50th and 99th percentile and greatest, in nanoseconds; `None` if nothing has.
    pub fn take(&self) -> Option<(u64, u64, u64)> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = (!pending.is_empty()).then(|| {
            (
                pending.value_at_quantile(0.5),
                pending.value_at_quantile(0.99),
                pending.max(),
            )
        });
        pending.reset();
        summary
    }
}

/// What one statement of the plan did.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatementCount {
    /// Times it ran without failing.
    pub executions: u64,
    /// Rows it returned.
    pub rows: u64,
    /// Rows it changed.
    pub changed: u64,
}

/// How one transaction of the plan ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransactionCount {
    /// Well.
    pub ok: u64,
    /// With a failure.
    pub failed: u64,
}

/// What a transaction did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Statements it ran.
    pub statements: u64,
    /// Rows they returned.
    pub returned: u64,
    /// Rows they changed.
    pub changed: u64,
}

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

/// The record of the clients of one thread.
#[derive(Debug)]
pub struct Recorder<'a> {
    live: &'a Live,
    timeline: &'a Timeline,
    boundary: u64,
    interval: Latencies,
    /// Actual start to end, of transactions that ended well.
    pub service: Latencies,
    /// Scheduled start to end; open loop only.
    pub response: Option<Latencies>,
    /// Scheduled to actual start; open loop only.
    pub queue: Option<Latencies>,
    /// Parts of transactions.
    pub phases: Phases,
    /// The accounts.
    pub books: Books,
    /// The first message of each kind of failure.
    pub messages: BTreeMap<FailureKind, String>,
    /// By transaction of the plan.
    pub transactions: Vec<TransactionCount>,
    /// By statement of the plan, also in transactions that failed.
    pub statements: Vec<StatementCount>,
    /// What the transactions did that ended well.
    pub work: Work,
    /// Nanoseconds in parsing statements, where that is timed.
    pub prepare_ns: u64,
    /// Nanoseconds in which clients had nothing to do: thinking, or waiting for a scheduled start.
    pub idle_ns: u64,
}

impl<'a> Recorder<'a> {
    /// An empty record.
    pub fn new(live: &'a Live, timeline: &'a Timeline, open: bool, transactions: usize, statements: usize) -> Self {
        Self {
            live,
            timeline,
            boundary: u64::MAX,
            interval: latencies(),
            service: latencies(),
            response: open.then(latencies),
            queue: open.then(latencies),
            phases: Phases::default(),
            books: Books::default(),
            messages: BTreeMap::new(),
            transactions: vec![TransactionCount::default(); transactions],
            statements: vec![StatementCount::default(); statements],
            work: Work::default(),
            prepare_ns: 0,
            idle_ns: 0,
        }
    }

    /// Forgets everything: the window begins at `start`.
    pub fn begin(&mut self, start: u64) {
        let open = self.response.is_some();
        *self = Self::new(
            self.live,
            self.timeline,
            open,
            self.transactions.len(),
            self.statements.len(),
        );
        self.boundary = start + self.timeline.interval;
        self.publish();
    }

    /// A transaction ended well. Times in nanoseconds of the clock; `service` excludes time spent thinking.
    #[inline]
    pub fn ok(&mut self, transaction: usize, work: Work, service: u64, end: u64) {
        self.books.ok += 1;
        self.transactions[transaction].ok += 1;
        self.work.statements += work.statements;
        self.work.returned += work.returned;
        self.work.changed += work.changed;
        self.interval.saturating_record(service);
        self.live.ok.store(self.books.ok, Ordering::Relaxed);
        if end >= self.boundary {
            self.turn(end);
        }
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
    pub fn failed(&mut self, transaction: usize, failure: dbdyno_engines::Failure, end: u64) {
        *self.books.failed.entry(failure.kind).or_default() += 1;
        self.messages
            .entry(failure.kind)
            .or_insert_with(|| failure.message.clone());
        self.transactions[transaction].failed += 1;
        self.live.failed.store(self.books.failures(), Ordering::Relaxed);
        if end >= self.boundary {
            self.turn(end);
        }
    }

    /// A statement ended well.
    #[inline]
    pub fn statement(&mut self, statement: usize, rows: dbdyno_engines::Rows) {
        let count = &mut self.statements[statement];
        count.executions += 1;
        count.rows += rows.returned;
        count.changed += rows.changed;
        // One writer only, so a load and a store make an addition.
        let live = &self.live;
        live.statements
            .store(live.statements.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        live.rows.store(
            live.rows.load(Ordering::Relaxed) + rows.returned + rows.changed,
            Ordering::Relaxed,
        );
    }

    /// The window is over: what the last interval holds is added to the whole.
    pub fn end(&mut self) {
        self.turn(u64::MAX);
    }

    #[cold]
    fn turn(&mut self, end: u64) {
        self.timeline.add(&self.interval);
        // Both have the same bounds, so nothing can fail to fit.
        let _ = self.service.add(&self.interval);
        self.interval.reset();
        let intervals = end.saturating_sub(self.boundary) / self.timeline.interval + 1;
        self.boundary = self
            .boundary
            .saturating_add(intervals.saturating_mul(self.timeline.interval));
    }

    fn publish(&self) {
        self.live.ok.store(0, Ordering::Relaxed);
        self.live.failed.store(0, Ordering::Relaxed);
        self.live.statements.store(0, Ordering::Relaxed);
        self.live.rows.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_latency_is_lost_at_the_intervals_ends(steps in proptest::collection::vec(1u64..5_000_000, 1..200)) {
            let (live, timeline) = (Live::default(), Timeline::new(10_000_000));
            let mut recorder = Recorder::new(&live, &timeline, false, 1, 1);
            recorder.begin(0);
            let mut now = 0;
            for step in &steps {
                now += step;
                recorder.ok(0, Work { statements: 1, ..Work::default() }, *step, now);
            }
            recorder.end();
            prop_assert_eq!(recorder.service.len(), steps.len() as u64);
            prop_assert_eq!(recorder.books.ok, steps.len() as u64);
            let longest = *steps.iter().max().expect("at least one");
            prop_assert!(recorder.service.max() >= longest && recorder.service.max() <= longest + longest / 500 + 1);
            prop_assert_eq!(LiveCounts::read(std::slice::from_ref(&live)).ok, steps.len() as u64);
        }
    }

    #[test]
    fn what_the_warm_up_did_is_forgotten() {
        let (live, timeline) = (Live::default(), Timeline::new(10_000_000));
        let mut recorder = Recorder::new(&live, &timeline, false, 1, 1);
        recorder.ok(0, Work::default(), 5, 5);
        recorder.begin(100);
        recorder.end();
        assert_eq!(recorder.service.len(), 0);
        assert_eq!(recorder.books, Books::default());
        assert_eq!(LiveCounts::read(std::slice::from_ref(&live)), LiveCounts::default());
    }
}
