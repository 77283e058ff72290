//! Results of statements: row counts and hashes.

use dbdyno_engine::probe::Tally;
pub(super) use dbdyno_engine::result_rows::{chain, value_hash};

/// Adds the results of other statements.
pub(super) fn add(tally: &mut Tally, other: &Tally) {
    tally.executions += other.executions;
    tally.rows += other.rows;
    tally.changed += other.changed;
    tally.ordered = chain(tally.ordered, other.ordered);
    tally.unordered = chain(tally.unordered, other.unordered);
}
