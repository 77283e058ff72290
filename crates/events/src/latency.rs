//! Latencies as a result has them: a summary, and the histogram in a form that other programs read.

use crate::ms;
use dbdyno_load::latency::Latencies;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::Serialize;

/// A histogram could not be written.
#[derive(Debug, thiserror::Error)]
#[error("encoding a histogram: {0}")]
pub struct EncodingFailed(String);

/// The percentiles, mean and maximum of times in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Summary {
    /// Of no times.
    Empty {
        /// None.
        count: u64,
    },
    /// Of some.
    Full {
        /// How many.
        count: u64,
        /// Their mean.
        mean: f64,
        /// The median.
        p50: f64,
        /// The 90th percentile.
        p90: f64,
        /// The 99th.
        p99: f64,
        /// The 99.9th.
        p99_9: f64,
        /// The greatest.
        max: f64,
        /// Which of these are lower bounds.
        at_least: Vec<&'static str>,
    },
}

/// A percentile that may be greater by less than this is known.
const KNOWN: f64 = 1.01;

impl Summary {
    /// Sums up times.
    ///
    /// `at_least`: times that would have been so long or longer. A percentile is known where it is the same whether these are
    /// as long as they are known to be, or without an end; else the former is a lower bound of it.
    pub fn of(histogram: &Latencies, at_least: Option<&Latencies>) -> Self {
        let at_least = at_least.filter(|at_least| !at_least.is_empty());
        let mut all = histogram.clone();
        // All have the same bounds, so nothing can fail to fit.
        let _ = at_least.map(|at_least| all.add(at_least));
        if all.is_empty() {
            return Self::Empty { count: 0 };
        }
        let mut bounds = if at_least.is_some() {
            vec!["mean", "max"]
        } else {
            vec![]
        };
        let mut quantile = |name: &'static str, q: f64| {
            let least = all.value_at_quantile(q);
            // The same place from the shortest on, among those alone that are known.
            let place = q * all.len() as f64 / histogram.len() as f64;
            let known = place <= 1.0 && histogram.value_at_quantile(place) as f64 <= least as f64 * KNOWN;
            if at_least.is_some() && !known {
                bounds.push(name);
            }
            ms(least)
        };
        Self::Full {
            count: all.len(),
            mean: all.mean() / 1e6,
            p50: quantile("p50", 0.5),
            p90: quantile("p90", 0.9),
            p99: quantile("p99", 0.99),
            p99_9: quantile("p99_9", 0.999),
            max: ms(all.max()),
            at_least: bounds,
        }
    }
}

/// A histogram of nanoseconds in HdrHistogram's second format, deflated, as base64: what its other implementations read.
pub(crate) fn encode(histogram: &Latencies) -> Result<String, EncodingFailed> {
    use base64::Engine as _;
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| EncodingFailed(error.to_string()))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}
