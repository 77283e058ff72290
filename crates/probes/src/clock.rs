//! The clock: nanoseconds since the worker's start, for all measurements of a trial.
//!
//! If the CPU has an invariant time-stamp counter, and the kernel itself uses it as its clock source, reading it takes
//! one instruction instead of a call. Its rate is measured against the kernel's clock at the start. Otherwise the
//! kernel's clock is read. The counter is read without a fence: a read may be reordered by some tens of instructions,
//! which is below the resolution of a transaction's latency.
//!
//! An interleaved trial is suspended at times. A clock that [stands still](Clock::that_stands_still) excludes these
//! times: all its measurements, anywhere in the process, exclude the suspensions of the measuring thread. Reading it
//! takes a few instructions more.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::time::Duration;

/// A clock. It is cheap to copy, and all copies agree except for suspensions.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    way: Way,
    /// The counter or the kernel's clock at the start.
    base: u64,
    /// Nanoseconds per tick as a fixed-point number with 32 fractional bits; 0 for the kernel's clock.
    rate: u64,
}

/// The source of the time, and whether suspensions of the thread are excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Counter,
    CounterOfThread,
    Kernel,
    KernelOfThread,
}

/// Time for measuring the counter's rate. On a busy virtual machine (200 runs), 5 ms gave an error of 6 in 100 million
/// at the median and 2 in a million at most. 40 ms gave 8 in 1,000 million and 3 in 10 million, but each worker waits
/// that long.
const MEASURED: Duration = Duration::from_millis(5);

static CLOCK: OnceLock<Clock> = OnceLock::new();
static ALL_STAND_STILL: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Total suspension of the thread, in the clock's own unit.
    static SUSPENDED: Cell<u64> = const { Cell::new(0) };
}

/// The result of `read` minus the suspensions of the calling thread.
#[inline(always)]
fn less_suspended(read: impl Fn() -> u64) -> u64 {
    loop {
        let suspended = SUSPENDED.get();
        // A signal may suspend the thread between the readings. Its suspension must not be subtracted from an earlier
        // time.
        compiler_fence(Ordering::SeqCst);
        let now = read();
        compiler_fence(Ordering::SeqCst);
        if SUSPENDED.get() == suspended {
            return now.wrapping_sub(suspended);
        }
    }
}

impl Clock {
    /// The process's clock. The first call takes about 5 ms to measure the counter's rate.
    pub fn get() -> Self {
        let clock = Self::real();
        if ALL_STAND_STILL.load(Ordering::Relaxed) {
            clock.that_stands_still()
        } else {
            clock
        }
    }

    /// The same clock, including suspensions.
    pub fn real() -> Self {
        *CLOCK.get_or_init(|| {
            Self::counter().unwrap_or_else(|| Self {
                way: Way::Kernel,
                base: monotonic(),
                rate: 0,
            })
        })
    }

    /// Makes all clocks obtained from now on exclude suspensions.
    pub fn all_stand_still() {
        ALL_STAND_STILL.store(true, Ordering::Relaxed);
    }

    /// This clock, excluding suspensions of the thread that reads it. In a thread that was never suspended, it agrees
    /// with other clocks.
    pub fn that_stands_still(self) -> Self {
        let way = match self.way {
            Way::Counter | Way::CounterOfThread => Way::CounterOfThread,
            Way::Kernel | Way::KernelOfThread => Way::KernelOfThread,
        };
        Self { way, ..self }
    }

    /// Excludes the last `nanoseconds` from the calling thread's time on all clocks that stand still. Safe to call in a
    /// signal handler.
    pub fn leave_out(self, nanoseconds: u64) {
        let raw = self.raw_of(nanoseconds);
        SUSPENDED.with(|suspended| suspended.set(suspended.get() + raw));
    }

    /// Nanoseconds since the clock's start.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self.way {
            Way::Counter | Way::CounterOfThread => self.scaled(self.raw().wrapping_sub(self.base)),
            way @ (Way::Kernel | Way::KernelOfThread) => kernels(way).wrapping_sub(self.base),
        }
    }

    /// The kernel's monotonic clock at a moment of this clock, in nanoseconds. The moment must be near, because the
    /// clocks drift apart by parts in a hundred thousand.
    pub fn kernels_at(self, moment: u64) -> u64 {
        let (now, kernels) = (self.now(), monotonic());
        if moment > now {
            kernels + (moment - now)
        } else {
            kernels.saturating_sub(now - moment)
        }
    }

    /// The time in the clock's own unit, which is faster to read. Only differences are meaningful, see
    /// [`Self::nanoseconds`].
    #[inline(always)]
    pub fn raw(self) -> u64 {
        match self.way {
            Way::Counter => ticks(),
            Way::CounterOfThread => less_suspended(ticks),
            way @ (Way::Kernel | Way::KernelOfThread) => kernels(way),
        }
    }

    /// A difference of two [`Self::raw`] readings (or a sum of such) in nanoseconds.
    pub fn nanoseconds(self, raw: u64) -> u64 {
        if self.rate != 0 { self.scaled(raw) } else { raw }
    }

    #[inline(always)]
    fn scaled(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.rate)) >> 32) as u64
    }

    /// Nanoseconds as a difference of two [`Self::raw`] readings.
    pub fn raw_of(self, nanoseconds: u64) -> u64 {
        if self.rate != 0 {
            ((u128::from(nanoseconds) << 32) / u128::from(self.rate)) as u64
        } else {
            nanoseconds
        }
    }

    /// How the clock is read: `tsc` or `clock_gettime`.
    pub fn source(self) -> &'static str {
        if Self::real().rate == 0 { "clock_gettime" } else { "tsc" }
    }

    fn counter() -> Option<Self> {
        let kept = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()?;
        let processor = std::fs::read_to_string("/proc/cpuinfo").ok()?;
        let steady = ["constant_tsc", "nonstop_tsc"]
            .iter()
            .all(|flag| processor.contains(flag));
        if !cfg!(target_arch = "x86_64") || kept.trim() != "tsc" || !steady {
            return None;
        }
        let (first_time, first_ticks) = simultaneous();
        std::thread::sleep(MEASURED);
        let (last_time, last_ticks) = simultaneous();
        let (time, ticks) = (last_time - first_time, last_ticks.checked_sub(first_ticks)?);
        let rate = u64::try_from((u128::from(time) << 32) / u128::from(ticks)).ok()?;
        (rate > 0).then_some(Self {
            way: Way::Counter,
            base: first_ticks,
            rate,
        })
    }
}

/// Reads the kernel's clock. It doesn't take the clock as an argument, which would have to be stored in memory for each
/// reading.
#[inline(never)]
fn kernels(way: Way) -> u64 {
    if way == Way::Kernel {
        monotonic()
    } else {
        less_suspended(monotonic)
    }
}

/// Reads both clocks as simultaneously as possible: the fastest of several attempts.
fn simultaneous() -> (u64, u64) {
    (0..20)
        .map(|_| {
            let before = ticks();
            let time = monotonic();
            let after = ticks();
            (
                after.wrapping_sub(before),
                time,
                before.wrapping_add(after.wrapping_sub(before) / 2),
            )
        })
        .min_by_key(|(width, _, _)| *width)
        .map_or((monotonic(), ticks()), |(_, time, ticks)| (time, ticks))
}

#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `rdtsc` exists on every x86-64 CPU and doesn't access memory.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}

fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_monotonic() {
        let clock = Clock::get();
        let mut last = clock.now();
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn the_clock_agrees_with_the_kernels() {
        let clock = Clock::get();
        let (ours, kernels) = (clock.now(), monotonic());
        std::thread::sleep(Duration::from_millis(50));
        let (ours, kernels) = (clock.now() - ours, monotonic() - kernels);
        // The two pairs of reads are not simultaneous, so a suspension between them causes a difference; a wrong rate
        // would cause a much larger one.
        assert!(ours.abs_diff(kernels) < kernels / 10, "{ours} against {kernels}");
    }

    #[test]
    fn a_moment_is_converted_to_the_kernels_clock() {
        let clock = Clock::get();
        let before = monotonic();
        let told = clock.kernels_at(clock.now());
        assert!((before..=monotonic()).contains(&told));
        let moment = clock.now() + 5_000_000;
        let ahead = clock.kernels_at(moment);
        assert!((before + 5_000_000..=monotonic() + 5_000_000).contains(&ahead));
    }

    #[test]
    fn suspensions_are_excluded_for_the_suspended_thread() {
        let clock = Clock::get().that_stands_still();
        let spent = Duration::from_millis(20);
        let (before, raw) = (clock.now(), clock.raw());
        std::thread::sleep(spent);
        clock.leave_out(20_000_000);
        let (own, raw) = (clock.now() - before, clock.nanoseconds(clock.raw() - raw));
        let real = Clock::real().now() - before;
        assert!(
            own + 20_000_000 <= real && raw + 20_000_000 <= real,
            "{own}, {raw} of {real}"
        );
        let elsewhere = std::thread::spawn(move || {
            let real = Clock::real().now();
            (real, clock.now())
        });
        let (real, own) = elsewhere.join().expect("the thread ends");
        assert!(own >= real, "another thread was not suspended: {own} after {real}");
    }
}
