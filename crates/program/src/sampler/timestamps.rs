//! Timestamps.

use crate::value::Text;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Ticks of the CPU's time-stamp counter for which a cached time of day is reused: about 10 µs, and less than a
/// millisecond on any CPU. Reading the counter takes a third of the time of reading the clock.
#[cfg(target_arch = "x86_64")]
const FRESH_TICKS: u64 = 30_000;

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// The counter value at which the thread last read the time of day, and that time.
    static READ: std::cell::Cell<(u64, u64)> = const { std::cell::Cell::new((0, 0)) };
}

/// The time of day in milliseconds since 1970, at most some microseconds old.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn unix_milliseconds() -> u64 {
    // SAFETY: `rdtsc` exists on every x86-64 CPU and doesn't access memory.
    let now = unsafe { core::arch::x86_64::_rdtsc() };
    let (at, time) = READ.get();
    if now.wrapping_sub(at) < FRESH_TICKS && time != 0 {
        return time;
    }
    let time = time_of_day();
    READ.set((now, time));
    time
}

/// The time of day in milliseconds since 1970.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn unix_milliseconds() -> u64 {
    time_of_day()
}

fn time_of_day() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

/// Writes Unix seconds as `YYYY-MM-DD HH:MM:SS` in UTC.
pub(super) fn write_time(seconds: i64, text: &mut Text<'_>) {
    let rest = seconds.rem_euclid(86_400);
    write_date(seconds.div_euclid(86_400), text);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
}

/// Writes days since 1970 as `YYYY-MM-DD` (Hinnant, "chrono-compatible low-level date algorithms", 2013).
pub(super) fn write_date(days: i64, text: &mut Text<'_>) {
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}");
}

#[cfg(test)]
mod tests {
    use super::{time_of_day, unix_milliseconds};

    #[test]
    fn the_time_of_identifiers_is_the_time_of_day() {
        for _ in 0..100_000 {
            let (before, told, after) = (time_of_day(), unix_milliseconds(), time_of_day());
            // It may be some microseconds old, and thus from the previous millisecond.
            assert!(
                (before.saturating_sub(1)..=after).contains(&told),
                "{before} {told} {after}"
            );
        }
        std::thread::sleep(std::time::Duration::from_millis(3));
        let before = time_of_day();
        assert!(unix_milliseconds() >= before, "a stale time was reused");
    }
}
