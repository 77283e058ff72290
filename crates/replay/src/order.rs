//! The order of a replay without times: a unit (a transaction, or a statement outside of one) begins when all units that
//! had ended before it in the recording have ended. Statements within a transaction wait for no other session, so no
//! session waits while it holds locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// A unit: its recorded end in microseconds, and the number of its first statement.
pub type Unit = (u64, u64);

/// The units that have not ended.
#[derive(Debug, Default)]
pub struct Order(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    unfinished: BTreeSet<Unit>,
    /// By recorded start, and number of the first statement.
    waiting: BTreeMap<(u64, u64), Sender<()>>,
}

impl Order {
    /// Adds a unit, in the order of recorded starts. Returns what it must wait for.
    pub fn add(&self, start_us: u64, unit: Unit) -> Option<Receiver<()>> {
        let mut state = self.state();
        let must_wait = state.unfinished.first().is_some_and(|first| first.0 < start_us);
        state.unfinished.insert(unit);
        must_wait.then(|| {
            let (sender, receiver) = channel();
            state.waiting.insert((start_us, unit.1), sender);
            receiver
        })
    }

    /// A unit has ended: others may begin.
    pub fn finish(&self, unit: Unit) {
        let mut state = self.state();
        state.unfinished.remove(&unit);
        let first_end = state.unfinished.first().map_or(u64::MAX, |first| first.0);
        while let Some(first) = state.waiting.first_entry()
            && first.key().0 <= first_end
        {
            // A session that has failed doesn't wait any more.
            let _ = first.remove().send(());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_waits_for_those_that_had_ended_before() {
        let order = Order::default();
        assert!(order.add(0, (10, 0)).is_none());
        assert!(order.add(5, (20, 1)).is_none(), "they overlapped");
        let mut third = order.add(12, (30, 2)).expect("the first had ended");
        let mut fourth = order.add(25, (40, 3)).expect("two had ended");
        order.finish((10, 0));
        assert!(third.try_recv().is_ok() && fourth.try_recv().is_err());
        order.finish((20, 1));
        assert!(fourth.try_recv().is_ok(), "the third overlapped with it");
    }
}
