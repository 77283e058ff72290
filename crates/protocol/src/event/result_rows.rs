//! The rows of executions.

use schemars::JsonSchema;
use serde::Serialize;

/// The rows that a statement returned in one execution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ExecutionRows {
    /// The statement's index in the plan.
    pub statement: usize,
    /// Number of rows returned.
    pub returned: u64,
    /// Number of rows changed.
    pub changed: u64,
    /// A hash over the values of all rows except for floating-point numbers, in which the order of the rows doesn't
    /// matter; null if the engine does not pass on all rows.
    pub digest: Option<u64>,
    /// For each column, the sum of its floating-point numbers.
    pub sums: Vec<f64>,
    /// For each column, the sum of their absolute values.
    pub magnitudes: Vec<f64>,
    /// The rows in order, each as a JSON array; null if they are too many to report. Bytes are objects with their
    /// hexadecimal digits.
    pub rows: Option<Vec<String>>,
}
