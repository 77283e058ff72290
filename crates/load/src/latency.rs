//! Latency histograms, and the array that latencies are counted in first.

use hdrhistogram::Histogram;
use std::sync::{Mutex, PoisonError};

/// A histogram of nanoseconds up to an hour, with three significant digits.
pub type Latencies = Histogram<u64>;

/// An hour in nanoseconds. Longer times count as an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// A bucket has 2^11 = 2048 places, the smallest power of 2 that gives three digits. All buckets but the first use only
/// their upper half.
const PLACES_LOG2: u32 = 11;

/// An empty histogram.
pub fn latencies() -> Latencies {
    match Histogram::new_with_bounds(1, LONGEST, 3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("the bounds are constants, and right"),
    }
}

/// Number of places.
const PLACES: usize = place(LONGEST) + 1;

/// Number of latencies that are buffered before they are counted.
const NOTED: usize = 64;

/// The latencies of one interval. Recording one is a store, and later a shift and an addition. The histogram computes
/// sums and extremes when it receives the counts at the interval's end. The places are those of an HdrHistogram with
/// three digits.
///
/// The places are far apart in memory, and other work evicts them from the CPU's caches. So latencies are buffered
/// contiguously and counted in batches: the CPU then waits for all their cache lines at once.
#[derive(Debug)]
pub struct Counts {
    noted: [u64; NOTED],
    /// Number of buffered latencies; less than [`NOTED`] between two calls.
    filled: usize,
    counts: Box<[u64; PLACES]>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            noted: [0; NOTED],
            filled: 0,
            // From a vector, so that the array is never on the stack.
            counts: vec![0; PLACES]
                .into_boxed_slice()
                .try_into()
                .unwrap_or_else(|_| Box::new([0; PLACES])),
        }
    }
}

/// Index at which a value is counted.
#[inline(always)]
const fn place(value: u64) -> usize {
    let bucket = (value | ((1 << PLACES_LOG2) - 1)).ilog2() + 1 - PLACES_LOG2;
    ((bucket as usize) << (PLACES_LOG2 - 1)) + (value >> bucket) as usize
}

/// The smallest value that is counted at a place.
fn least(place: usize) -> u64 {
    let half = 1 << (PLACES_LOG2 - 1);
    let bucket = (place / half).saturating_sub(1);
    ((place - bucket * half) as u64) << bucket
}

impl Counts {
    /// Counts a latency in nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, nanoseconds: u64) {
        // `filled` is always less than `NOTED` here; the remainder avoids the bounds check.
        self.noted[self.filled % NOTED] = nanoseconds;
        self.filled += 1;
        if self.filled == NOTED {
            self.count_noted();
        }
    }

    #[inline(never)]
    fn count_noted(&mut self) {
        for nanoseconds in &self.noted[..self.filled] {
            self.counts[place(*nanoseconds).min(PLACES - 1)] += 1;
        }
        self.filled = 0;
    }

    /// Moves the counts to histograms.
    pub fn drain(&mut self, histograms: &mut [&mut Latencies]) {
        self.drain_times(histograms, 1);
    }

    /// Moves the counts to histograms, multiplied by `times`.
    pub fn drain_times(&mut self, histograms: &mut [&mut Latencies], times: u64) {
        self.count_noted();
        for (place, count) in self.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            for histogram in &mut *histograms {
                histogram.saturating_record_n(least(place), *count * times);
            }
            *count = 0;
        }
    }
}

/// The latencies, from all threads, of the interval that the live display shows next.
#[derive(Debug)]
pub struct Timeline {
    /// Interval length in nanoseconds.
    pub interval: u64,
    pending: Mutex<Latencies>,
}

impl Timeline {
    /// A timeline with the given interval in nanoseconds.
    pub fn new(interval: u64) -> Self {
        Self {
            interval: interval.max(1_000_000),
            pending: Mutex::new(latencies()),
        }
    }

    /// Moves the counts of one thread to this timeline and to the thread's histogram.
    pub fn take_in(&self, counts: &mut Counts, whole: &mut Latencies) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        counts.drain(&mut [&mut pending, whole]);
    }

    /// Takes the latencies received so far: 50th percentile, 99th percentile and maximum in nanoseconds. `None` if
    /// there are none.
    pub fn take(&self) -> Option<(u64, u64, u64)> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = (!pending.is_empty()).then(|| {
            (
                pending.value_at_quantile(0.5),
                pending.value_at_quantile(0.99),
                pending.max(),
            )
        });
        pending.reset();
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_counts_make_the_histogram_that_records_each_value(values in proptest::collection::vec(
            prop_oneof![0u64..5_000, any::<u32>().prop_map(u64::from), any::<u64>()], 1..200
        )) {
            let (mut counts, mut through, mut direct) = (Counts::default(), latencies(), latencies());
            for value in &values {
                counts.record(*value);
                direct.saturating_record(*value);
            }
            counts.drain(&mut [&mut through]);
            prop_assert_eq!(&through, &direct);
            counts.drain(&mut [&mut through]);
            prop_assert_eq!(through, direct, "draining empties the counts");
        }

        #[test]
        fn places_follow_without_a_gap(value in 0u64..LONGEST) {
            let place = place(value);
            prop_assert!(least(place) <= value && value < least(place + 1));
        }
    }
}
