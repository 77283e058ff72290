//! The random distributions and hashes of expressions.

use super::error::EvaluationError;
use crate::random::{Stream, below};
use rand::Rng as _;
use rand_distr::{Distribution, StandardNormal, Zipf};

/// The number of integers from `low` to `high`.
fn width(low: i64, high: i64) -> Result<u64, EvaluationError> {
    if low > high {
        return Err(EvaluationError::Argument(format!(
            "the range from {low} to {high} is empty"
        )));
    }
    match high.checked_sub(low).and_then(|difference| difference.checked_add(1)) {
        Some(width) => Ok(width as u64),
        None => Err(EvaluationError::Argument(format!(
            "the range from {low} to {high} is too large"
        ))),
    }
}

/// A real number from 0 up to but not including 1, with 53 random bits.
fn unit(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// The integer at a fraction of a range, from 0 up to but not including 1.
fn at(share: f64, low: i64, width: u64) -> i64 {
    let offset = ((width as f64 * share) as u64).min(width - 1);
    low.wrapping_add(offset as i64)
}

/// All integers of a range equally likely.
pub fn uniform(low: i64, high: i64, stream: &mut Stream) -> Result<i64, EvaluationError> {
    let width = width(low, high)?;
    Ok(low.wrapping_add(below(stream.next_u64(), width) as i64))
}

/// A normal distribution truncated at `parameter` standard deviations from the middle of the range, and scaled to it.
/// With the distribution function Φ and the middle m, a value i has the probability f(i + 0.5) - f(i - 0.5), where f(x)
/// = Φ(2 parameter (x - m) / width) / (2 Φ(parameter) - 1).
///
/// PostgreSQL 15 documentation, pgbench, "Built-In Functions".
pub fn gaussian(low: i64, high: i64, parameter: f64, stream: &mut Stream) -> Result<i64, EvaluationError> {
    let width = width(low, high)?;
    if parameter.is_nan() || parameter < 2.0 {
        let problem = format!("the parameter of random_gaussian must be at least 2, not {parameter}");
        return Err(EvaluationError::Argument(problem));
    }
    loop {
        let draw: f64 = StandardNormal.sample(stream);
        if draw >= -parameter && draw < parameter {
            return Ok(at((draw + parameter) / (2.0 * parameter), low, width));
        }
    }
}

/// An exponential distribution scaled to the range and truncated at its end. A value i has the probability f(i) - f(i +
/// 1), where f(x) = exp(-parameter (x - low) / width) / (1 - exp(-parameter)).
///
/// PostgreSQL 15 documentation, pgbench, "Built-In Functions". Drawn by inverting the distribution function.
pub fn exponential(low: i64, high: i64, parameter: f64, stream: &mut Stream) -> Result<i64, EvaluationError> {
    let width = width(low, high)?;
    if parameter.is_nan() || parameter <= 0.0 {
        let problem = format!("the parameter of random_exponential must be above 0, not {parameter}");
        return Err(EvaluationError::Argument(problem));
    }
    // 1 - exp(-p), and the logarithm of 1 - u (1 - exp(-p)), both accurate for small p.
    let reach = -(-parameter).exp_m1();
    Ok(at(-(-unit(stream) * reach).ln_1p() / parameter, low, width))
}

/// A Zipf distribution over the range: the k-th value has a probability proportional to 1 / k^parameter.
///
/// PostgreSQL 15 documentation, pgbench, "Built-In Functions", with the parameters it allows.
pub fn zipfian(low: i64, high: i64, parameter: f64, stream: &mut Stream) -> Result<i64, EvaluationError> {
    let width = width(low, high)?;
    if !(1.001..=1000.0).contains(&parameter) {
        let problem = format!("the parameter of random_zipfian must be between 1.001 and 1000, not {parameter}");
        return Err(EvaluationError::Argument(problem));
    }
    // With such a parameter the distribution always exists.
    let rank = Zipf::new(width as f64, parameter).map_or(1, |ranks| ranks.sample(stream) as u64);
    Ok(low.wrapping_add((rank.clamp(1, width) - 1) as i64))
}

/// FNV-1a over the eight bytes of an integer, the lowest first; the seed changes the starting value.
///
/// Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", 64 bits.
pub fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ seed as u64;
    let hash = value.to_le_bytes().iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    hash as i64
}

/// `MurmurHash64A` (Appleby, "MurmurHash2", 2008) over the eight bytes of an integer, which are a single block.
pub fn hash_murmur2(value: i64, seed: i64) -> i64 {
    const M: u64 = 0xC6A4_A793_5BD1_E995;
    const R: u32 = 47;
    const LENGTH: u64 = 8;
    let block = (value as u64).wrapping_mul(M);
    let block = (block ^ (block >> R)).wrapping_mul(M);
    let hash = ((seed as u64 ^ LENGTH.wrapping_mul(M)) ^ block).wrapping_mul(M);
    let hash = (hash ^ (hash >> R)).wrapping_mul(M);
    (hash ^ (hash >> R)) as i64
}

/// The position of a value in a permutation of the integers below `size`. It differs from pgbench's permutation, whose
/// algorithm is not documented.
pub fn permute(value: i64, size: i64, seed: i64) -> Result<i64, EvaluationError> {
    if size <= 0 {
        let problem = format!("the size of permute must be above 0, not {size}");
        return Err(EvaluationError::Argument(problem));
    }
    let place = value as u64 % size as u64;
    Ok(crate::random::permute(place, size as u64, seed as u64) as i64)
}
