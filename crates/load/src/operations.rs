//! Operation times: of each transaction if there are several, of each statement, and of begin, commit and rollback.
//!
//! A load of one transaction with one statement needs none of these, because its service time is the time of both.
//!
//! Reading the clock at each statement would cost more than one percent of the shortest statements of an embedded
//! engine. For embedded engines, the first transactions of each client are timed, then one in [`ONE_IN`] at random,
//! with the weight [`ONE_IN`]. So a load of few transactions times them all, and a load of many isn't slowed down. For
//! servers, all transactions are timed.

use crate::latency::{Counts, Latencies, latencies};
use dbdyno_program::Op;

/// Operations that begin and end a transaction, as named in reports.
pub const CONTROLS: [&str; 3] = ["begin", "commit", "rollback"];

/// Number of each client's transactions that are timed before sampling begins.
const FIRST: u32 = 256;

/// After that, one in this many transactions is timed.
pub const ONE_IN: u64 = 8;

/// How many transactions a timed transaction represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Only itself.
    One,
    /// [`ONE_IN`] transactions.
    Many,
}

/// Chooses which transactions of a client are timed.
#[derive(Debug)]
pub struct Timing {
    /// How many more transactions are timed without gaps.
    first: u32,
    /// Transactions to skip before the next timed one.
    gap: u32,
    /// State of the random generator for the gaps; 0 if no transaction is timed.
    state: u32,
}

impl Timing {
    /// Times no transaction.
    pub fn none() -> Self {
        Self {
            first: 0,
            gap: u32::MAX,
            state: 0,
        }
    }

    /// The choice for a client. `all`: time every transaction.
    pub fn new(all: bool, client: u32) -> Self {
        Self {
            first: if all { u32::MAX } else { FIRST },
            gap: 0,
            state: client.wrapping_mul(0x9e37_79b9) | 1,
        }
    }

    /// Returns the weight of the next transaction if it is timed.
    #[inline(always)]
    pub fn choose(&mut self) -> Option<Weight> {
        if self.first == 0 && self.gap > 0 {
            self.gap -= u32::from(self.state != 0);
            return None;
        }
        self.chosen()
    }

    #[inline(never)]
    fn chosen(&mut self) -> Option<Weight> {
        if self.first == u32::MAX {
            return Some(Weight::One);
        }
        if self.first > 0 {
            self.first -= 1;
            return Some(Weight::One);
        }
        // Marsaglia, Xorshift RNGs (2003). Randomize the gaps so that sampling doesn't alias with periodic patterns in
        // the load.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.gap = self.state % (2 * ONE_IN as u32 - 1);
        Some(Weight::Many)
    }
}

/// Operation times of one thread's clients, successful operations only. Places without counts use no memory.
#[derive(Debug, Default)]
pub struct Operations {
    transactions: Box<[Counts]>,
    /// Statements, then [`CONTROLS`].
    steps: Box<[Counts]>,
    /// The same, of transactions with the weight [`ONE_IN`].
    sampled: Box<[Counts]>,
    /// Weighted sum of the timed transactions' nanoseconds.
    timed: u64,
}

/// Operation times of all threads in nanoseconds, by index in the plan.
#[derive(Debug, Default)]
pub struct Histograms {
    /// Times of completed transactions; empty if the plan has only one.
    pub transactions: Vec<Latencies>,
    /// Times of statements.
    pub statements: Vec<Latencies>,
    /// Times of [`CONTROLS`].
    pub controls: Vec<Latencies>,
    /// Weighted sum of the timed transactions' times.
    pub timed: u64,
}

impl Operations {
    /// Space for a plan with this many transactions and, if operations are timed, statements.
    pub fn new(transactions: usize, timed_statements: Option<usize>) -> Self {
        let room = |many| (0..many).map(|_| Counts::default()).collect();
        let steps = timed_statements.map_or(0, |statements| statements + CONTROLS.len());
        Self {
            transactions: room(if transactions > 1 { transactions } else { 0 }),
            steps: room(steps),
            sampled: room(steps),
            timed: 0,
        }
    }

    /// Records a completed transaction, if the plan has several.
    #[inline(always)]
    pub fn transaction(&mut self, transaction: usize, service: u64) {
        if let Some(counts) = self.transactions.get_mut(transaction) {
            counts.record(service);
        }
    }

    /// Records the end of a transaction whose operations were timed, completed or failed.
    pub fn whole(&mut self, service: u64, weight: Weight) {
        self.timed += service
            * match weight {
                Weight::One => 1,
                Weight::Many => ONE_IN,
            };
    }

    /// Records a completed operation of a session.
    #[inline(always)]
    pub fn step(&mut self, op: &Op, nanoseconds: u64, weight: Weight) {
        let controls = self.steps.len().saturating_sub(CONTROLS.len());
        let place = match op {
            Op::Execute(execute) => execute.statement,
            Op::Begin(_) => controls,
            Op::Commit => controls + 1,
            Op::Rollback => controls + 2,
            _ => return,
        };
        let steps = match weight {
            Weight::One => &mut self.steps,
            Weight::Many => &mut self.sampled,
        };
        if let Some(counts) = steps.get_mut(place) {
            counts.record(nanoseconds);
        }
    }
}

impl Histograms {
    /// Adds the times of one thread's clients.
    pub fn add(&mut self, mut operations: Operations) {
        self.timed += operations.timed;
        add_each(&mut self.transactions, &mut operations.transactions, 1);
        for (mut steps, times) in [(operations.steps, 1), (operations.sampled, ONE_IN)] {
            let statements = steps.len().saturating_sub(CONTROLS.len());
            let (statements, controls) = steps.split_at_mut(statements);
            add_each(&mut self.statements, statements, times);
            add_each(&mut self.controls, controls, times);
        }
    }
}

fn add_each(histograms: &mut Vec<Latencies>, counts: &mut [Counts], times: u64) {
    while histograms.len() < counts.len() {
        histograms.push(latencies());
    }
    for (histogram, counts) in histograms.iter_mut().zip(counts) {
        counts.drain_times(&mut [histogram], times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_program::Execute;

    fn execute(statement: usize) -> Op {
        Op::Execute(Execute {
            statement,
            params: Box::new([]),
            into: Box::new([]),
            rows: None,
        })
    }

    #[test]
    fn each_operation_is_counted_at_its_index() {
        let mut operations = Operations::new(2, Some(2));
        operations.transaction(1, 100);
        operations.step(&execute(0), 10, Weight::One);
        operations.step(&execute(1), 20, Weight::One);
        operations.step(&execute(1), 30, Weight::One);
        operations.step(&Op::Commit, 40, Weight::One);
        operations.step(&Op::Jump { to: 0 }, 50, Weight::One);
        let mut histograms = Histograms::default();
        histograms.add(operations);
        let counts = |all: &[Latencies]| all.iter().map(Latencies::len).collect::<Vec<_>>();
        assert_eq!(counts(&histograms.transactions), [0, 1]);
        assert_eq!(counts(&histograms.statements), [1, 2]);
        assert_eq!(counts(&histograms.controls), [0, 1, 0]);
        assert_eq!(histograms.statements[1].max(), 30);
    }

    #[test]
    fn a_sampled_transaction_counts_as_many() {
        let mut operations = Operations::new(1, Some(1));
        operations.step(&execute(0), 10, Weight::One);
        operations.step(&execute(0), 20, Weight::Many);
        let mut histograms = Histograms::default();
        histograms.add(operations);
        assert_eq!(histograms.statements[0].len(), 1 + ONE_IN);
    }

    #[test]
    fn one_in_eight_is_timed_after_the_first_ones() {
        let mut timing = Timing::new(false, 3);
        let drawn = 200_000;
        let stands: u64 = (0..drawn)
            .filter_map(|_| timing.choose())
            .map(|weight| match weight {
                Weight::One => 1,
                Weight::Many => ONE_IN,
            })
            .sum();
        assert!(stands.abs_diff(drawn) < drawn / 50, "{stands} of {drawn}");
        let mut all = Timing::new(true, 0);
        assert!((0..10_000).all(|_| all.choose() == Some(Weight::One)));
        let mut none = Timing::none();
        assert!((0..10_000).all(|_| none.choose().is_none()));
    }

    #[test]
    fn threads_add_up() {
        let mut histograms = Histograms::default();
        for nanoseconds in [10, 20] {
            let mut operations = Operations::new(1, Some(1));
            operations.step(&execute(0), nanoseconds, Weight::One);
            histograms.add(operations);
        }
        assert_eq!(histograms.statements[0].len(), 2);
    }

    #[test]
    fn one_transaction_of_one_statement_uses_no_memory() {
        let mut operations = Operations::new(1, None);
        operations.transaction(0, 5);
        operations.step(&execute(0), 5, Weight::One);
        let mut histograms = Histograms::default();
        histograms.add(operations);
        assert!(histograms.transactions.is_empty() && histograms.statements.is_empty());
    }
}
