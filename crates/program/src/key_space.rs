//! Keys that all clients of a trial insert, in the order in which they were issued.
//!
//! A key is *acknowledged* if its transaction and those of all earlier keys have ended. A draw of the latest keys uses
//! acknowledged ones only, so the rows that it looks for exist. The keys of transactions that were rolled back are issued
//! again. The keys of failed transactions are the exception: they count as acknowledged, because waiting would stop the
//! growth.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Keys, counted from 0.
#[derive(Debug, Default)]
pub struct KeySpace {
    issued: AtomicU64,
    acknowledged: AtomicU64,
    /// Keys whose transactions ended before those of earlier keys.
    ended: Mutex<BTreeSet<u64>>,
    /// Keys of transactions that were rolled back, and their number.
    unused: Mutex<BTreeSet<u64>>,
    unused_count: AtomicUsize,
}

impl KeySpace {
    /// A space that begins with keys that an earlier trial issued.
    pub fn starting_at(first: u64) -> Self {
        Self {
            issued: AtomicU64::new(first),
            acknowledged: AtomicU64::new(first),
            ..Self::default()
        }
    }

    /// A new key.
    pub fn issue(&self) -> u64 {
        if self.unused_count.load(Ordering::Relaxed) > 0 {
            let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(key) = unused.pop_first() {
                self.unused_count.store(unused.len(), Ordering::Relaxed);
                return key;
            }
        }
        self.issued.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes back a key that was not inserted.
    fn take_back(&self, key: u64) {
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.insert(key);
        self.unused_count.store(unused.len(), Ordering::Relaxed);
    }

    /// Records that the transaction of a key has ended.
    pub fn end(&self, key: u64) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.insert(key);
        let mut first = self.acknowledged.load(Ordering::Relaxed);
        while ended.remove(&first) {
            first += 1;
        }
        self.acknowledged.store(first, Ordering::Release);
    }

    /// Number of acknowledged keys.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    /// Number of issued keys.
    pub fn issued(&self) -> u64 {
        self.issued.load(Ordering::Relaxed)
    }
}

/// The keys that a client's current transaction has taken.
#[derive(Debug, Default)]
pub struct Taken {
    keys: Vec<(usize, u64)>,
    /// The number of keys that were taken before the last rollback.
    rolled_back: usize,
    /// Keys that a failed attempt has taken, for the next attempt.
    again: Vec<(usize, u64)>,
}

impl Taken {
    /// A key of the space in this slot: one that a failed attempt left, otherwise a new one.
    pub(crate) fn take(&mut self, slot: usize, space: &KeySpace) -> u64 {
        let left = self.again.iter().position(|(other, _)| *other == slot);
        let key = left.map_or_else(|| space.issue(), |at| self.again.remove(at).1);
        self.keys.push((slot, key));
        key
    }

    /// Keeps the keys of a failed attempt for the next one.
    pub(crate) fn retry(&mut self) {
        self.rolled_back = 0;
        self.again.append(&mut self.keys);
        self.again.sort_unstable();
    }

    /// Records a rollback: the keys so far were not inserted.
    pub(crate) fn roll_back(&mut self) {
        self.rolled_back = self.keys.len();
    }

    /// Ends the transaction.
    pub(crate) fn end(&mut self, spaces: &[std::sync::Arc<KeySpace>]) {
        for (slot, key) in self.keys.drain(..std::mem::take(&mut self.rolled_back)) {
            if let Some(space) = spaces.get(slot) {
                space.take_back(key);
            }
        }
        for (slot, key) in self.keys.drain(..).chain(self.again.drain(..)) {
            if let Some(space) = spaces.get(slot) {
                space.end(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn a_key_is_acknowledged_after_all_earlier_ones(mut order in Just((0u64..200).collect::<Vec<_>>()).prop_shuffle()) {
            let space = KeySpace::starting_at(5);
            let keys: Vec<u64> = (0..200).map(|_| space.issue()).collect();
            prop_assert_eq!(keys, (5..205).collect::<Vec<_>>());
            let mut done = BTreeSet::new();
            while let Some(key) = order.pop() {
                space.end(key + 5);
                done.insert(key);
                let first_missing = (0..).find(|key| !done.contains(key)).expect("one is missing");
                prop_assert_eq!(space.acknowledged(), first_missing + 5);
            }
        }
    }

    #[test]
    fn an_attempt_takes_the_keys_of_the_failed_one() {
        let spaces = [Arc::new(KeySpace::default()), Arc::new(KeySpace::default())];
        let mut taken = Taken::default();
        let two = |taken: &mut Taken| [0, 1, 0].map(|slot| taken.take(slot, &spaces[slot]));
        assert_eq!(two(&mut taken), [0, 0, 1]);
        taken.retry();
        assert_eq!(two(&mut taken), [0, 0, 1]);
        assert_eq!(spaces[0].acknowledged(), 0);
        taken.end(&spaces);
        assert_eq!((spaces[0].acknowledged(), spaces[1].acknowledged()), (2, 1));
        assert_eq!(two(&mut taken), [2, 1, 3]);
    }

    #[test]
    fn clients_share_the_keys() {
        let space = KeySpace::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| space.end(space.issue())));
            }
        });
        assert_eq!((space.issued(), space.acknowledged()), (4000, 4000));
    }
    #[test]
    fn keys_that_were_rolled_back_are_issued_again() {
        let spaces = [Arc::new(KeySpace::default())];
        let (mut one, mut other) = (Taken::default(), Taken::default());
        assert_eq!([one.take(0, &spaces[0]), other.take(0, &spaces[0])], [0, 1]);
        one.roll_back();
        assert_eq!(one.take(0, &spaces[0]), 2, "taken after the rollback");
        one.end(&spaces);
        other.end(&spaces);
        assert_eq!(spaces[0].acknowledged(), 0);
        assert_eq!([other.take(0, &spaces[0]), other.take(0, &spaces[0])], [0, 3]);
        other.end(&spaces);
        assert_eq!(spaces[0].acknowledged(), 4);
    }
}
