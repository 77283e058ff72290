//! When transactions start.

use dbdyno_engine::changes;
use dbdyno_probes::Clock;
use dbdyno_program::random::{Stream, client_stream};
use dbdyno_protocol::plan::document::{Arrival, Gaps};
use rand::Rng as _;
use std::future::Future;
use std::time::Duration;

/// How a client waits. It depends on how the engine's sessions run.
pub trait Timer {
    /// Waits until the clock shows `at` nanoseconds. Returns at once if it already does.
    fn sleep_until(&self, at: u64) -> impl Future<Output = ()>;

    /// Waits for the given nanoseconds as precisely as possible. Returns the actual time.
    fn wait_exactly(&self, nanoseconds: u64) -> impl Future<Output = u64>;
}

/// Puts the thread to sleep. For engines with one thread per client.
#[derive(Debug, Clone, Copy)]
pub struct ThreadTimer {
    clock: Clock,
}

impl ThreadTimer {
    /// A timer that uses this clock.
    pub fn new(clock: Clock) -> Self {
        Self { clock }
    }
}

/// The kernel wakes a sleeper about this many nanoseconds late, so the remaining time is spent spinning.
const LATENESS: u64 = 60_000;

impl Timer for ThreadTimer {
    async fn sleep_until(&self, at: u64) {
        // One iteration, unless the clock was stopped between slices.
        loop {
            let left = at.saturating_sub(self.clock.now());
            if left <= LATENESS {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left - LATENESS));
        }
        while self.clock.now() < at {
            // The thread that this one waits for may need this CPU.
            std::thread::yield_now();
        }
    }

    async fn wait_exactly(&self, nanoseconds: u64) -> u64 {
        changes::wait(nanoseconds)
    }
}

/// The scheduled starts of one client in an open loop.
#[derive(Debug)]
pub struct Schedule {
    stream: Stream,
    gaps: Gaps,
    /// Mean nanoseconds between two starts.
    mean: f64,
    next: f64,
}

impl Schedule {
    /// The schedule of a client from `start` on; `None` for a closed loop.
    pub fn new(arrival: Arrival, seed: u64, client: u32, clients: u32, start: u64) -> Option<Self> {
        let Arrival::Open { rate, gaps } = arrival else {
            return None;
        };
        let mean = 1e9 * f64::from(clients) / rate;
        // A separate stream, so that the transactions' parameters don't depend on the pacing.
        let stream = client_stream(!seed, client);
        let mut schedule = Self {
            stream,
            gaps,
            mean,
            next: start as f64,
        };
        match gaps {
            // Clients start one after the other.
            Gaps::Even => schedule.next += mean * f64::from(client) / f64::from(clients),
            Gaps::Poisson => schedule.advance(),
        }
        Some(schedule)
    }

    /// The next scheduled start, in nanoseconds of the clock.
    pub fn peek(&self) -> u64 {
        self.next as u64
    }

    /// Advances to the following start.
    pub fn advance(&mut self) {
        self.next += match self.gaps {
            Gaps::Even => self.mean,
            // By inversion: -ln(U) is exponentially distributed for U uniform in (0, 1].
            Gaps::Poisson => {
                let uniform = ((self.stream.next_u64() >> 11) + 1) as f64 / 9_007_199_254_740_992.0;
                -uniform.ln() * self.mean
            }
        };
    }

    /// Advances to the first start at or after `end`. Calls `tell` with each skipped start and returns their number.
    pub fn skip_until(&mut self, end: u64, mut tell: impl FnMut(u64)) -> u64 {
        let mut skipped = 0;
        while self.peek() < end {
            tell(self.peek());
            skipped += 1;
            self.advance();
        }
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(gaps: Gaps, clients: u32, end: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for client in 0..clients {
            let arrival = Arrival::Open { rate: 1000.0, gaps };
            let mut schedule = Schedule::new(arrival, 3, client, clients, 5_000_000).expect("an open loop");
            while schedule.peek() < end {
                all.push(schedule.peek());
                schedule.advance();
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn even_gaps_are_even_over_all_clients() {
        let all = starts(Gaps::Even, 4, 1_005_000_000);
        assert_eq!(all.len(), 1000);
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
    }

    #[test]
    fn poisson_gaps_have_the_rate_and_the_spread() {
        let all = starts(Gaps::Poisson, 4, 20_005_000_000);
        // 20,000 expected, with a standard deviation of 141.
        assert!((19_400..20_600).contains(&all.len()), "{}", all.len());
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let variation = variance.sqrt() / mean;
        assert!((variation - 1.0).abs() < 0.05, "coefficient of variation {variation}");
    }

    #[test]
    fn nothing_scheduled_is_lost() {
        let arrival = Arrival::Open {
            rate: 1000.0,
            gaps: Gaps::Poisson,
        };
        let mut all = Schedule::new(arrival, 3, 0, 1, 0).expect("an open loop");
        let mut part = Schedule::new(arrival, 3, 0, 1, 0).expect("an open loop");
        let total = all.skip_until(1_000_000_000, |_| {});
        let mut taken = 0;
        while part.peek() < 400_000_000 {
            taken += 1;
            part.advance();
        }
        assert_eq!(taken + part.skip_until(1_000_000_000, |_| {}), total);
    }
}
