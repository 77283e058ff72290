//! Inputs of generators.

use crate::random::Stream;
use crate::value::Owned;

/// Inputs of a generated value: the stream, the variables, and the position in the work.
pub struct Scope<'a> {
    /// The seed that the tables are filled with.
    pub seed: u64,
    /// The random stream.
    pub stream: &'a mut Stream,
    /// The row number; only meaningful for samplers compiled for rows.
    pub row: u64,
    /// The transaction's variables.
    pub variables: &'a [Owned],
    /// Uses of each serial generator by this client.
    pub counters: &'a mut [u64],
    /// The client's number and the number of clients.
    pub client: (u32, u32),
}

/// The index of a value: the row number, or the number of uses of the counter over all clients.
pub(super) fn index(counter: Option<usize>, scope: &mut Scope<'_>) -> u64 {
    match counter {
        None => scope.row,
        Some(slot) => {
            let used = scope.counters[slot];
            scope.counters[slot] += 1;
            used * u64::from(scope.client.1) + u64::from(scope.client.0)
        }
    }
}
