//! Tables that were filled.

use schemars::JsonSchema;
use serde::Serialize;

/// The time to load a table.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Loaded {
    /// The table, the statement that ran after all tables were filled, or in parentheses a step of the loader itself.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
}
