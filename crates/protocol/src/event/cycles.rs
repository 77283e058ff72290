//! How long transactions occupied their clients.

use schemars::JsonSchema;
use serde::Serialize;

/// Times of transactions: how many, their sum in seconds, and that of their squares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cycles {
    /// How many, those that failed included.
    pub count: u64,
    /// Their sum in seconds.
    pub seconds: f64,
    /// The sum of their squares in square seconds.
    pub squares: f64,
}
