//! What values are made from.

use crate::random::Stream;
use crate::value::Owned;

/// What a value is made from: the stream, the variables, and where in the work we are.
pub struct Scope<'a> {
    /// The seed with which the tables are or were filled.
    pub seed: u64,
    /// The random stream.
    pub stream: &'a mut Stream,
    /// The row's number; of meaning only to makers compiled for rows.
    pub row: u64,
    /// The transaction's variables.
    pub variables: &'a [Owned],
    /// How often each serial generator of this client has been used.
    pub counters: &'a mut [u64],
    /// The client's number and the number of clients.
    pub client: (u32, u32),
}

/// The index of a value: the row's number, or how often the client has used the counter, among all clients.
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
