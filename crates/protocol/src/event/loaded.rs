//! Tables that were filled.

use schemars::JsonSchema;
use serde::Serialize;

/// What loading a table took.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Loaded {
    /// The table, the statement that came when all were filled, or in parentheses what the loader did by itself.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
}
