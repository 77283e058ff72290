//! What the calling thread's sessions asked of the file system and waited for.
//!
//! Each thread has counters of its own: no lock, no shared cache line. Every call is counted. The kinds of call that can
//! be so short that two readings of the clock would show (reads that the operating system's cache answers, file locks)
//! are timed by sample: a timed call stands for all calls since the last timed one, or, where something else than the call
//! made it long, the average one does.

use crate::ThreadCounters;
use dbdyno_probes::Clock;
use std::cell::Cell;

/// The gaps between two timed calls are drawn from 1 to a number that grows with the calls of a thread: one more for every
/// 64 calls, from 1 to 127. So the first calls are timed one by one, and of very many one in 64.
const CALLS: u64 = 64;
const LONGEST_GAP: u64 = 127;

/// The counters of a thread. Times are kept in the clock's own unit.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    pub reads: Sampled,
    pub locks: Sampled,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub write_raw: u64,
    pub syncs: u64,
    pub sync_raw: u64,
    pub file_lock_waits: u64,
    pub file_lock_raw: u64,
    pub mutex_waits: u64,
    pub mutex_raw: u64,
}

thread_local! {
    static KEPT: Cell<Kept> = const { Cell::new(Kept {
        reads: Sampled::new(0x9E37_79B9), locks: Sampled::new(0x85EB_CA6B), read_bytes: 0, writes: 0, write_bytes: 0,
        write_raw: 0, syncs: 0, sync_raw: 0, file_lock_waits: 0, file_lock_raw: 0, mutex_waits: 0, mutex_raw: 0,
    }) };
}

/// Changes the calling thread's counters.
#[inline(always)]
pub fn count<T>(change: impl FnOnce(&mut Kept) -> T) -> T {
    KEPT.with(|cell| {
        // SAFETY: the cell is this thread's, and `change` (all of whose callers are in this crate) does not come back here.
        change(unsafe { &mut *cell.as_ptr() })
    })
}

/// The calling thread's counters since it began.
pub fn counters() -> ThreadCounters {
    let kept = KEPT.get();
    let clock = Clock::get();
    ThreadCounters {
        reads: kept.reads.calls(),
        read_bytes: kept.read_bytes,
        read_ns: clock.nanoseconds(kept.reads.spent()),
        read_wait_ns: clock.nanoseconds(kept.reads.waited()),
        writes: kept.writes,
        write_bytes: kept.write_bytes,
        write_ns: clock.nanoseconds(kept.write_raw),
        syncs: kept.syncs,
        sync_ns: clock.nanoseconds(kept.sync_raw),
        lock_calls: kept.locks.calls(),
        lock_call_ns: clock.nanoseconds(kept.locks.spent()),
        file_lock_waits: kept.file_lock_waits,
        file_lock_ns: clock.nanoseconds(kept.file_lock_raw),
        mutex_waits: kept.mutex_waits,
        mutex_ns: clock.nanoseconds(kept.mutex_raw),
    }
}

/// What a timed call did with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// It computed.
    Computing,
    /// It waited for something, as calls of its kind may.
    Waiting,
    /// Something else than the call made it long.
    Disturbed,
}

/// A kind of call of which all are counted and some are timed.
///
/// A timed call's duration counts once for each call of its gap. The gap is drawn before any of them is seen, and whatever
/// has been seen before, so the sum estimates the duration of all of them without a bias for where in a pattern or a burst
/// of calls the timed ones lie.
///
/// A call in which the thread had to leave its processor to another lasts a thousand times as long as it would have, and by
/// chance a few of those or none are among the timed ones: where the time went would be told by them alone. They count
/// as the average of the others, unless they are most: then what they wait for is what such calls do.
#[derive(Debug, Clone, Copy)]
pub struct Sampled {
    /// Calls up to the last timed one.
    done: u64,
    /// Time of all calls up to the last timed one, estimated.
    raw: u64,
    /// Those of them that stand for themselves: number and time.
    undisturbed: (u64, u64),
    /// The part of that time in calls that waited.
    waited: u64,
    /// How many calls the next timed one stands for.
    gap: u32,
    /// How many of them are still to come, the timed one included.
    left: u32,
    /// The state of the generator of gaps.
    random: u32,
}

impl Sampled {
    const fn new(seed: u32) -> Self {
        Self {
            done: 0,
            raw: 0,
            undisturbed: (0, 0),
            waited: 0,
            gap: 1,
            left: 1,
            random: seed,
        }
    }

    /// A call begins; tells whether it is to be timed.
    #[inline(always)]
    pub fn begin(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// The timed call has ended.
    pub fn timed(&mut self, spent: u64, how: Spent) {
        let (calls, raw) = (u64::from(self.gap), spent * u64::from(self.gap));
        self.done += calls;
        self.raw += raw;
        if how != Spent::Disturbed {
            self.undisturbed.0 += calls;
            self.undisturbed.1 += raw;
        }
        if how == Spent::Waiting {
            self.waited += raw;
        }
        // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.gap = 1 + self.random % (self.done / CALLS).clamp(1, LONGEST_GAP) as u32;
        self.left = self.gap;
    }

    /// Time of all calls up to the last timed one, as it would have been undisturbed.
    fn spent(&self) -> u64 {
        match self.undisturbed {
            (calls, raw) if calls * 2 >= self.done => of_all(raw, calls, self.done),
            _ => self.raw,
        }
    }

    /// The part of it in calls that waited.
    fn waited(&self) -> u64 {
        of_all(self.waited, self.undisturbed.0, self.done)
    }

    /// All calls that have ended.
    fn calls(&self) -> u64 {
        self.done + u64::from(self.gap - self.left)
    }
}

/// What some calls took, made into what all did.
fn of_all(raw: u64, calls: u64, all: u64) -> u64 {
    (u128::from(raw) * u128::from(all) / u128::from(calls.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts calls whose durations repeat; gives the number, the estimated and the true time, and how many were timed.
    fn sample(pattern: &[u64], calls: u64) -> (u64, u64, u64, u64) {
        let mut sampled = Sampled::new(12345);
        let (mut exact, mut timed) = (0, 0);
        for spent in pattern.iter().cycle().take(calls as usize) {
            exact += spent;
            if sampled.begin() {
                timed += 1;
                sampled.timed(*spent, Spent::Computing);
            }
        }
        (sampled.calls(), sampled.spent(), exact, timed)
    }

    /// Five standard errors of an estimate from so many timed calls, as a share of the whole: their weights are drawn from 1
    /// to the longest gap, whose mean square is 4/3 of the square of their mean.
    fn five_errors(pattern: &[u64], timed: u64) -> f64 {
        let mean = pattern.iter().sum::<u64>() as f64 / pattern.len() as f64;
        let square = pattern.iter().map(|spent| (*spent as f64 - mean).powi(2)).sum::<f64>() / pattern.len() as f64;
        5.0 * (4.0 / 3.0 * square / timed as f64).sqrt() / mean
    }

    fn assert_right(pattern: &[u64], calls: u64) {
        let (counted, estimated, exact, timed) = sample(pattern, calls);
        assert_eq!(counted, calls);
        assert!(timed < 20_000, "one in 64 of most: {timed}");
        let error = estimated as f64 / exact as f64 - 1.0;
        // Calls after the last timed one are in none yet.
        let allowed = five_errors(pattern, timed) + 2.0 * LONGEST_GAP as f64 / calls as f64;
        assert!(error.abs() < allowed, "off by {error}, {allowed} allowed");
    }

    proptest! {
        #[test]
        fn each_call_is_counted_and_the_time_estimated(pattern in proptest::collection::vec(100u64..1_000, 1..20)) {
            assert_right(&pattern, 1_000_000);
        }
    }

    #[test]
    fn the_first_calls_are_timed_one_by_one() {
        let (_, estimated, exact, timed) = sample(&[5_000, 100], 128);
        assert_eq!((estimated, timed), (exact, 128));
    }

    #[test]
    fn disturbed_calls_count_as_the_others_unless_they_are_most() {
        let mut sampled = Sampled::new(12345);
        for call in 0..100_000 {
            if sampled.begin() {
                let disturbed = call % 50 == 7;
                let (spent, how) = if disturbed {
                    (4_000_000, Spent::Disturbed)
                } else {
                    (1_000, Spent::Waiting)
                };
                sampled.timed(spent, how);
            }
        }
        assert_eq!(sampled.spent(), sampled.done * 1_000);
        assert_eq!(sampled.waited(), sampled.spent());
        let mut sampled = Sampled::new(12345);
        for _ in 0..100 {
            assert!(sampled.begin());
            sampled.timed(1_000, Spent::Disturbed);
            sampled.gap = 1;
            sampled.left = 1;
        }
        assert_eq!((sampled.spent(), sampled.waited()), (100_000, 0));
    }

    #[test]
    fn fast_and_slow_calls_are_estimated_without_bias_in_turn_and_in_bursts() {
        assert_right(&[100, 50_000], 1_000_000);
        for burst in [10, 50, 200] {
            let fast = std::iter::repeat_n(1_000, 5_000 - burst);
            let pattern: Vec<u64> = fast.chain(std::iter::repeat_n(100_000, burst)).collect();
            assert_right(&pattern, 1_000_000);
        }
    }
}
