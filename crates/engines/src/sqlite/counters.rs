//! What the calling thread's sessions asked of the file system and waited for.
//!
//! Each thread has counters of its own: no lock, no shared cache line. Every call is counted. The kinds of call that can
//! be so short that two readings of the clock would show (reads that the operating system's cache answers, file locks)
//! are timed by sample: a timed call stands for all calls since the last timed one.

use crate::ThreadCounters;
use dbdyno_probes::Clock;
use std::cell::Cell;

/// A call that took longer than this many nanoseconds has the next one timed too: it went to the device.
const SLOW_NS: u64 = 30_000;

/// The gaps between two timed calls are drawn from 1 to a number that grows with the calls of a thread, one for every
/// [`CALLS`], between these: so no pattern of calls keeps step with them, and few calls are timed as closely as they need
/// while many do not pay for more than they need.
const LONGEST_GAP: (u64, u64) = (31, 127);
const CALLS: u64 = 64;

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
        read_ns: clock.nanoseconds(kept.reads.raw),
        writes: kept.writes,
        write_bytes: kept.write_bytes,
        write_ns: clock.nanoseconds(kept.write_raw),
        syncs: kept.syncs,
        sync_ns: clock.nanoseconds(kept.sync_raw),
        lock_calls: kept.locks.calls(),
        lock_call_ns: clock.nanoseconds(kept.locks.raw),
        file_lock_waits: kept.file_lock_waits,
        file_lock_ns: clock.nanoseconds(kept.file_lock_raw),
        mutex_waits: kept.mutex_waits,
        mutex_ns: clock.nanoseconds(kept.mutex_raw),
    }
}

/// A kind of call of which all are counted and some are timed.
///
/// A timed call's duration counts once for each call of its gap. The gap is drawn before any of them is seen, so the sum
/// estimates the duration of all of them without a bias for where in a repeating pattern of calls the timed ones lie.
#[derive(Debug, Clone, Copy)]
pub struct Sampled {
    /// Calls up to the last timed one.
    done: u64,
    /// Time of all calls up to the last timed one, estimated.
    raw: u64,
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
    pub fn timed(&mut self, spent: u64, slow: u64) {
        self.done += u64::from(self.gap);
        self.raw += spent * u64::from(self.gap);
        self.gap = if spent > slow {
            1
        } else {
            // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            1 + self.random % (self.done / CALLS).clamp(LONGEST_GAP.0, LONGEST_GAP.1) as u32
        };
        self.left = self.gap;
    }

    /// All calls that have ended.
    fn calls(&self) -> u64 {
        self.done + u64::from(self.gap - self.left)
    }
}

/// What counts as slow, in the clock's own unit.
pub fn slow(clock: Clock) -> u64 {
    clock.raw_of(SLOW_NS)
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
                sampled.timed(*spent, 1_000);
            }
        }
        (sampled.calls(), sampled.raw, exact, timed)
    }

    proptest! {
        #[test]
        fn each_call_is_counted_and_the_time_estimated(pattern in proptest::collection::vec(100u64..1_000, 1..20)) {
            let (calls, estimated, exact, timed) = sample(&pattern, 1_000_000);
            prop_assert_eq!(calls, 1_000_000);
            prop_assert!(timed < 20_000, "one in sixteen at first, then one in 64: {}", timed);
            let error = estimated as f64 / exact as f64 - 1.0;
            prop_assert!(error.abs() < 0.03, "off by {}", error);
        }
    }

    #[test]
    fn slow_calls_are_timed_one_by_one() {
        let (_, estimated, exact, timed) = sample(&[5_000], 1_000);
        assert_eq!((estimated, timed), (exact, 1_000));
    }

    #[test]
    fn fast_and_slow_calls_in_turn_are_estimated_without_bias() {
        let (_, estimated, exact, _) = sample(&[100, 50_000], 400_000);
        let error = estimated as f64 / exact as f64 - 1.0;
        assert!(error.abs() < 0.03, "off by {error}");
    }
}
