//! Times of operations: of each transaction where there are several, of each statement, of beginning and ending.
//!
//! A load of one transaction that is one statement has nothing to add: the service time is the time of both.
//!
//! Reading the clock at each statement would be more than one percent of the shortest ones of an engine in the calling
//! thread. There the first transactions of each client are timed, and then one in [`ONE_IN`] at random, which counts as
//! so many: a load of few transactions has them all, one of many is not slowed. A server's are all timed.

use crate::latency::{Counts, Latencies, latencies};
use dbdyno_program::Op;

/// How a transaction of the engine begins and ends, as reports name it.
pub const CONTROLS: [&str; 3] = ["begin", "commit", "rollback"];

/// How many transactions of each client are timed before only some are.
const FIRST: u32 = 256;

/// One in so many is timed then.
pub const ONE_IN: u64 = 8;

/// For how many transactions one that is timed stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// For itself.
    One,
    /// For [`ONE_IN`].
    Many,
}

/// Chooses which transactions of a client are timed.
#[derive(Debug)]
pub struct Timing {
    /// How many more are timed one after another.
    first: u32,
    /// How many are left out before the next that is timed.
    gap: u32,
    /// The state of the generator of gaps; 0: nothing is timed.
    state: u32,
}

impl Timing {
    /// Nothing is timed.
    pub fn none() -> Self {
        Self {
            first: 0,
            gap: u32::MAX,
            state: 0,
        }
    }

    /// For a client of this number; `all`: none is left out.
    pub fn new(all: bool, client: u32) -> Self {
        Self {
            first: if all { u32::MAX } else { FIRST },
            gap: 0,
            state: client.wrapping_mul(0x9e37_79b9) | 1,
        }
    }

    /// Tells whether the next transaction is timed, and for how many it stands.
    #[inline(always)]
    pub fn choose(&mut self) -> Option<Standing> {
        if self.first == 0 && self.gap > 0 {
            self.gap -= u32::from(self.state != 0);
            return None;
        }
        self.chosen()
    }

    #[inline(never)]
    fn chosen(&mut self) -> Option<Standing> {
        if self.first == u32::MAX {
            return Some(Standing::One);
        }
        if self.first > 0 {
            self.first -= 1;
            return Some(Standing::One);
        }
        // Marsaglia, Xorshift RNGs (2003). The gaps differ, so that no rhythm of the load's own falls in with them.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.gap = self.state % (2 * ONE_IN as u32 - 1);
        Some(Standing::Many)
    }
}

/// The times of one thread's clients, those alone that ended well. Places that nothing was counted at take no memory.
#[derive(Debug, Default)]
pub struct Operations {
    transactions: Box<[Counts]>,
    /// Of the statements, then of [`CONTROLS`].
    steps: Box<[Counts]>,
    /// Likewise, of transactions that stand for [`ONE_IN`].
    sampled: Box<[Counts]>,
    /// Nanoseconds of the transactions that were timed, each as often as it stands for.
    timed: u64,
}

/// The times of all threads' clients in nanoseconds, by place in the plan.
#[derive(Debug, Default)]
pub struct Histograms {
    /// Of transactions that ended well; none where there is one transaction.
    pub transactions: Vec<Latencies>,
    /// Of statements.
    pub statements: Vec<Latencies>,
    /// Of [`CONTROLS`].
    pub controls: Vec<Latencies>,
    /// Of all transactions whose operations were timed, each as often as it stands for.
    pub timed: u64,
}

impl Operations {
    /// Room for a plan of so many transactions and, where their operations are timed, statements.
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

    /// A transaction of a plan with several ended well.
    #[inline(always)]
    pub fn transaction(&mut self, transaction: usize, service: u64) {
        if let Some(counts) = self.transactions.get_mut(transaction) {
            counts.record(service);
        }
    }

    /// A transaction whose operations were timed has ended, well or not.
    pub fn whole(&mut self, service: u64, standing: Standing) {
        self.timed += service
            * match standing {
                Standing::One => 1,
                Standing::Many => ONE_IN,
            };
    }

    /// An operation of a session ended well.
    #[inline(always)]
    pub fn step(&mut self, op: &Op, nanoseconds: u64, standing: Standing) {
        let controls = self.steps.len().saturating_sub(CONTROLS.len());
        let place = match op {
            Op::Execute(execute) => execute.statement,
            Op::Begin(_) => controls,
            Op::Commit => controls + 1,
            Op::Rollback => controls + 2,
            _ => return,
        };
        let steps = match standing {
            Standing::One => &mut self.steps,
            Standing::Many => &mut self.sampled,
        };
        if let Some(counts) = steps.get_mut(place) {
            counts.record(nanoseconds);
        }
    }
}

impl Histograms {
    /// Adds what the clients of a thread took.
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
        })
    }

    #[test]
    fn each_operation_is_counted_at_its_place() {
        let mut operations = Operations::new(2, Some(2));
        operations.transaction(1, 100);
        operations.step(&execute(0), 10, Standing::One);
        operations.step(&execute(1), 20, Standing::One);
        operations.step(&execute(1), 30, Standing::One);
        operations.step(&Op::Commit, 40, Standing::One);
        operations.step(&Op::Jump { to: 0 }, 50, Standing::One);
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
        operations.step(&execute(0), 10, Standing::One);
        operations.step(&execute(0), 20, Standing::Many);
        let mut histograms = Histograms::default();
        histograms.add(operations);
        assert_eq!(histograms.statements[0].len(), 1 + ONE_IN);
    }

    #[test]
    fn one_in_so_many_is_timed_after_the_first() {
        let mut timing = Timing::new(false, 3);
        let drawn = 200_000;
        let stands: u64 = (0..drawn)
            .filter_map(|_| timing.choose())
            .map(|standing| match standing {
                Standing::One => 1,
                Standing::Many => ONE_IN,
            })
            .sum();
        assert!(stands.abs_diff(drawn) < drawn / 50, "{stands} of {drawn}");
        let mut all = Timing::new(true, 0);
        assert!((0..10_000).all(|_| all.choose() == Some(Standing::One)));
        let mut none = Timing::none();
        assert!((0..10_000).all(|_| none.choose().is_none()));
    }

    #[test]
    fn threads_add_up() {
        let mut histograms = Histograms::default();
        for nanoseconds in [10, 20] {
            let mut operations = Operations::new(1, Some(1));
            operations.step(&execute(0), nanoseconds, Standing::One);
            histograms.add(operations);
        }
        assert_eq!(histograms.statements[0].len(), 2);
    }

    #[test]
    fn one_transaction_of_one_statement_takes_no_room() {
        let mut operations = Operations::new(1, None);
        operations.transaction(0, 5);
        operations.step(&execute(0), 5, Standing::One);
        let mut histograms = Histograms::default();
        histograms.add(operations);
        assert!(histograms.transactions.is_empty() && histograms.statements.is_empty());
    }
}
