//! The counts that are shown while a trial runs and are the accounts when it has ended: each thread's its own to write.

use dbdyno_engine::Rows;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count that one thread writes and others read.
#[derive(Debug, Default)]
struct Count(AtomicU64);

impl Count {
    /// One writer only, so a load and a store make an addition.
    #[inline(always)]
    fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counts of one transaction or statement of the plan, on cache lines that no other thread writes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    ok: Count,
    failed: Count,
    rows: Count,
    changed: Count,
}

/// What one thread's clients have done, by transaction and by statement of the plan.
#[derive(Debug)]
pub struct Live {
    transactions: Box<[Line]>,
    statements: Box<[Line]>,
}

/// What one statement of the plan did, also in transactions that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementCount {
    /// Times it ran without failing.
    pub executions: u64,
    /// Rows it returned.
    pub rows: u64,
    /// Rows it changed.
    pub changed: u64,
}

/// How one transaction of the plan ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransactionCount {
    /// Well.
    pub ok: u64,
    /// With a failure.
    pub failed: u64,
}

/// What transactions did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Statements they ran.
    pub statements: u64,
    /// Rows these returned.
    pub returned: u64,
    /// Rows these changed.
    pub changed: u64,
}

impl Work {
    /// One statement.
    #[inline(always)]
    pub fn of(rows: Rows) -> Self {
        Self {
            statements: 1,
            returned: rows.returned,
            changed: rows.changed,
        }
    }

    /// Counts a statement.
    #[inline(always)]
    pub fn statement(&mut self, rows: Rows) {
        self.add(&Self::of(rows));
    }

    /// Adds another's work.
    pub fn add(&mut self, other: &Self) {
        self.statements += other.statements;
        self.returned += other.returned;
        self.changed += other.changed;
    }

    /// What is left without another's work, which is part of it.
    pub fn without(&self, other: &Self) -> Self {
        Self {
            statements: self.statements - other.statements,
            returned: self.returned - other.returned,
            changed: self.changed - other.changed,
        }
    }
}

impl Live {
    /// Counts of nothing, for a plan of so many transactions and statements.
    pub fn new(transactions: usize, statements: usize) -> Self {
        let lines = |n| (0..n).map(|_| Line::default()).collect();
        Self {
            transactions: lines(transactions),
            statements: lines(statements),
        }
    }

    /// A transaction ended well.
    #[inline(always)]
    pub fn ok(&self, transaction: usize) {
        self.transactions[transaction].ok.add(1);
    }

    /// A transaction failed for good.
    pub fn failed(&self, transaction: usize) {
        self.transactions[transaction].failed.add(1);
    }

    /// A statement ended well.
    #[inline(always)]
    pub fn statement(&self, statement: usize, rows: Rows) {
        let line = &self.statements[statement];
        line.ok.add(1);
        line.rows.add(rows.returned);
        line.changed.add(rows.changed);
    }

    /// How each transaction ended.
    pub fn transactions(&self) -> impl Iterator<Item = TransactionCount> {
        self.transactions.iter().map(|line| TransactionCount {
            ok: line.ok.get(),
            failed: line.failed.get(),
        })
    }

    /// What each statement did.
    pub fn statements(&self) -> impl Iterator<Item = StatementCount> {
        self.statements.iter().map(|line| StatementCount {
            executions: line.ok.get(),
            rows: line.rows.get(),
            changed: line.changed.get(),
        })
    }

    /// What all statements did.
    pub fn work(&self) -> Work {
        self.statements().fold(Work::default(), |sum, count| Work {
            statements: sum.statements + count.executions,
            returned: sum.returned + count.rows,
            changed: sum.changed + count.changed,
        })
    }
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
