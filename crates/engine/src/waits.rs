//! What a server's sessions were seen waiting for.

use crate::Failure;
use dbdyno_probes::Clock;
use rand::RngExt as _;
use rand::rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Time between two looks: drawn anew each time, in milliseconds. Looks at equal distances would see a load that repeats
/// itself as often always in the same moment. No shorter, since MariaDB and MySQL show their transactions as they were
/// when they were last looked at, unless that is 0.1 s ago.
pub const INTERVAL_MS: RangeInclusive<u64> = 101..=150;

/// Time in which the end is noticed.
const NOTICE: Duration = Duration::from_millis(10);

/// Sessions as they were seen now and then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Waits {
    /// How often was looked.
    pub samples: u64,
    /// Seconds that the server took to answer the looks.
    pub query_s: f64,
    /// Sessions seen, by what they did, over all looks. Those that did nothing for anybody are not among them.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub seen: BTreeMap<Wait, u64>,
}

/// What a session did when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// The class of the wait, as the server calls it; `CPU` where it waited for nothing.
    pub class: String,
    /// The wait itself; `running`.
    pub event: String,
}

impl Serialize for Wait {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.class, self.event))
    }
}

impl Waits {
    /// Notes that so many sessions were seen in a wait.
    fn see(&mut self, class: &str, event: &str, sessions: u64) {
        let wait = Wait {
            class: class.to_owned(),
            event: event.to_owned(),
        };
        *self.seen.entry(wait).or_default() += sessions;
    }
}

/// Looks at the sessions every now and then for as long as `running` says so; `look` gives rows of class, event and number.
pub async fn sample(
    running: &dyn Fn() -> bool,
    mut look: impl AsyncFnMut() -> Result<Vec<Vec<Option<String>>>, Failure>,
) -> Result<Waits, Failure> {
    let clock = Clock::get();
    let mut waits = Waits::default();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(clock.now());
    // Nothing else goes on in this thread, so that it may sleep.
    while sleep(running, Duration::from_millis(random.random_range(INTERVAL_MS))) {
        let start = clock.now();
        for row in look().await? {
            if let [Some(class), Some(event), Some(sessions)] = row.as_slice() {
                waits.see(class, event, sessions.parse().unwrap_or(0));
            }
        }
        waits.query_s += clock.now().saturating_sub(start) as f64 / 1e9;
        waits.samples += 1;
    }
    Ok(waits)
}

/// Sleeps until the next look; tells whether there is to be one.
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
