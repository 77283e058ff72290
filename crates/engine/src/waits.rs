//! Samples what a server's sessions wait for.

use crate::Failure;
use dbdyno_probes::Clock;
use dbdyno_protocol::event::Wait;
pub use dbdyno_protocol::event::Waits;
use rand::RngExt as _;
use rand::rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Interval between two samples in milliseconds, chosen at random for each sample. With a constant interval, sampling
/// could alias with a periodic load. It is longer than 0.1 s because MariaDB and MySQL cache their transaction list for
/// that long after a query.
pub const INTERVAL_MS: RangeInclusive<u64> = 101..=150;

/// Maximum delay until the end of sampling is noticed.
const NOTICE: Duration = Duration::from_millis(10);

/// Samples the sessions while `running` returns true. `query` returns rows of class, event and count.
pub async fn sample(
    running: &dyn Fn() -> bool,
    mut query: impl AsyncFnMut() -> Result<Vec<Vec<Option<String>>>, Failure>,
) -> Result<Waits, Failure> {
    let clock = Clock::get();
    let mut waits = Waits::default();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(clock.now());
    // This thread does nothing else, so it may block.
    while sleep(running, Duration::from_millis(random.random_range(INTERVAL_MS))) {
        let start = clock.now();
        for row in query().await? {
            if let [Some(class), Some(event), Some(sessions)] = row.as_slice() {
                let wait = Wait {
                    class: class.clone(),
                    event: event.clone(),
                };
                *waits.seen.entry(wait).or_default() += sessions.parse::<u64>().unwrap_or(0);
            }
        }
        waits.query_s += clock.now().saturating_sub(start) as f64 / 1e9;
        waits.samples += 1;
    }
    Ok(waits)
}

/// Sleeps until the next sample. Returns false if sampling ended.
fn sleep(running: &dyn Fn() -> bool, interval: Duration) -> bool {
    let end = std::time::Instant::now() + interval;
    while running() {
        let left = end.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(NOTICE));
    }
    false
}
