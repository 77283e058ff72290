//! Inputs of generators.

use crate::key_space::Taken;
use crate::random::Stream;
use crate::value::Owned;

/// Inputs of a generated value: the stream, the variables, and the position in the work.
pub struct Scope<'a> {
    /// The seed that the tables are filled with.
    pub seed: u64,
    /// The random stream.
    pub stream: &'a mut Stream,
    /// The row; only meaningful for samplers compiled for rows.
    pub row: Position,
    /// The transaction's variables.
    pub variables: &'a [Owned],
    /// Uses of each serial generator by this client.
    pub counters: &'a mut [u64],
    /// The client's number and the number of clients.
    pub client: (u32, u32),
    /// The keys that the transaction has taken from key spaces.
    pub taken: Option<&'a mut Taken>,
    /// Why an expression of a row had no value, if one had none. Its value is null.
    pub problem: Option<Box<str>>,
}

/// A row of a table. All numbers count from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Its number.
    pub row: u64,
    /// The number of its parent's row, in a table with rows per row of another table.
    pub parent: u64,
    /// Its number among the rows of its parent.
    pub child: u64,
    /// The parent's own parent, and the parent's number among its rows.
    pub above: (u64, u64),
}

impl Position {
    /// A row of a table without parents.
    pub fn of(row: u64) -> Self {
        Self { row, ..Self::default() }
    }

    /// The parent's row.
    pub fn of_parent(self) -> Self {
        let (parent, child) = self.above;
        Self {
            row: self.parent,
            parent,
            child,
            above: (0, 0),
        }
    }
}

/// The index of a value: the row number, or the number of uses of the counter over all clients.
pub(super) fn index(counter: Option<usize>, scope: &mut Scope<'_>) -> u64 {
    match counter {
        None => scope.row.row,
        Some(slot) => {
            let used = scope.counters[slot];
            scope.counters[slot] += 1;
            used * u64::from(scope.client.1) + u64::from(scope.client.0)
        }
    }
}
