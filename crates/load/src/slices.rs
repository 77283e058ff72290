//! Slices of time in which an engine is watched closely: one in so many, chosen by chance.

use dbdyno_engine::probe::Slices;
use dbdyno_program::random::{below, mix};

/// When watching begins and ends, and how much of the time was watched.
///
/// Time is cut into periods of `one_in` slices, and one slice of each period, drawn anew, is watched: every moment with the
/// same probability, so that no pattern in the load can keep step, and the start of a window, in which caches are cold,
/// weighs no more than it lasts. The switch may be turned late, so what was seen is scaled by the time that was in fact
/// watched.
#[derive(Debug)]
pub struct Switch {
    slices: Slices,
    seed: u64,
    start: u64,
    /// The number of the period.
    period: u64,
    on: bool,
    turned: u64,
    watched: u64,
}

impl Switch {
    /// A switch that is off at `start`; nanoseconds, as all times here.
    pub fn new(slices: Slices, seed: u64, start: u64) -> Self {
        Self {
            slices,
            seed,
            start,
            period: 0,
            on: false,
            turned: start,
            watched: 0,
        }
    }

    /// When it is to be turned next.
    pub fn next(&self) -> u64 {
        let many = u64::from(self.slices.one_in);
        let chosen = below(mix(self.seed ^ mix(self.period)), many);
        self.start + (self.period * many + chosen + u64::from(self.on)) * self.slices.length_ns
    }

    /// Turns it if its time has come by `now`; tells whether it is on then, or `None` where it was not turned.
    pub fn turn(&mut self, now: u64) -> Option<bool> {
        if now < self.next() {
            return None;
        }
        if self.on {
            self.period += 1;
            self.watched += now.saturating_sub(self.turned);
        }
        self.on = !self.on;
        self.turned = now;
        Some(self.on)
    }

    /// How much longer all the time up to `now` is than what was watched of it; `None` where that was no whole slice, from
    /// which nothing can be told.
    pub fn scale(&self, now: u64) -> Option<f64> {
        let last = if self.on { now.saturating_sub(self.turned) } else { 0 };
        let watched = self.watched + last;
        (self.watched > 0).then(|| now.saturating_sub(self.start) as f64 / watched as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICES: Slices = Slices {
        length_ns: 10,
        one_in: 8,
    };

    #[test]
    fn one_slice_of_each_period_is_watched_and_each_as_often_as_the_others() {
        let mut switch = Switch::new(SLICES, 7, 1000);
        let mut places = [0; 8];
        for period in 0..8000 {
            let begin = switch.next();
            assert_eq!(switch.turn(begin - 1), None);
            assert_eq!(switch.turn(begin), Some(true));
            let end = switch.next();
            assert_eq!(end - begin, 10);
            assert_eq!(switch.turn(end), Some(false));
            assert_eq!((begin - 1000) / 80, period);
            places[((begin - 1000) % 80 / 10) as usize] += 1;
        }
        // 1000 in each on average, with a standard deviation of 30.
        assert!(places.iter().all(|count| (850..1150).contains(count)), "{places:?}");
        let scale = switch.scale(1000 + 80 * 8000).expect("watched");
        assert!((scale - 8.0).abs() < 0.01, "{scale}");
    }

    #[test]
    fn the_time_that_was_watched_counts_not_the_time_that_was_meant() {
        let mut switch = Switch::new(SLICES, 1, 0);
        assert_eq!(switch.scale(0), None);
        let begin = switch.next();
        assert_eq!(switch.scale(begin), None, "nothing has been watched");
        assert_eq!(switch.turn(begin), Some(true));
        assert_eq!(switch.scale(begin + 5), None, "half a slice");
        // Turned off 30 late.
        assert_eq!(switch.turn(begin + 40), Some(false));
        assert_eq!(switch.scale(begin + 80), Some((begin + 80) as f64 / 40.0));
        let again = switch.next().max(begin + 80);
        assert_eq!(switch.turn(again), Some(true));
        let now = again + 20;
        assert_eq!(switch.scale(now), Some(now as f64 / 60.0));
    }
}
