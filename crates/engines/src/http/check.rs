//! HTTP, and what holds of it in its own words.

use super::HttpTarget;
use dbdyno_engine::Failure;
use dbdyno_engine::driver::Tell;

/// Makes the checks on the target's service.
pub fn check(_target: &HttpTarget, _tell: Tell<'_>) -> Result<(), Failure> {
    Ok(())
}
