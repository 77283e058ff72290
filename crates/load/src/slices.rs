//! Time slices in which an engine is observed closely, chosen at random.

use dbdyno_engine::probe::Slices;
use dbdyno_program::random::{below, mix};

/// Decides when observation begins and ends, and measures how much of the time was observed.
///
/// Time is divided into periods of `one_in` slices, and one random slice of each period is observed. Every moment has
/// the same probability, so sampling doesn't alias with patterns in the load, and the cold start of a window has no
/// extra weight. Switching may happen late, so results are scaled by the time that was actually observed.
#[derive(Debug)]
pub struct Switch {
    slices: Slices,
    seed: u64,
    start: u64,
    /// Number of the current period.
    period: u64,
    on: bool,
    turned: u64,
    watched: u64,
}

impl Switch {
    /// A switch that is off at `start`. All times here are nanoseconds.
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

    /// When to switch next.
    pub fn next(&self) -> u64 {
        let many = u64::from(self.slices.one_in);
        let chosen = below(mix(self.seed ^ mix(self.period)), many);
        self.start + (self.period * many + chosen + u64::from(self.on)) * self.slices.length_ns
    }

    /// Switches if it is due at `now`. Returns the new state, or `None` if it didn't switch.
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

    /// The time up to `now`, divided by the observed time. `None` if no slice has been observed completely, which is
    /// too little for an estimate.
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
    fn each_slice_of_a_period_is_observed_equally_often() {
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
    fn the_scale_uses_the_time_actually_observed() {
        let mut switch = Switch::new(SLICES, 1, 0);
        assert_eq!(switch.scale(0), None);
        let begin = switch.next();
        assert_eq!(switch.scale(begin), None, "no slice has been observed");
        assert_eq!(switch.turn(begin), Some(true));
        assert_eq!(switch.scale(begin + 5), None, "half a slice");
        // Switched off 30 late.
        assert_eq!(switch.turn(begin + 40), Some(false));
        assert_eq!(switch.scale(begin + 80), Some((begin + 80) as f64 / 40.0));
        let again = switch.next().max(begin + 80);
        assert_eq!(switch.turn(again), Some(true));
        let now = again + 20;
        assert_eq!(switch.scale(now), Some(now as f64 / 60.0));
    }
}
