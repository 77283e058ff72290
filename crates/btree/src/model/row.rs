//! A row of neighboring leaves, for SQLite's split rule.
//!
//! That rule involves neighbors, and neighbors that were balanced together fill up together, so the distribution of
//! leaves by entries doesn't determine the next step. Without a formula for it, a row of leaves is simulated
//! one insert at a time, without keys or a cache. When the row gets long, only half of it is kept, with double weight.

use crate::split::{Place, Splitter};
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Maximum number of leaves in a row.
const LONGEST: usize = 2000;

#[derive(Debug, Clone)]
pub(super) struct Row {
    splitter: Splitter,
    leaves: Vec<u32>,
    entries: u64,
    times: f64,
    overflows: f64,
    /// Whether all inserts are at the right edge.
    edge: bool,
    random: Xoshiro256PlusPlus,
}

impl Row {
    pub(super) fn new(splitter: Splitter, per_leaf: u32, entries: f64, edge: bool) -> Self {
        let all = (entries / f64::from(per_leaf)).max(1.0);
        let leaves = (all.round() as usize).min(LONGEST / 2);
        let per_leaf = if all <= 1.0 { entries.max(1.0) as u32 } else { per_leaf };
        Self {
            splitter,
            leaves: vec![per_leaf; leaves],
            entries: leaves as u64 * u64::from(per_leaf),
            times: all / leaves as f64,
            overflows: 0.0,
            edge,
            random: Xoshiro256PlusPlus::seed_from_u64(7),
        }
    }

    pub(super) fn leaves(&self) -> f64 {
        self.leaves.len() as f64 * self.times
    }

    pub(super) fn entries(&self) -> f64 {
        self.entries as f64 * self.times
    }

    pub(super) fn overflows(&self) -> f64 {
        self.overflows
    }

    pub(super) fn grow(&mut self, entries: f64) {
        while self.entries() + self.times / 2.0 < entries {
            if self.leaves.len() > LONGEST {
                let kept = if self.edge { LONGEST / 2 } else { 0 };
                let kept = &self.leaves[kept..kept + LONGEST / 2];
                let sum: u64 = kept.iter().map(|&leaf| u64::from(leaf)).sum();
                self.times *= self.entries as f64 / sum as f64;
                self.leaves = kept.to_vec();
                self.entries = sum;
            }
            self.insert();
        }
    }

    fn insert(&mut self) {
        let leaf = if self.edge {
            self.leaves.len() - 1
        } else {
            loop {
                let bits = self.random.next_u64();
                let leaf = (((bits & 0xffff_ffff) * self.leaves.len() as u64) >> 32) as usize;
                if (((bits >> 32) * u64::from(self.splitter.capacity)) >> 32) < u64::from(self.leaves[leaf]) {
                    break leaf;
                }
            }
        };
        self.leaves[leaf] += 1;
        self.entries += 1;
        if self.leaves[leaf] <= self.splitter.capacity {
            return;
        }
        self.overflows += self.times;
        let empty_edge = matches!(
            self.splitter.rule,
            dbdyno_protocol::btree::SplitRule::Neighbours { empty_edge: true }
        );
        if self.leaves.len() == 1 || (empty_edge && self.edge) {
            let place = if self.edge { Place::Edge } else { Place::Within };
            let parts = self.splitter.alone(self.leaves[leaf], true, place);
            self.leaves.splice(leaf..=leaf, parts.as_slice().iter().copied());
            return;
        }
        let last = self.leaves.len();
        let first = leaf.saturating_sub(1).min(last.saturating_sub(3));
        let siblings = first..(first + 3).min(last);
        let count = siblings.len();
        let sum = self.leaves[siblings.clone()].iter().sum();
        let parts = self.splitter.among(sum, count);
        self.leaves.splice(siblings, parts.as_slice().iter().copied());
    }
}
