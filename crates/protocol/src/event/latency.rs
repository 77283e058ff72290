//! Latencies in summary.

use schemars::JsonSchema;
use serde::Serialize;

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
