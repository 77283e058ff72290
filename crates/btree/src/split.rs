//! Entries of each leaf after an overflow. The simulator and the model share these rules.

use dbdyno_protocol::btree::{SplitRule, Tree};

/// Maximum number of leaves after an overflow: three siblings and a new one.
pub(crate) const MOST_LEAVES: usize = 4;

/// Position of the entry that caused the overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Somewhere in the leaf.
    Within,
    /// After all other keys of the tree, and directly after the previous insert.
    Edge,
    /// Next to the leaf's last insert, with this number of entries before it.
    BesideLast(u32),
}

/// Entries of the leaves after an overflow, in key order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    entries: [u32; MOST_LEAVES],
    leaves: usize,
}

impl Parts {
    fn pair(left: u32, right: u32) -> Self {
        Self {
            entries: [left, right, 0, 0],
            leaves: 2,
        }
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.entries[..self.leaves]
    }
}

/// The rules of an engine for leaves of one capacity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Splitter {
    pub(crate) rule: SplitRule,
    pub(crate) capacity: u32,
    /// Number of entries from which InnoDB considers the order of inserts.
    pub(crate) reserved: u32,
}

impl Splitter {
    pub(crate) fn new(tree: &Tree) -> Self {
        Self {
            rule: tree.split,
            capacity: tree.capacity(),
            reserved: tree.reserved(),
        }
    }

    /// Whether neighbors are involved.
    pub(crate) fn takes_neighbours(&self) -> bool {
        matches!(self.rule, SplitRule::Neighbours { .. })
    }

    /// Whether the rule depends on the last insert of the leaf.
    pub(crate) fn looks_at_last(&self) -> bool {
        matches!(self.rule, SplitRule::LastInsert { .. })
    }

    /// Whether the rightmost leaf splits differently from other leaves.
    pub(crate) fn has_right_apart(&self) -> bool {
        matches!(self.rule, SplitRule::Middle { .. })
    }

    /// Splits one leaf with `entries`, including the new one.
    pub(crate) fn alone(&self, entries: u32, rightmost: bool, place: Place) -> Parts {
        match (self.rule, place) {
            (SplitRule::Middle { rightmost: share }, _) if rightmost => {
                let left = (f64::from(self.capacity) * share) as u32;
                let left = left.clamp(1, entries - 1);
                Parts::pair(left, entries - left)
            }
            // A new leaf with only the new entry.
            (SplitRule::LastInsert { .. } | SplitRule::Neighbours { empty_edge: true }, Place::Edge) => {
                Parts::pair(entries - 1, 1)
            }
            // `btr_page_get_split_rec_to_right`: the entry after the new one stays too.
            (SplitRule::LastInsert { .. }, Place::BesideLast(before)) => {
                let left = (before + 2).clamp(1, entries - 1);
                Parts::pair(left, entries - left)
            }
            _ => Parts::pair(entries.div_ceil(2), entries / 2),
        }
    }

    /// Distributes the entries of up to three neighbors like `balance_nonroot`: fills leaves from the left, then
    /// balances each pair from the right, so that the left ones stay fuller (three full leaves become 7/8, 7/8, 3/4,
    /// 1/2). The cells that an index moves into its inner pages, one per leaf, count for the leaf. Leaves are never
    /// removed, although SQLite may remove one.
    pub(crate) fn among(&self, entries: u32, siblings: usize) -> Parts {
        let leaves = (entries.div_ceil(self.capacity) as usize).clamp(siblings, MOST_LEAVES);
        let mut parts = Parts {
            entries: [0; MOST_LEAVES],
            leaves,
        };
        let mut rest = entries;
        for part in &mut parts.entries[..leaves] {
            *part = rest.min(self.capacity);
            rest -= *part;
        }
        for right in (1..leaves).rev() {
            let both = parts.entries[right - 1] + parts.entries[right];
            parts.entries[right] = both / 2;
            parts.entries[right - 1] = both - both / 2;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splitter(rule: SplitRule) -> Splitter {
        Splitter {
            rule,
            capacity: 160,
            reserved: 150,
        }
    }

    #[test]
    fn each_engine_splits_its_own_way() {
        let nbtree = splitter(SplitRule::Middle { rightmost: 0.9 });
        assert_eq!(nbtree.alone(161, false, Place::Within).as_slice(), [81, 80]);
        assert_eq!(nbtree.alone(161, true, Place::Within).as_slice(), [144, 17]);
        let innodb = splitter(SplitRule::LastInsert { reserve: true });
        assert_eq!(innodb.alone(151, true, Place::Edge).as_slice(), [150, 1]);
        assert_eq!(innodb.alone(151, false, Place::BesideLast(20)).as_slice(), [22, 129]);
        assert_eq!(innodb.alone(161, false, Place::Within).as_slice(), [81, 80]);
    }

    #[test]
    fn sqlite_leaves_the_left_siblings_fuller() {
        let sqlite = splitter(SplitRule::Neighbours { empty_edge: false });
        assert_eq!(sqlite.among(481, 3).as_slice(), [141, 140, 120, 80]);
        assert_eq!(sqlite.among(400, 3).as_slice(), [140, 140, 120]);
        assert_eq!(sqlite.among(161, 1).as_slice(), [81, 80]);
    }
}
