//! Transactions per second, in parts that add up across processes.

use schemars::JsonSchema;
use serde::Serialize;

/// The share of the window that whole transactions of clients which do not depend on one another cover at least.
const COVERED: f64 = 0.5;

/// The rate of a trial in parts that can be added to those of other processes: transactions a second are `many_per_s`
/// and, where they are not nothing, what [`Rate::few_per_s`] says and `whole.completed / whole.seconds`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// The sum over clients of many transactions.
    pub many_per_s: f64,
    /// Clients of few transactions.
    pub few: Few,
    /// A window that a number of transactions or statements ended, or one of an open loop: what was completed in it.
    pub whole: Whole,
    /// Seconds that the clients' transactions took, summed over clients.
    pub client_s: f64,
    /// Clients.
    pub clients: u64,
}

/// Clients that completed few transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Few {
    /// How many.
    pub clients: u64,
    /// What they completed.
    pub completed: u64,
    /// The time it took, summed over them.
    pub seconds: f64,
    /// What they completed of the window's own time: whole transactions, and the parts of those that its ends cut.
    pub within: f64,
    /// The window's length, summed over them.
    pub window_s: f64,
}

/// What was completed in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Whole {
    /// Transactions; a fraction where the window's end cut some.
    pub completed: f64,
    /// The time.
    pub seconds: f64,
}

impl Rate {
    /// Transactions a second.
    pub fn per_s(&self) -> f64 {
        let by = |above: f64, below: f64| if below > 0.0 { above / below } else { 0.0 };
        self.many_per_s + self.few_per_s() + by(self.whole.completed, self.whole.seconds)
    }

    /// Transactions a second of the clients of few.
    ///
    /// `clients · completed / seconds`; but `clients · within / window_s` beside clients of many, and where several
    /// clients' transactions cover less than half the window.
    fn few_per_s(&self) -> f64 {
        let few = &self.few;
        let depend = self.many_per_s > 0.0 || few.seconds < COVERED * few.window_s;
        let (done, seconds) = if few.clients > 1 && depend {
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
