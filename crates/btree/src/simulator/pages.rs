//! The pages of the tree: its leaves in key order, and the level above them. Higher levels occupy the cache but always
//! hit, because each of their pages is used by as many inserts as thousands of leaves.

use super::links::NONE;
use crate::split::Splitter;

/// Distinguishes pages of the level above the leaves from leaves.
pub(super) const INNER: u32 = 1 << 31;
/// A page of another object, which is never used again.
pub(super) const OTHER: u32 = NONE;

#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// Its frame in the cache, or `NONE`.
    pub(super) frame: u32,
    pub(super) parent: u32,
    /// The checkpoint after which it was last changed.
    pub(super) epoch: u16,
    /// Number of entries.
    pub(super) count: u16,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Inner {
    pub(super) frame: u32,
    children: u32,
    first: u32,
}

#[derive(Debug)]
pub(super) struct Pages {
    pub(super) leaves: Vec<Leaf>,
    pub(super) inner: Vec<Inner>,
    next: Vec<u32>,
    previous: Vec<u32>,
    pub(super) rightmost: u32,
    fanout: u32,
}

impl Pages {
    /// A tree of one leaf, or of leaves filled as in a newly built index.
    pub(super) fn new(rows: u64, per_leaf: u32, fanout: u32) -> Self {
        let count = rows.div_ceil(u64::from(per_leaf)).max(1) as u32;
        let per_inner = (fanout * 9 / 10).max(2);
        let mut pages = Self {
            leaves: Vec::with_capacity(count as usize),
            inner: Vec::new(),
            next: (1..=count).collect(),
            previous: (0..count).map(|leaf| leaf.wrapping_sub(1)).collect(),
            rightmost: count - 1,
            fanout,
        };
        pages.next[count as usize - 1] = NONE;
        let mut rest = rows;
        for leaf in 0..count {
            if leaf % per_inner == 0 {
                pages.inner.push(Inner {
                    frame: NONE,
                    children: 0,
                    first: leaf,
                });
            }
            let parent = pages.inner.len() as u32 - 1;
            pages.inner[parent as usize].children += 1;
            let entries = rest.min(u64::from(per_leaf));
            rest -= entries;
            pages.leaves.push(Leaf {
                frame: NONE,
                parent,
                epoch: 0,
                count: entries as u16,
            });
        }
        pages
    }

    pub(super) fn frame(&self, page: u32) -> u32 {
        if page & INNER == 0 {
            self.leaves[page as usize].frame
        } else {
            self.inner[(page & !INNER) as usize].frame
        }
    }

    pub(super) fn set_frame(&mut self, page: u32, frame: u32) {
        if page == OTHER {
        } else if page & INNER == 0 {
            self.leaves[page as usize].frame = frame;
        } else {
            self.inner[(page & !INNER) as usize].frame = frame;
        }
    }

    /// The leaf and its neighbors over which an overflow is distributed, in key order.
    pub(super) fn siblings(&self, leaf: u32, splitter: &Splitter) -> Siblings {
        let mut found = Siblings {
            leaves: [leaf, NONE, NONE, NONE],
            count: 1,
        };
        if splitter.takes_neighbours() {
            let (left, right) = (self.previous[leaf as usize], self.next[leaf as usize]);
            let all = match (left, right) {
                (NONE, NONE) => return found,
                (NONE, right) => [leaf, right, self.next[right as usize]],
                (left, NONE) => [self.previous[left as usize], left, leaf],
                (left, right) => [left, leaf, right],
            };
            found.count = 0;
            for sibling in all.into_iter().filter(|&sibling| sibling != NONE) {
                found.leaves[found.count] = sibling;
                found.count += 1;
            }
        }
        found
    }

    /// Adds a leaf after another.
    pub(super) fn add_after(&mut self, leaf: u32) -> u32 {
        let new = self.leaves.len() as u32;
        let next = self.next[leaf as usize];
        self.next[leaf as usize] = new;
        self.next.push(next);
        self.previous.push(leaf);
        if next == NONE {
            self.rightmost = new;
        } else {
            self.previous[next as usize] = new;
        }
        let parent = self.leaves[leaf as usize].parent;
        self.leaves.push(Leaf {
            frame: NONE,
            parent,
            epoch: 0,
            count: 0,
        });
        self.inner[parent as usize].children += 1;
        if self.inner[parent as usize].children > self.fanout {
            self.split_inner(parent, next == NONE);
        }
        new
    }

    /// The rightmost page keeps 70% (PostgreSQL's `BTREE_NONLEAF_FILLFACTOR`); other pages are split in the middle.
    fn split_inner(&mut self, parent: u32, rightmost: bool) {
        let Inner { children, first, .. } = self.inner[parent as usize];
        let keep = if rightmost { children * 7 / 10 } else { children / 2 };
        let mut leaf = first;
        for _ in 0..keep {
            leaf = self.next[leaf as usize];
        }
        let new = self.inner.len() as u32;
        self.inner[parent as usize].children = keep;
        self.inner.push(Inner {
            frame: NONE,
            children: children - keep,
            first: leaf,
        });
        for _ in keep..children {
            self.leaves[leaf as usize].parent = new;
            leaf = self.next[leaf as usize];
        }
    }

    /// Leaves in key order.
    #[cfg(test)]
    pub(super) fn in_order(&self) -> impl Iterator<Item = u32> + '_ {
        let mut leaf = self.inner[0].first;
        std::iter::from_fn(move || {
            let this = leaf;
            (this != NONE).then(|| {
                leaf = self.next[this as usize];
                this
            })
        })
    }
}

/// Up to three neighboring leaves, and space for a new one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Siblings {
    pub(super) leaves: [u32; crate::split::MOST_LEAVES],
    pub(super) count: usize,
}
