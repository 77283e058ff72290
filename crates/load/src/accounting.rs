//! Transaction accounting of a trial. Every issued transaction is in exactly one of the other counts:
//!
//! ```text
//! issued = ok + failed + skipped + in_flight
//! ```
//!
//! *issued*: in a closed loop, transactions begun within the window; in an open loop, transactions scheduled within it.
//! *ok*: completed within the window. *failed*: failed within the window after all retries, by kind. *skipped*:
//! scheduled within the window but not begun when it ended (open loop only). *in_flight*: begun, but not completed when
//! the window ended.

use dbdyno_plan::document::FailureKind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Transaction counts of one client, or of all clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Accounting {
    /// Transactions that were due.
    pub issued: u64,
    /// Transactions that completed.
    pub ok: u64,
    /// Transactions that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Transactions that were due but never begun.
    pub skipped: u64,
    /// Transactions still running when the window ended.
    pub in_flight: u64,
    /// Retries. A retry is not a transaction of its own.
    pub retries: u64,
}

/// The accounting of a trial doesn't add up. This is a bug in the worker, so the trial has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the accounting does not balance: {issued} issued, but {ok} ok + {failed} failed + {skipped} skipped + {in_flight} in flight"
)]
pub struct Unbalanced {
    issued: u64,
    ok: u64,
    failed: u64,
    skipped: u64,
    in_flight: u64,
}

impl Accounting {
    /// Failures of all kinds.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Adds the counts of `other`.
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

    /// Checks that the counts add up.
    pub fn check(&self) -> Result<(), Unbalanced> {
        let failed = self.failures();
        if self.issued == self.ok + failed + self.skipped + self.in_flight {
            return Ok(());
        }
        Err(Unbalanced {
            issued: self.issued,
            ok: self.ok,
            failed,
            skipped: self.skipped,
            in_flight: self.in_flight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accounting() -> impl Strategy<Value = Accounting> {
        let failed =
            proptest::collection::btree_map(proptest::sample::select(FailureKind::ALL.to_vec()), 0u64..1000, 0..7);
        (0u64..1_000_000, failed, 0u64..1000, 0u64..1000, 0u64..1000).prop_map(
            |(ok, failed, skipped, in_flight, retries)| {
                let issued = ok + failed.values().sum::<u64>() + skipped + in_flight;
                Accounting {
                    issued,
                    ok,
                    failed,
                    skipped,
                    in_flight,
                    retries,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn balanced_accounting_stay_balanced_when_added(a in accounting(), b in accounting()) {
            let mut sum = a.clone();
            sum.add(&b);
            prop_assert!(sum.check().is_ok());
            prop_assert_eq!(sum.issued, a.issued + b.issued);
            prop_assert_eq!(sum.failures(), a.failures() + b.failures());
        }

        #[test]
        fn a_lost_transaction_is_noticed(accounting in accounting(), lost in 1u64..10) {
            let mut wrong = accounting;
            wrong.issued += lost;
            prop_assert!(wrong.check().is_err());
        }
    }
}
