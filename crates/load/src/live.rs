//! Counters that are shown while a trial runs and become its accounting at the end. Each thread writes its own.

use dbdyno_engine::Rows;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count that one thread writes and others read.
#[derive(Debug, Default)]
struct Count(AtomicU64);

impl Count {
    /// With a single writer, a load and a store are enough; no atomic addition is needed.
    #[inline(always)]
    fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one transaction or statement of the plan, on cache lines that no other thread writes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    ok: Count,
    failed: Count,
    rows: Count,
    changed: Count,
}

/// The work of one thread's clients, by transaction and by statement of the plan.
#[derive(Debug)]
pub struct Live {
    transactions: Box<[Line]>,
    statements: Box<[Line]>,
}

/// Work of one statement of the plan, including failed transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementCount {
    /// Times it ran without failing.
    pub executions: u64,
    /// Rows it returned.
    pub rows: u64,
    /// Rows it changed.
    pub changed: u64,
}

/// Results of one transaction of the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransactionCount {
    /// Transactions that completed.
    pub ok: u64,
    /// Transactions that failed.
    pub failed: u64,
}

/// Work done by transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Statements executed.
    pub statements: u64,
    /// Rows returned.
    pub returned: u64,
    /// Rows changed.
    pub changed: u64,
}

impl Work {
    /// The work of one statement.
    #[inline(always)]
    pub fn of(rows: Rows) -> Self {
        Self {
            statements: 1,
            returned: rows.returned,
            changed: rows.changed,
        }
    }

    /// Adds a statement.
    #[inline(always)]
    pub fn statement(&mut self, rows: Rows) {
        self.add(&Self::of(rows));
    }

    /// Adds the work of `other`.
    pub fn add(&mut self, other: &Self) {
        self.statements += other.statements;
        self.returned += other.returned;
        self.changed += other.changed;
    }

    /// Subtracts the work of `other`, which must be part of this.
    pub fn without(&self, other: &Self) -> Self {
        Self {
            statements: self.statements - other.statements,
            returned: self.returned - other.returned,
            changed: self.changed - other.changed,
        }
    }
}

impl Live {
    /// Zeroed counters for a plan with this many transactions and statements.
    pub fn new(transactions: usize, statements: usize) -> Self {
        let lines = |n| (0..n).map(|_| Line::default()).collect();
        Self {
            transactions: lines(transactions),
            statements: lines(statements),
        }
    }

    /// Counts a completed transaction.
    #[inline(always)]
    pub fn ok(&self, transaction: usize) {
        self.transactions[transaction].ok.add(1);
    }

    /// Counts a transaction that failed after all retries.
    pub fn failed(&self, transaction: usize) {
        self.transactions[transaction].failed.add(1);
    }

    /// Counts a completed statement.
    #[inline(always)]
    pub fn statement(&self, statement: usize, rows: Rows) {
        let line = &self.statements[statement];
        line.ok.add(1);
        line.rows.add(rows.returned);
        line.changed.add(rows.changed);
    }

    /// Results of each transaction.
    pub fn transactions(&self) -> impl Iterator<Item = TransactionCount> {
        self.transactions.iter().map(|line| TransactionCount {
            ok: line.ok.get(),
            failed: line.failed.get(),
        })
    }

    /// Work of each statement.
    pub fn statements(&self) -> impl Iterator<Item = StatementCount> {
        self.statements.iter().map(|line| StatementCount {
            executions: line.ok.get(),
            rows: line.rows.get(),
            changed: line.changed.get(),
        })
    }

    /// Work of all statements.
    pub fn work(&self) -> Work {
        self.statements().fold(Work::default(), |sum, count| Work {
            statements: sum.statements + count.executions,
            returned: sum.returned + count.rows,
            changed: sum.changed + count.changed,
        })
    }
}

/// Sum of all threads' [`Live`] counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Completed transactions.
    pub ok: u64,
    /// Failed transactions.
    pub failed: u64,
    /// Statements executed, including unfinished transactions.
    pub statements: u64,
    /// Rows returned or changed.
    pub rows: u64,
}

impl LiveCounts {
    /// Sums the counters of all threads.
    pub fn read(live: &[Live]) -> Self {
        let mut sum = Self::default();
        for live in live {
            for count in live.transactions() {
                sum.ok += count.ok;
                sum.failed += count.failed;
            }
            let work = live.work();
            sum.statements += work.statements;
            sum.rows += work.returned + work.changed;
        }
        sum
    }

    /// The increase since an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ok: self.ok.saturating_sub(earlier.ok),
            failed: self.failed.saturating_sub(earlier.failed),
            statements: self.statements.saturating_sub(earlier.statements),
            rows: self.rows.saturating_sub(earlier.rows),
        }
    }
}
