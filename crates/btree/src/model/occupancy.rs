//! Distribution of leaves by number of entries, as the tree grows.
//!
//! A leaf with j of n entries receives the next entry with probability j/n, whether the tree was grown or built. So the
//! expected numbers of leaves by entries follow a linear equation in ln n (Yao, "On random 2-3 trees", 1978; Eisenbarth
//! et al., "The theory of fringe analysis and its application to 2-3 trees and B-trees", 1982). For splits in the
//! middle, the fill factor converges to ln 2, but its oscillation decays slowly if leaves have many entries, so it is
//! computed step by step.

use crate::split::{Place, Splitter};

/// Maximum number of classes by entries; for larger leaves, a class covers several entry counts.
const CLASSES: u32 = 512;
/// Share of a class's entries that advance in a step. Longer steps would narrow the distribution.
const STEP: f64 = 0.1;

#[derive(Debug, Clone)]
pub(super) struct Occupancy {
    splitter: Splitter,
    unit: f64,
    /// Leaves by number of entries, in units.
    by_entries: Vec<f64>,
    /// The rightmost leaf, if it splits differently.
    right: Vec<f64>,
    entries: f64,
    overflows: f64,
}

impl Occupancy {
    fn empty(splitter: Splitter) -> Self {
        let unit = splitter.capacity.div_ceil(CLASSES);
        let splitter = Splitter {
            capacity: splitter.capacity / unit,
            reserved: splitter.reserved / unit,
            ..splitter
        };
        let classes = splitter.capacity as usize + 2;
        Self {
            splitter,
            unit: f64::from(unit),
            by_entries: vec![0.0; classes],
            right: vec![0.0; classes],
            entries: 0.0,
            overflows: 0.0,
        }
    }

    /// One leaf with one entry.
    pub(super) fn seed(splitter: Splitter) -> Self {
        let mut seed = Self::empty(splitter);
        let first = if splitter.has_right_apart() {
            &mut seed.right
        } else {
            &mut seed.by_entries
        };
        first[1] = 1.0;
        seed.entries = seed.unit;
        seed
    }

    /// Equally filled leaves.
    pub(super) fn alike(splitter: Splitter, per_leaf: f64, entries: f64) -> Self {
        let mut alike = Self::empty(splitter);
        let class = ((per_leaf / alike.unit) as usize).clamp(1, alike.splitter.capacity as usize);
        alike.by_entries[class] = entries / (class as f64 * alike.unit);
        alike.entries = entries;
        alike
    }

    pub(super) fn leaves(&self) -> f64 {
        self.by_entries.iter().chain(&self.right).sum()
    }

    /// Overflows since the first entry.
    pub(super) fn overflows(&self) -> f64 {
        self.overflows
    }

    /// Grows to this number of entries.
    pub(super) fn grow(&mut self, entries: f64) {
        let longest = STEP / f64::from(self.splitter.capacity);
        let span = (entries / self.entries).ln();
        if span <= 0.0 {
            return;
        }
        let steps = (span / longest).ceil();
        let mut flows = vec![0.0; self.by_entries.len()];
        for _ in 0..steps as u64 {
            self.step(span / steps, &mut flows);
        }
        // Corrects rounding errors.
        let counted: f64 = self.weigh(&self.by_entries) + self.weigh(&self.right);
        let correction = entries / counted;
        self.by_entries
            .iter_mut()
            .chain(&mut self.right)
            .for_each(|leaves| *leaves *= correction);
        self.entries = entries;
    }

    fn weigh(&self, leaves: &[f64]) -> f64 {
        leaves
            .iter()
            .enumerate()
            .map(|(class, leaves)| class as f64 * self.unit * leaves)
            .sum()
    }

    /// `flows`: see [`advance`].
    fn step(&mut self, span: f64, flows: &mut [f64]) {
        let capacity = self.splitter.capacity as usize;
        let reserved = self.splitter.reserved as usize;
        let reserves = self.splitter.looks_at_last().then_some(reserved);
        let (full, even) = advance(&mut self.by_entries, flows, span, reserves);
        let full_right = if self.splitter.has_right_apart() {
            advance(&mut self.right, flows, span, None).0
        } else {
            0.0
        };
        self.overflows += full + even + full_right;
        self.entries *= span.exp();
        if even > 0.0 {
            let each = 2.0 * even / reserved as f64;
            self.by_entries[1..=reserved]
                .iter_mut()
                .for_each(|leaves| *leaves += each);
        }
        if full_right > 0.0
            && let &[left, right] = self.splitter.alone(capacity as u32 + 1, true, Place::Within).as_slice()
        {
            self.by_entries[left as usize] += full_right;
            self.right[right as usize] += full_right;
        }
        if full > 0.0 {
            self.overflow(full);
        }
    }

    fn overflow(&mut self, full: f64) {
        let over = self.splitter.capacity + 1;
        for &part in self.splitter.alone(over, false, Place::Within).as_slice() {
            self.by_entries[part as usize] += full;
        }
    }
}

/// Moves leaves to the next class. Returns the number of leaves that exceed the last class, and the number that split
/// in the middle at the insert: a share of the leaves with at least `reserves` entries.
///
/// `flows`: the moving leaves. All losses are computed before the gains, which allows vectorization.
fn advance(leaves: &mut [f64], flows: &mut [f64], span: f64, reserves: Option<usize>) -> (f64, f64) {
    let capacity = leaves.len() - 2;
    for (class, (flow, leaves)) in flows.iter_mut().zip(&mut leaves[..=capacity]).enumerate() {
        *flow = *leaves * class as f64 * span;
        *leaves -= *flow;
    }
    let mut even = 0.0;
    for class in reserves.into_iter().flat_map(|least| (least.max(1)..=capacity).rev()) {
        let beside = flows[class] * (2.0 / (class as f64 + 1.0)).min(1.0);
        flows[class] -= beside;
        even += beside;
    }
    for (leaves, flow) in leaves[1..=capacity].iter_mut().zip(&flows[..capacity]) {
        *leaves += flow;
    }
    (flows[capacity], even)
}
