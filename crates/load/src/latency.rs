//! Latencies: histograms, and the array that they are first counted in.

use hdrhistogram::Histogram;
use std::sync::{Mutex, PoisonError};

/// A histogram of nanoseconds up to an hour, with three significant digits.
pub type Latencies = Histogram<u64>;

/// An hour in nanoseconds; what takes longer counts as an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// Buckets have 2^11 = 2048 places, the least power of 2 that gives three digits; all but the first use their upper half.
const PLACES_LOG2: u32 = 11;

/// An empty histogram.
pub fn latencies() -> Latencies {
    match Histogram::new_with_bounds(1, LONGEST, 3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("the bounds are constants, and right"),
    }
}

/// How many places there are.
const PLACES: usize = place(LONGEST) + 1;

/// How many latencies are noted before they are counted.
const NOTED: usize = 64;

/// The latencies of one interval. Counting one is a store, and later a shift and an addition; sums, extremes and the rest
/// are left to the histogram that the counts go to at the interval's end. Its places are those of an HdrHistogram with
/// three digits.
///
/// The places lie far apart, and by the next operation the processor's caches may have lost them. So latencies are noted
/// one beside the other first, and counted many at a time: the processor waits for all their places at once.
#[derive(Debug)]
pub struct Counts {
    noted: [u64; NOTED],
    /// How many are noted; less than all between two calls.
    filled: usize,
    counts: Box<[u64; PLACES]>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            noted: [0; NOTED],
            filled: 0,
            // By way of a vector, which is never on the stack.
            counts: vec![0; PLACES]
                .into_boxed_slice()
                .try_into()
                .unwrap_or_else(|_| Box::new([0; PLACES])),
        }
    }
}

/// Where a value is counted.
#[inline(always)]
const fn place(value: u64) -> usize {
    let bucket = (value | ((1 << PLACES_LOG2) - 1)).ilog2() + 1 - PLACES_LOG2;
    ((bucket as usize) << (PLACES_LOG2 - 1)) + (value >> bucket) as usize
}

/// The least value that is counted at a place.
fn least(place: usize) -> u64 {
    let half = 1 << (PLACES_LOG2 - 1);
    let bucket = (place / half).saturating_sub(1);
    ((place - bucket * half) as u64) << bucket
}

impl Counts {
    /// Counts a latency in nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, nanoseconds: u64) {
        // It never is as many as there are places.
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

    /// Moves what was counted to histograms.
    pub fn drain(&mut self, histograms: &mut [&mut Latencies]) {
        self.drain_times(histograms, 1);
    }

    /// Moves what was counted to histograms, each as so many.
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

/// The latencies of the interval that the live display will show next, from all threads.
#[derive(Debug)]
pub struct Timeline {
    /// The length of an interval in nanoseconds.
    pub interval: u64,
    pending: Mutex<Latencies>,
}

impl Timeline {
    /// A timeline with intervals of so many nanoseconds.
    pub fn new(interval: u64) -> Self {
        Self {
            interval: interval.max(1_000_000),
            pending: Mutex::new(latencies()),
        }
    }

    /// Moves what one thread counted here, and to the whole.
    pub fn take_in(&self, counts: &mut Counts, whole: &mut Latencies) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        counts.drain(&mut [&mut pending, whole]);
    }

    /// Takes what has come in: 50th and 99th percentile and greatest, in nanoseconds; `None` if nothing has.
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
            prop_assert_eq!(through, direct, "what was drained is gone");
        }

        #[test]
        fn places_follow_without_a_gap(value in 0u64..LONGEST) {
            let place = place(value);
            prop_assert!(least(place) <= value && value < least(place + 1));
        }
    }
}
