//! Statements by group.

use schemars::JsonSchema;
use serde::Serialize;

/// What the statements of a group did, all sessions and the warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// How often they were run.
    pub executions: u64,
    /// Rows they returned.
    pub rows: u64,
    /// Rows they changed.
    pub changed: u64,
    /// A hash over all values of all rows, in their order.
    pub ordered: u64,
    /// A hash in which the order of the rows within an execution does not matter.
    pub unordered: u64,
}
