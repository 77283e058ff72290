//! The calls that a plan changes.

use schemars::JsonSchema;
use serde::Serialize;

/// Calls that were changed, by kind. Null if the plan does not name the kind, or if the preloaded library saw no such
/// call of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// Flushes of the device.
    pub sync: Option<Calls>,
    /// Reads from data files.
    pub read: Option<Calls>,
    /// Writes to data files.
    pub write: Option<Calls>,
    /// Messages to the server and their answers.
    pub message: Option<Calls>,
    /// Openings of sessions.
    pub connect: Option<Calls>,
    /// Transactions.
    pub transaction: Option<Calls>,
}

/// What was counted of a kind of call in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// Seconds in the calls themselves. For a message: from sending it to the first byte of its answer. Null for
    /// transactions.
    pub own_s: Option<f64>,
    /// Seconds added to them, by the clock.
    pub added_s: f64,
}
