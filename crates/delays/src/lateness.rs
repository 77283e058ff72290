//! Waiting for a given time, no shorter and hardly longer.
//!
//! The kernel wakes a sleeper late: by the slack of its timers, which a thread may set, and by the time that it takes to
//! put a thread on a processor. So a sleep ends by so much earlier as sleepers lately woke up late, and what is left is
//! waited awake. A wait that is no longer than that is waited awake from its start.

use std::sync::atomic::{AtomicU32, Ordering};

/// How late sleepers lately woke up; nanoseconds. It may be shared between threads and processes: what is lost when two write
/// at once is one of many observations.
///
/// Mean and mean deviation are estimated as TCP does for round trips (Jacobson, "Congestion Avoidance and Control", 1988).
#[repr(C)]
#[derive(Debug)]
pub struct Lateness {
    /// 0: nobody has slept yet.
    mean: AtomicU32,
    deviation: AtomicU32,
}

/// Before anybody has slept.
const AT_FIRST: u32 = 30_000;

/// Who woke up later than this waited for a processor, which is none of the timer's doing.
const MOST: u32 = 60_000;

impl Lateness {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            mean: AtomicU32::new(0),
            deviation: AtomicU32::new(0),
        }
    }

    /// By how many nanoseconds a sleep is to end early.
    pub fn margin(&self) -> u64 {
        match self.mean.load(Ordering::Relaxed) {
            0 => u64::from(AT_FIRST),
            mean => u64::from((mean + 2 * self.deviation.load(Ordering::Relaxed)).min(MOST)),
        }
    }

    /// A sleeper woke up so many nanoseconds late.
    pub fn note(&self, late: u64) {
        let late = u32::try_from(late).unwrap_or(MOST).clamp(1, MOST);
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

/// Holds up the calling thread for so many nanoseconds by a clock, and gives how many passed. Signals that come meanwhile do
/// not shorten it.
pub fn hold(nanoseconds: u64, lateness: &Lateness, now: impl Fn() -> u64) -> u64 {
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

/// Keeps the calling thread's processor busy for so many nanoseconds by a clock, and gives how many passed.
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

/// The kernel may put off the calling thread's timers by a nanosecond only.
fn least_slack() {
    // SAFETY: it takes a number and changes nothing but the calling thread's slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// It may put them off by what the thread began with.
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
    fn a_delay_is_never_shorter_than_it_says() {
        let (lateness, now) = (Lateness::new(), clock());
        for nanoseconds in [0, 1, 1_000, 50_000, 200_000, 2_000_000] {
            for _ in 0..5 {
                let before = now();
                let told = hold(nanoseconds, &lateness, &now);
                let passed = now() - before;
                assert!(told >= nanoseconds && passed >= told, "{nanoseconds}: {told}, {passed}");
            }
        }
        assert!(spin(10_000, &now) >= 10_000);
    }

    #[test]
    fn a_clock_that_stands_still_is_waited_for() {
        // It shows half of the time that has passed, as if the other half belonged to somebody else.
        let real = clock();
        let own = || real() / 2;
        let before = real();
        assert!(hold(1_000_000, &Lateness::new(), own) >= 1_000_000);
        assert!(real() - before >= 2_000_000 - 2);
    }

    #[test]
    fn the_margin_follows_how_late_sleepers_woke_up() {
        let lateness = Lateness::new();
        assert_eq!(lateness.margin(), u64::from(AT_FIRST));
        for _ in 0..50 {
            lateness.note(10_000);
        }
        assert!((9_000..12_000).contains(&lateness.margin()), "{}", lateness.margin());
        // One that waited for a processor.
        lateness.note(50_000_000);
        assert!(lateness.margin() <= u64::from(MOST));
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
