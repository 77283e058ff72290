//! How long transactions occupied their clients.

use schemars::JsonSchema;
use serde::Serialize;

/// Durations of transactions: their number, sum and sum of squares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cycles {
    /// The number of transactions, including failed ones.
    pub count: u64,
    /// Their sum in seconds.
    pub seconds: f64,
    /// The sum of their squares in square seconds.
    pub squares: f64,
}
