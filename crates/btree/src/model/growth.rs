//! Number of leaves at a given size, depending on the key order.

use super::occupancy::Occupancy;
use super::row::Row;
use crate::error::Impossible;
use crate::split::Splitter;
use dbdyno_protocol::btree::{Keys, Setting, SplitRule, Start};

/// A tree at one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) leaves: f64,
    /// Overflows since the start.
    pub(super) overflows: f64,
}

/// A growing tree; query its sizes in ascending order.
#[derive(Debug)]
pub(super) enum Growth {
    /// Random keys, with leaves split individually.
    Alone(Occupancy),
    /// Random keys, with splits that involve neighbors.
    Beside(Row),
    /// Ordered keys.
    Edge {
        start: Start,
        /// Entries per leaf after building the index.
        bulk: f64,
        /// Entries that remain in a leaf.
        per_leaf: f64,
        /// Overflows per leaf.
        overflows: f64,
    },
}

impl Growth {
    /// Fails with `NoFormula` for a key order without formulas.
    pub(super) fn new(setting: &Setting) -> Result<Self, Impossible> {
        let splitter = Splitter::new(&setting.tree);
        let bulk = setting.bulk();
        let rows = setting.start.rows() as f64;
        Ok(match setting.keys {
            Keys::Blocked { .. } => return Err(Impossible::NoFormula),
            Keys::Ordered => {
                let (per_leaf, overflows) = edge(splitter);
                Self::Edge {
                    start: setting.start,
                    bulk: f64::from(bulk),
                    per_leaf,
                    overflows,
                }
            }
            Keys::Random if splitter.takes_neighbours() && rows > 0.0 => {
                Self::Beside(Row::new(splitter, bulk, rows, false))
            }
            Keys::Random if splitter.takes_neighbours() => Self::Beside(Row::new(splitter, 1, 1.0, false)),
            Keys::Random if rows > 0.0 => Self::Alone(Occupancy::alike(splitter, f64::from(bulk), rows)),
            Keys::Random => Self::Alone(Occupancy::seed(splitter)),
        })
    }

    /// Entries that remain in a leaf at the right edge; 0 for random keys.
    pub(super) fn per_leaf(&self) -> f64 {
        match self {
            Self::Edge { per_leaf, .. } => *per_leaf,
            Self::Alone(_) | Self::Beside(_) => 0.0,
        }
    }

    pub(super) fn at(&mut self, rows: f64) -> Size {
        match self {
            Self::Alone(leaves) => {
                leaves.grow(rows);
                Size {
                    leaves: leaves.leaves(),
                    overflows: leaves.overflows(),
                }
            }
            Self::Beside(leaves) => {
                leaves.grow(rows);
                Size {
                    leaves: leaves.leaves(),
                    overflows: leaves.overflows(),
                }
            }
            Self::Edge {
                start,
                bulk,
                per_leaf,
                overflows,
            } => {
                let built = start.rows() as f64;
                let new = (rows - built) / *per_leaf;
                Size {
                    leaves: built / *bulk + new.max(1.0),
                    overflows: *overflows * new,
                }
            }
        }
    }
}

/// Entries that remain in a leaf if all inserts are at the right edge, and overflows per leaf.
fn edge(splitter: Splitter) -> (f64, f64) {
    let capacity = f64::from(splitter.capacity);
    match splitter.rule {
        SplitRule::Middle { rightmost: share } => ((capacity * share).floor(), 1.0),
        SplitRule::LastInsert { .. } => (f64::from(splitter.reserved), 1.0),
        SplitRule::Neighbours { empty_edge: true } => (capacity, 1.0),
        // Three full leaves become four. The first of these keeps 7/8; the others are rebalanced repeatedly until they
        // are full.
        SplitRule::Neighbours { empty_edge: false } => {
            let mut row = Row::new(splitter, 1, 1.0, true);
            row.grow(200.0 * capacity);
            (row.entries() / row.leaves(), row.overflows() / row.leaves())
        }
    }
}
