//! When transactions start.

use dbdyno_engine::changes;
use dbdyno_probes::Clock;
use dbdyno_program::random::{Stream, client_stream};
use dbdyno_protocol::plan::document::{Arrival, Gaps, Stage};
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

/// When the stages of an open loop end, in nanoseconds of the clock; empty without stages.
#[derive(Debug)]
pub struct StageEnds(Vec<u64>);

impl StageEnds {
    /// The ends of stages of which the first begins at `start`.
    pub fn new(stages: &[Stage], start: u64) -> Self {
        let lengths = stages.iter().map(|stage| stage.seconds * 1e9);
        let ends = lengths.scan(0.0, |end, length| {
            *end += length;
            Some(start + *end as u64)
        });
        Self(ends.collect())
    }

    /// The index of the stage at a moment, or of the last one after its end; `None` without stages.
    pub fn at(&self, moment: u64) -> Option<usize> {
        let last = self.0.len().checked_sub(1)?;
        Some(self.0.partition_point(|end| *end <= moment).min(last))
    }
}

/// The rate of an open loop with stages, over all clients.
#[derive(Debug)]
struct Course {
    stages: Vec<Stage>,
    start: f64,
}

impl Course {
    /// When the expected number of starts since `from` is `number`; infinity if the stages have fewer.
    /// Both times are nanoseconds of the clock. This is the inverse of the integral of the rate.
    fn after(&self, from: f64, mut number: f64) -> f64 {
        let mut at = (from - self.start) / 1e9;
        let mut begin = 0.0;
        for stage in &self.stages {
            let end = begin + stage.seconds;
            if at < end {
                let slope = (stage.to - stage.from) / stage.seconds;
                let rate = stage.from + slope * (at - begin);
                let expected = (rate + stage.to) / 2.0 * (end - at);
                if number < expected {
                    // The root of the quadratic equation in a form without cancellation.
                    let divisor = rate + (rate * rate + 2.0 * slope * number).max(0.0).sqrt();
                    let seconds = if divisor > 0.0 { 2.0 * number / divisor } else { 0.0 };
                    return self.start + (at + seconds) * 1e9;
                }
                number -= expected;
                at = end;
            }
            begin = end;
        }
        f64::INFINITY
    }
}

/// The scheduled starts of one client in an open loop.
#[derive(Debug)]
pub struct Schedule {
    stream: Stream,
    gaps: Gaps,
    /// Mean nanoseconds between two starts, if the rate is constant.
    mean: f64,
    /// The rate, if it isn't constant, and the number of clients.
    course: Option<(Course, f64)>,
    next: f64,
}

impl Schedule {
    /// The schedule of a client from `start` on; `None` for a closed loop. The warm-up has one rate, even if the window
    /// has stages.
    pub fn new(arrival: &Arrival, seed: u64, client: u32, clients: u32, start: u64, is_warmup: bool) -> Option<Self> {
        let Arrival::Open { rate, gaps, stages } = arrival else {
            return None;
        };
        let rate = stages.first().map_or(*rate, |first| first.from);
        let mean = 1e9 * f64::from(clients) / rate;
        let course = (!stages.is_empty() && !is_warmup).then(|| {
            let course = Course {
                stages: stages.clone(),
                start: start as f64,
            };
            (course, f64::from(clients))
        });
        // A separate stream, so that the transactions' parameters don't depend on the pacing.
        let stream = client_stream(!seed, client);
        let mut schedule = Self {
            stream,
            gaps: *gaps,
            mean,
            course,
            next: start as f64,
        };
        match gaps {
            // Clients start one after the other.
            Gaps::Even => schedule.advance_by(f64::from(client) / f64::from(clients)),
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
        let gap = match self.gaps {
            Gaps::Even => 1.0,
            // By inversion: -ln(U) is exponentially distributed for U uniform in (0, 1].
            Gaps::Poisson => {
                let uniform = ((self.stream.next_u64() >> 11) + 1) as f64 / 9_007_199_254_740_992.0;
                -uniform.ln()
            }
        };
        self.advance_by(gap);
    }

    /// Advances by a number of mean gaps of this client.
    fn advance_by(&mut self, gaps: f64) {
        self.next = match &self.course {
            None => self.next + gaps * self.mean,
            Some((course, clients)) => course.after(self.next, gaps * clients),
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

    fn open(gaps: Gaps, stages: Vec<Stage>) -> Arrival {
        Arrival::Open {
            rate: 1000.0,
            gaps,
            stages,
        }
    }

    fn stage(seconds: f64, from: f64, to: f64) -> Stage {
        Stage { seconds, from, to }
    }

    /// The starts in each stage, over all clients.
    fn staged(gaps: Gaps, stages: &[Stage], clients: u32) -> Vec<u64> {
        let (start, mut counts) = (7_000_000, vec![0; stages.len()]);
        let ends = StageEnds::new(stages, start);
        let end = *ends.0.last().expect("a stage");
        for client in 0..clients {
            let arrival = open(gaps, stages.to_vec());
            let mut schedule = Schedule::new(&arrival, 3, client, clients, start, false).expect("an open loop");
            while schedule.peek() < end {
                counts[ends.at(schedule.peek()).expect("stages")] += 1;
                schedule.advance();
            }
            assert_eq!(schedule.peek(), u64::MAX, "nothing starts after the stages");
        }
        counts
    }

    #[test]
    fn each_stage_has_the_starts_of_its_rate() {
        let stages = [
            stage(2.0, 100.0, 100.0),
            stage(1.0, 100.0, 500.0),
            stage(1.0, 0.0, 0.0),
            stage(2.0, 500.0, 0.0),
        ];
        let expected = [200.0_f64, 300.0, 0.0, 500.0];
        for clients in [1, 7] {
            for (count, expected) in staged(Gaps::Even, &stages, clients).iter().zip(expected) {
                assert!(
                    (*count as f64 - expected).abs() <= 1.0,
                    "{count} of {expected}, {clients} clients"
                );
            }
            for (count, expected) in staged(Gaps::Poisson, &stages, clients).iter().zip(expected) {
                let off = (*count as f64 - expected).abs();
                assert!(off <= 4.0 * expected.sqrt(), "{count} of {expected}, {clients} clients");
            }
        }
    }

    #[test]
    fn the_rate_changes_linearly_within_a_stage() {
        let mut schedule =
            Schedule::new(&open(Gaps::Even, vec![stage(10.0, 0.0, 20.0)]), 3, 0, 1, 0, false).expect("open");
        // After t seconds, t² starts are expected.
        for number in 0..100_u32 {
            let expected = f64::from(number).sqrt() * 1e9;
            assert!((schedule.peek() as f64 - expected).abs() < 10.0, "start {number}");
            schedule.advance();
        }
        assert_eq!(schedule.peek(), u64::MAX);
    }

    #[test]
    fn the_warmup_has_the_first_rate() {
        let stages = vec![stage(1.0, 100.0, 300.0), stage(1.0, 1.0, 1.0)];
        let mut schedule = Schedule::new(&open(Gaps::Even, stages), 3, 0, 1, 0, true).expect("open");
        schedule.skip_until(5_000_000_000, |_| {});
        assert_eq!(schedule.peek(), 5_000_000_000);
    }

    fn starts(gaps: Gaps, clients: u32, end: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for client in 0..clients {
            let mut schedule =
                Schedule::new(&open(gaps, Vec::new()), 3, client, clients, 5_000_000, false).expect("an open loop");
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
        let arrival = open(Gaps::Poisson, Vec::new());
        let mut all = Schedule::new(&arrival, 3, 0, 1, 0, false).expect("an open loop");
        let mut part = Schedule::new(&arrival, 3, 0, 1, 0, false).expect("an open loop");
        let total = all.skip_until(1_000_000_000, |_| {});
        let mut taken = 0;
        while part.peek() < 400_000_000 {
            taken += 1;
            part.advance();
        }
        assert_eq!(taken + part.skip_until(1_000_000_000, |_| {}), total);
    }
}
