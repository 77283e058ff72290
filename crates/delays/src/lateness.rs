//! Precise delays: never shorter than requested, and hardly longer.
//!
//! The kernel wakes a sleeping thread late: by its timer slack, which a thread can set, and by the time it takes to
//! schedule the thread. So a sleep ends early by the lateness seen recently, and the remaining time is spent spinning.
//! A wait shorter than that lateness only spins.

use std::sync::atomic::{AtomicU32, Ordering};

/// Recent wake-up lateness in nanoseconds. It may be shared between threads and processes: if two write at once, one
/// observation is lost.
///
/// Mean and mean deviation are estimated as TCP estimates round-trip times (Jacobson, "Congestion Avoidance and
/// Control", 1988).
#[repr(C)]
#[derive(Debug)]
pub struct Lateness {
    /// 0 until the first sleep.
    mean: AtomicU32,
    deviation: AtomicU32,
}

/// Margin before the first sleep.
const INITIAL_MARGIN: u32 = 30_000;

/// Later wake-ups are attributed to waiting for a CPU, not to the timer.
const MAX_LATENESS: u32 = 60_000;

impl Lateness {
    /// Creates an estimate without observations.
    pub const fn new() -> Self {
        Self {
            mean: AtomicU32::new(0),
            deviation: AtomicU32::new(0),
        }
    }

    /// Nanoseconds by which a sleep should end early.
    pub fn margin(&self) -> u64 {
        match self.mean.load(Ordering::Relaxed) {
            0 => u64::from(INITIAL_MARGIN),
            mean => u64::from((mean + 2 * self.deviation.load(Ordering::Relaxed)).min(MAX_LATENESS)),
        }
    }

    /// Records a wake-up that was `late` nanoseconds late.
    pub fn note(&self, late: u64) {
        let late = u32::try_from(late).unwrap_or(MAX_LATENESS).clamp(1, MAX_LATENESS);
        let (mean, deviation) = match self.mean.load(Ordering::Relaxed) {
            0 => (late, late / 2),
            mean => {
                let deviation = self.deviation.load(Ordering::Relaxed);
                ((7 * mean + late) / 8, (3 * deviation + late.abs_diff(mean)) / 4)
            }
        };
        self.mean.store(mean.max(1), Ordering::Relaxed);
        self.deviation.store(deviation, Ordering::Relaxed);
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

/// Delays the calling thread by the given nanoseconds of a clock and returns how many passed. Signals don't shorten it.
pub fn delay(nanoseconds: u64, lateness: &Lateness, now: impl Fn() -> u64) -> u64 {
    let start = now();
    let end = start.saturating_add(nanoseconds);
    let until = end.saturating_sub(lateness.margin());
    let mut current = start;
    if current < until {
        least_slack();
        while current < until {
            sleep(until - current);
            current = now();
        }
        usual_slack();
        lateness.note(current - until);
    }
    spin_until(end, current, now) - start
}

/// Keeps the calling thread's CPU busy for the given nanoseconds of a clock and returns how many passed.
pub fn spin(nanoseconds: u64, now: impl Fn() -> u64) -> u64 {
    let start = now();
    spin_until(start.saturating_add(nanoseconds), start, now) - start
}

fn spin_until(end: u64, mut current: u64, now: impl Fn() -> u64) -> u64 {
    while current < end {
        std::hint::spin_loop();
        current = now();
    }
    current
}

fn sleep(nanoseconds: u64) {
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the pointer is to a live value.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

/// Sets the calling thread's timer slack to 1 ns.
fn least_slack() {
    // SAFETY: the call takes a number and only changes the calling thread's timer slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Restores the thread's default timer slack.
fn usual_slack() {
    // SAFETY: as above.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0 as libc::c_ulong) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn clock() -> impl Fn() -> u64 {
        let start = Instant::now();
        move || start.elapsed().as_nanos() as u64
    }

    #[test]
    fn a_delay_is_never_too_short() {
        let (lateness, now) = (Lateness::new(), clock());
        for nanoseconds in [0, 1, 1_000, 50_000, 200_000, 2_000_000] {
            for _ in 0..5 {
                let before = now();
                let measured = delay(nanoseconds, &lateness, &now);
                let passed = now() - before;
                assert!(
                    measured >= nanoseconds && passed >= measured,
                    "{nanoseconds}: {measured}, {passed}"
                );
            }
        }
        assert!(spin(10_000, &now) >= 10_000);
    }

    #[test]
    fn a_delay_follows_a_clock_that_stops() {
        // It advances at half speed, as if the other half of the time were suspended.
        let real = clock();
        let own = || real() / 2;
        let before = real();
        assert!(delay(1_000_000, &Lateness::new(), own) >= 1_000_000);
        assert!(real() - before >= 2_000_000 - 2);
    }

    #[test]
    fn the_margin_follows_how_late_sleepers_woke_up() {
        let lateness = Lateness::new();
        assert_eq!(lateness.margin(), u64::from(INITIAL_MARGIN));
        for _ in 0..50 {
            lateness.note(10_000);
        }
        assert!((9_000..12_000).contains(&lateness.margin()), "{}", lateness.margin());
        // This thread waited for a CPU.
        lateness.note(50_000_000);
        assert!(lateness.margin() <= u64::from(MAX_LATENESS));
        for _ in 0..50 {
            lateness.note(10_000);
        }
        assert!(lateness.margin() < 12_000);
        for _ in 0..200 {
            lateness.note(0);
        }
        assert!(lateness.margin() < 10, "{}", lateness.margin());
    }
}
