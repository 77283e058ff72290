//! Where each transaction that was due went.

use crate::plan::document::FailureKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The accounts of one client, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Accounting {
    /// Transactions that were due.
    pub issued: u64,
    /// Of them, those that ended well.
    pub ok: u64,
    /// Those that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Those that were skipped: due, and not begun.
    pub skipped: u64,
    /// Those not ended.
    pub in_flight: u64,
    /// Further tries of transactions; no transaction of their own.
    pub retries: u64,
}

impl Accounting {
    /// All failures.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Adds another's accounts.
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
