//! Counts of transactions by outcome.

use crate::plan::document::FailureKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The accounting of one client or of all clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Accounting {
    /// Transactions that were due.
    pub issued: u64,
    /// Transactions that completed.
    pub ok: u64,
    /// Transactions that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Transactions that were skipped: due, but not begun.
    pub skipped: u64,
    /// Transactions that had not ended.
    pub in_flight: u64,
    /// Retries. A retry is not a transaction by its own count.
    pub retries: u64,
}

impl Accounting {
    /// All failures.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Adds another accounting.
    pub fn add(&mut self, other: &Self) {
        self.issued += other.issued;
        self.ok += other.ok;
        self.skipped += other.skipped;
        self.in_flight += other.in_flight;
        self.retries += other.retries;
        for (kind, count) in &other.failed {
            *self.failed.entry(*kind).or_default() += count;
        }
    }
}
