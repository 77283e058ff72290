//! Latencies in results: summaries, and histograms that other programs can read.

use dbdyno_load::latency::Latencies;
use dbdyno_protocol::event::Summary;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// A histogram could not be written.
#[derive(Debug, thiserror::Error)]
#[error("encoding a histogram: {0}")]
pub struct EncodingFailed(String);

/// A percentile counts as known if its upper bound is at most this many times its lower bound.
const KNOWN: f64 = 1.01;

/// Summarizes times.
///
/// `at_least`: lower bounds of times that were cut off. The summary lists a percentile as a lower bound if it would be
/// greater with all these times infinite. [`KNOWN`] is the tolerance.
pub fn summary(histogram: &Latencies, at_least: Option<&Latencies>) -> Summary {
    let at_least = at_least.filter(|at_least| !at_least.is_empty());
    let mut all = histogram.clone();
    // Both histograms have the same bounds, so adding cannot fail.
    let _ = at_least.map(|at_least| all.add(at_least));
    if all.is_empty() {
        return Summary::Empty { count: 0 };
    }
    let mut bounds = if at_least.is_some() {
        vec!["mean", "max"]
    } else {
        vec![]
    };
    let mut quantile = |name: &'static str, q: f64| {
        let least = all.value_at_quantile(q);
        // The rank of this percentile among the exact times alone, if all others were infinite.
        let place = q * all.len() as f64 / histogram.len() as f64;
        let known = place <= 1.0 && histogram.value_at_quantile(place) as f64 <= least as f64 * KNOWN;
        if at_least.is_some() && !known {
            bounds.push(name);
        }
        ms(least)
    };
    Summary::Full {
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

/// A histogram of nanoseconds in HdrHistogram's second format, deflated, as base64. Other implementations can read it.
pub fn encode(histogram: &Latencies) -> Result<String, EncodingFailed> {
    use base64::Engine as _;
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| EncodingFailed(error.to_string()))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// Milliseconds.
pub fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
