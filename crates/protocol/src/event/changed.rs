//! The calls that a plan changes.

use schemars::JsonSchema;
use serde::Serialize;

/// Calls that were changed, by kind; null where the plan does not name the kind, or the server was never seen to make such a
/// call: then it may make them in a way that the preloaded library does not see.
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
    /// Seconds in the calls themselves: of a message, from its sending until its answer began to come; null for transactions.
    pub own_s: Option<f64>,
    /// Seconds that were added to them, by the clock.
    pub added_s: f64,
}
