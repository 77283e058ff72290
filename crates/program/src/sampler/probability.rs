//! Probabilities and weighted choices as bounds on a random number.

use crate::random::Stream;
use dbdyno_protocol::plan::PlanError;
use rand::Rng as _;

/// A probability as a bound on a random 64-bit number.
pub fn probability(share: f64, path: &str) -> Result<u64, PlanError> {
    if (0.0..=1.0).contains(&share) {
        // 1.0 becomes 2^64 - 1, so one draw in 2^64 is wrong.
        Ok((share * 18_446_744_073_709_551_616.0) as u64)
    } else {
        Err(PlanError::invalid(
            path,
            format!("{share} is not a probability; it must be between 0 and 1"),
        ))
    }
}

/// Cumulative bounds on a random 64-bit number, one per weight.
pub fn thresholds(weights: &[f64], path: &str) -> Result<Box<[u64]>, PlanError> {
    let total: f64 = weights.iter().sum();
    if !(total.is_finite() && total > 0.0 && weights.iter().all(|weight| *weight >= 0.0)) {
        return Err(PlanError::invalid(
            path,
            "weights must not be negative, and their sum must be positive",
        ));
    }
    let mut sum = 0.0;
    let mut bounds: Box<[u64]> = weights
        .iter()
        .map(|weight| {
            sum += weight;
            (sum / total * 18_446_744_073_709_551_616.0) as u64
        })
        .collect();
    // Rounding must not leave a gap at the top, so the last nonzero weight ends there.
    if let Some(last) = weights.iter().rposition(|weight| *weight > 0.0) {
        bounds[last..].fill(u64::MAX);
    }
    Ok(bounds)
}

/// Chooses by cumulative bounds. A single choice needs no draw.
#[inline]
pub fn choose(thresholds: &[u64], stream: &mut Stream) -> usize {
    if thresholds.len() == 1 {
        return 0;
    }
    let draw = stream.next_u64();
    thresholds
        .iter()
        .position(|bound| draw < *bound)
        .unwrap_or(thresholds.len() - 1)
}
