//! Why a window ended.

use schemars::JsonSchema;
use serde::Serialize;

/// What ended a client's window; of all clients, the greatest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// The number of transactions.
    #[default]
    Transactions,
    /// The number of statements.
    Statements,
    /// The number of rows changed.
    Rows,
    /// The time.
    Seconds,
    /// The trial was asked to stop.
    Interrupted,
}
