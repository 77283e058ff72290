//! Counters of the calling thread's file system calls and waits.
//!
//! Each thread has its own counters, without locks or shared cache lines. Every call is counted. Reads and file locks
//! can be so short that timing each would be measurable, so only a sample is timed. A timed call stands for all calls
//! since the last timed one. If its thread lost the CPU during the call, the recent average is used instead.

use dbdyno_engine::probe::ThreadCounters;
use dbdyno_probes::Clock;
use std::cell::Cell;

/// The gap between two timed calls is random, from 1 to a maximum that grows by one per 64 calls of a thread, up to
/// 127. So the first calls are all timed, and in the long run one in 64.
const CALLS: u64 = 64;
const LONGEST_GAP: u64 = 127;

/// Number of timed calls in the moving average: each new one has the weight 1/16.
const LATELY: u64 = 16;

/// The counters of a thread. Times are in the clock's unit.
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
        // SAFETY: the cell belongs to this thread, and `change` (whose callers are all in this crate) doesn't call this
        // function.
        change(unsafe { &mut *cell.as_ptr() })
    })
}

/// The calling thread's counters since it started.
pub fn counters() -> ThreadCounters {
    let kept = KEPT.get();
    let clock = Clock::get();
    ThreadCounters {
        reads: kept.reads.calls(),
        read_bytes: kept.read_bytes,
        read_ns: clock.nanoseconds(kept.reads.raw),
        read_wait_ns: clock.nanoseconds(kept.reads.waited),
        writes: kept.writes,
        write_bytes: kept.write_bytes,
        write_ns: clock.nanoseconds(kept.write_raw),
        syncs: kept.syncs,
        sync_ns: clock.nanoseconds(kept.sync_raw),
        lock_calls: kept.locks.calls(),
        lock_call_ns: clock.nanoseconds(kept.locks.raw),
        lock_wait_ns: clock.nanoseconds(kept.locks.waited),
        file_lock_waits: kept.file_lock_waits,
        file_lock_ns: clock.nanoseconds(kept.file_lock_raw),
        mutex_waits: kept.mutex_waits,
        mutex_ns: clock.nanoseconds(kept.mutex_raw),
    }
}

/// How a timed call spent its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Computing.
    Computing,
    /// Waiting, as calls of its kind may.
    Waiting,
    /// It was delayed by something unrelated.
    Disturbed,
}

/// A kind of call that is always counted and sometimes timed.
///
/// The duration of a timed call counts once for each call of its gap. The gap is drawn in advance, independently of the
/// durations, so the sum is an unbiased estimate of the total duration, whatever the pattern of calls.
///
/// A call during which the thread was preempted takes a thousand times as long as it would otherwise. Whether the
/// sample contains a few or none of these is random, and they would dominate the result. So each counts with the recent
/// average.
#[derive(Debug, Clone, Copy)]
pub struct Sampled {
    /// Calls up to the last timed one.
    done: u64,
    /// Time of all calls up to the last timed one, estimated.
    raw: u64,
    /// Part of `raw` in calls that waited.
    waited: u64,
    /// Moving average of a call's duration; 0 before the first.
    usual: u64,
    /// Number of calls that the next timed one represents.
    gap: u32,
    /// Calls until the next timed one, including it.
    left: u32,
    /// State of the random generator for the gaps.
    random: u32,
}

impl Sampled {
    const fn new(seed: u32) -> Self {
        Self {
            done: 0,
            raw: 0,
            waited: 0,
            usual: 0,
            gap: 1,
            left: 1,
            random: seed,
        }
    }

    /// Begins a call. Returns whether to time it.
    #[inline(always)]
    pub fn begin(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Ends a timed call.
    pub fn timed(&mut self, spent: u64, how: Spent) {
        let calls = u64::from(self.gap);
        self.done += calls;
        // The first call initializes the average.
        let usual = if self.usual > 0 { self.usual } else { spent };
        let spent = if how == Spent::Disturbed {
            usual
        } else {
            self.usual = (usual * (LATELY - 1) + spent) / LATELY;
            spent
        };
        self.raw += spent * calls;
        if how == Spent::Waiting {
            self.waited += spent * calls;
        }
        // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.gap = 1 + self.random % (self.done / CALLS).clamp(1, LONGEST_GAP) as u32;
        self.left = self.gap;
    }

    /// Completed calls.
    fn calls(&self) -> u64 {
        self.done + u64::from(self.gap - self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts calls with repeating durations. Returns their number, the estimated and the true time, and the number of
    /// timed calls.
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
        (sampled.calls(), sampled.raw, exact, timed)
    }

    /// Five standard errors of an estimate from `timed` calls, relative to the total. Weights are uniform from 1 to the
    /// longest gap, so their mean square is 4/3 of the squared mean.
    fn five_errors(pattern: &[u64], timed: u64) -> f64 {
        let mean = pattern.iter().sum::<u64>() as f64 / pattern.len() as f64;
        let square = pattern.iter().map(|spent| (*spent as f64 - mean).powi(2)).sum::<f64>() / pattern.len() as f64;
        5.0 * (4.0 / 3.0 * square / timed as f64).sqrt() / mean
    }

    fn assert_right(pattern: &[u64], calls: u64) {
        let (counted, estimated, exact, timed) = sample(pattern, calls);
        assert_eq!(counted, calls);
        assert!(timed < 20_000, "about one in 64: {timed}");
        let error = estimated as f64 / exact as f64 - 1.0;
        // Calls after the last timed one are not included yet.
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
    fn disturbed_calls_count_with_the_recent_average() {
        let mut sampled = Sampled::new(12345);
        let mut run = |usual: u64, how: Spent| {
            let before = (sampled.done, sampled.raw, sampled.waited);
            for call in 0..100_000 {
                if sampled.begin() {
                    let disturbed = call % 50 == 7;
                    let (spent, how) = if disturbed {
                        (4_000_000, Spent::Disturbed)
                    } else {
                        (usual, how)
                    };
                    sampled.timed(spent, how);
                }
            }
            let calls = (sampled.done - before.0) as f64;
            (
                (sampled.raw - before.1) as f64 / calls,
                (sampled.waited - before.2) as f64 / calls,
            )
        };
        let (each, waited) = run(1_000, Spent::Computing);
        assert!((each - 1_000.0).abs() < 1.0, "{each}");
        assert!(waited.abs() < f64::EPSILON);
        // The average adapts.
        let (each, waited) = run(50_000, Spent::Waiting);
        assert!((49_000.0..=50_000.0).contains(&each), "{each}");
        assert!((45_000.0..=50_000.0).contains(&waited), "{waited}");
    }

    #[test]
    fn a_disturbed_first_call_counts_with_its_own_time() {
        let mut sampled = Sampled::new(12345);
        assert!(sampled.begin());
        sampled.timed(7, Spent::Disturbed);
        assert_eq!((sampled.raw, sampled.waited), (7, 0));
    }

    #[test]
    fn estimates_are_unbiased_for_alternating_calls_and_bursts() {
        assert_right(&[100, 50_000], 1_000_000);
        for burst in [10, 50, 200] {
            let fast = std::iter::repeat_n(1_000, 5_000 - burst);
            let pattern: Vec<u64> = fast.chain(std::iter::repeat_n(100_000, burst)).collect();
            assert_right(&pattern, 1_000_000);
        }
    }
}
