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

pub use dbdyno_protocol::event::Accounting;

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

/// Checks that the counts add up.
pub fn check(accounting: &Accounting) -> Result<(), Unbalanced> {
    let failed = accounting.failures();
    if accounting.issued == accounting.ok + failed + accounting.skipped + accounting.in_flight {
        return Ok(());
    }
    Err(Unbalanced {
        issued: accounting.issued,
        ok: accounting.ok,
        failed,
        skipped: accounting.skipped,
        in_flight: accounting.in_flight,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_protocol::plan::document::FailureKind;
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
            prop_assert!(check(&sum).is_ok());
            prop_assert_eq!(sum.issued, a.issued + b.issued);
            prop_assert_eq!(sum.failures(), a.failures() + b.failures());
        }

        #[test]
        fn a_lost_transaction_is_noticed(accounting in accounting(), lost in 1u64..10) {
            let mut wrong = accounting;
            wrong.issued += lost;
            prop_assert!(check(&wrong).is_err());
        }
    }
}
