//! Executions beside the clients.

use schemars::JsonSchema;
use serde::Serialize;

/// An execution, in seconds.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Execution {
    /// From the window's start to its start.
    pub at_s: f64,
    /// From its start to its end.
    pub seconds: f64,
}
