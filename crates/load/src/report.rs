//! The final report of a client.

use dbdyno_engine::SessionCounters;
pub use dbdyno_protocol::event::EndedBy;

/// The final report of a client, in addition to its thread's recorder. Times are nanoseconds of the clock, which stops
/// between slices.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientReport {
    /// When its first counted transaction began.
    pub begun: u64,
    /// When its last counted transaction ended, which may be after the window.
    pub ended: u64,
    /// Transactions begun in the window that completed, in it or later.
    pub completed: u64,
    /// Whether the last of these ended after the window.
    pub late: bool,
    /// The fraction of that transaction within the window, 0 to 1.
    pub cut: f64,
    /// The fraction within the window of the transaction that spans its start, 0 to 1.
    pub led_in: f64,
    /// Nanoseconds by which it overran its slices.
    pub overrun: u64,
    /// Why it stopped beginning transactions.
    pub ended_by: EndedBy,
    /// Completed transactions that don't count: the warm-up's, and those around the window.
    pub uncounted: u64,
    /// The first value that a later trial may use for its counters; see [`dbdyno_protocol::plan::document::Trial::first_use`].
    pub next_use: u64,
    /// The engine's counters for the client's sessions, from the first counted transaction to the last.
    pub session: SessionCounters,
}
