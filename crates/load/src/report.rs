//! What a client has to say when it has ended.

use dbdyno_engine::SessionCounters;

/// What ended a client's window; of all clients, the greatest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
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

/// What one client has to say when it has ended, beside what its thread recorded. Times in nanoseconds of the clock, which
/// stands still between slices.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientReport {
    /// When its first transaction that counts began.
    pub begun: u64,
    /// When the last one ended, which may be after the window.
    pub ended: u64,
    /// Of the transactions that it began in the window, those that ended well, then or later.
    pub completed: u64,
    /// Whether the last of those ended after the window.
    pub late: bool,
    /// The part of that one which lies in the window, 0 to 1.
    pub cut: f64,
    /// The part in the window of the transaction that ended well and lies across its start, 0 to 1.
    pub led_in: f64,
    /// Nanoseconds that it went on after its slices.
    pub overrun: u64,
    /// Why no further one was begun.
    pub ended_by: EndedBy,
    /// Transactions that ended well and do not count, of the warm-up and around the window.
    pub uncounted: u64,
    /// Where later values of its counters go on; see [`dbdyno_plan::document::Trial::first_use`].
    pub next_use: u64,
    /// What the engine counted for the client's sessions from the first that counts to the last.
    pub session: SessionCounters,
}
