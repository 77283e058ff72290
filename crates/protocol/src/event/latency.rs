//! Latencies in summary.

use schemars::JsonSchema;
use serde::Serialize;

/// The percentiles, mean and maximum of times in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Summary {
    /// Without any times.
    Empty {
        /// Always 0.
        count: u64,
    },
    /// With at least one time.
    Full {
        /// The number of times.
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
        /// The names of the statistics that are lower bounds.
        at_least: Vec<&'static str>,
    },
}
