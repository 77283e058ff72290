//! Results of statements: row counts and hashes.

use dbdyno_engine::probe::Tally;
use dbdyno_program::value::Value;

/// Adds the results of other statements.
pub(super) fn add(tally: &mut Tally, other: &Tally) {
    tally.executions += other.executions;
    tally.rows += other.rows;
    tally.changed += other.changed;
    tally.ordered = chain(tally.ordered, other.ordered);
    tally.unordered = chain(tally.unordered, other.unordered);
}

/// Appends one hash to another.
pub(super) fn chain(first: u64, second: u64) -> u64 {
    bytes_hash(first, &second.to_le_bytes())
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo 1991; RFC 9923), starting from an earlier hash instead of the offset basis.
fn bytes_hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Appends a value and its type to a hash.
pub(super) fn value_hash(start: u64, value: Value<'_>) -> u64 {
    match value {
        Value::Null => bytes_hash(start, b"n"),
        Value::Integer(v) => bytes_hash(bytes_hash(start, b"i"), &v.to_le_bytes()),
        Value::Real(v) => bytes_hash(bytes_hash(start, b"r"), &v.to_bits().to_le_bytes()),
        Value::Text(v) => bytes_hash(bytes_hash(start, b"t"), v.as_bytes()),
        Value::Bytes(v) => bytes_hash(bytes_hash(start, b"b"), v),
    }
}
