//! Latencies in the form in which results have them: summaries, and histograms that other programs can read.

use dbdyno_load::latency::Latencies;
use dbdyno_protocol::event::Summary;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// A histogram could not be written.
#[derive(Debug, thiserror::Error)]
#[error("encoding a histogram: {0}")]
pub struct EncodingFailed(String);

/// A percentile that may be greater by less than this is known.
const KNOWN: f64 = 1.01;

/// Sums up times.
///
/// `at_least`: times that would have been so long or longer. A percentile is known where it is the same whether these are
/// as long as they are known to be, or without an end; else the former is a lower bound of it.
pub fn summary(histogram: &Latencies, at_least: Option<&Latencies>) -> Summary {
    let at_least = at_least.filter(|at_least| !at_least.is_empty());
    let mut all = histogram.clone();
    // All have the same bounds, so nothing can fail to fit.
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
        // The same place from the shortest on, among those alone that are known.
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

/// A histogram of nanoseconds in HdrHistogram's second format, deflated, as base64: what its other implementations read.
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
