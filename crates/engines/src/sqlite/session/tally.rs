//! What statements gave: how many rows, and hashes of them.

use dbdyno_plan::value::Value;
use serde::Serialize;

/// What the statements of a group did, all sessions and the warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How often they were run.
    pub executions: u64,
    /// Rows they returned.
    pub rows: u64,
    /// Rows they changed.
    pub changed: u64,
    /// A hash over all values of all rows, in their order.
    pub ordered: u64,
    /// A hash in which the order of the rows within an execution does not matter.
    pub unordered: u64,
}

impl Tally {
    /// Adds another's.
    pub(super) fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.rows += other.rows;
        self.changed += other.changed;
        self.ordered = chain(self.ordered, other.ordered);
        self.unordered = chain(self.unordered, other.unordered);
    }
}

/// Puts one hash behind another.
pub(super) fn chain(first: u64, second: u64) -> u64 {
    bytes_hash(first, &second.to_le_bytes())
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo 1991; RFC 9923), begun with an earlier hash in place of its offset.
fn bytes_hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Puts a value, with its type, behind a hash.
pub(super) fn value_hash(start: u64, value: Value<'_>) -> u64 {
    match value {
        Value::Null => bytes_hash(start, b"n"),
        Value::Integer(v) => bytes_hash(bytes_hash(start, b"i"), &v.to_le_bytes()),
        Value::Real(v) => bytes_hash(bytes_hash(start, b"r"), &v.to_bits().to_le_bytes()),
        Value::Text(v) => bytes_hash(bytes_hash(start, b"t"), v.as_bytes()),
        Value::Bytes(v) => bytes_hash(bytes_hash(start, b"b"), v),
    }
}
