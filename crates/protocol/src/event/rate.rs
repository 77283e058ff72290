//! Transactions per second, in parts that add up across processes.

use schemars::JsonSchema;
use serde::Serialize;

/// The least share of the window that the whole transactions of independent clients cover.
const COVERED: f64 = 0.5;

/// The rate of a trial, in parts that add up across processes. Transactions per second are the sum of `many_per_s`,
/// [`Rate::few_per_s`] and `whole.completed / whole.seconds`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// The sum over clients of many transactions.
    pub many_per_s: f64,
    /// Clients of few transactions.
    pub few: Few,
    /// Transactions of a window that ended by a number of transactions or statements, or of an open loop.
    pub whole: Whole,
    /// Seconds that transactions took, summed over clients.
    pub client_s: f64,
    /// Clients.
    pub clients: u64,
}

/// Clients that completed few transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Few {
    /// The number of clients.
    pub clients: u64,
    /// The transactions that they completed.
    pub completed: u64,
    /// Seconds that these took, summed over clients.
    pub seconds: f64,
    /// Transactions within the window: whole ones, and the parts of transactions that its ends cut.
    pub within: f64,
    /// Seconds of the window, summed over these clients.
    pub window_s: f64,
}

/// Transactions completed in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Whole {
    /// Transactions; a fraction if the window's end cut some.
    pub completed: f64,
    /// The time.
    pub seconds: f64,
}

impl Rate {
    /// Transactions per second.
    pub fn per_s(&self) -> f64 {
        let by = |above: f64, below: f64| if below > 0.0 { above / below } else { 0.0 };
        self.many_per_s + self.few_per_s() + by(self.whole.completed, self.whole.seconds)
    }

    /// Transactions per second of the clients with few transactions.
    ///
    /// `clients · completed / seconds`. If their transactions cover less than half the window, or if there are several
    /// such clients beside clients with many transactions: `clients · within / window_s`. A single client keeps the
    /// first form, because it waits for no other client.
    fn few_per_s(&self) -> f64 {
        let few = &self.few;
        let (several, beside_many) = (few.clients > 1, self.many_per_s > 0.0);
        let uncovered = few.seconds < COVERED * few.window_s;
        let (done, seconds) = if (several && beside_many) || (uncovered && (several || beside_many)) {
            (few.within, few.window_s)
        } else {
            (few.completed as f64, few.seconds)
        };
        if seconds > 0.0 {
            few.clients as f64 * done / seconds
        } else {
            0.0
        }
    }
}
