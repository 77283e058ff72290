//! Prefixes of a leaf's entries, for keys in blocks: runs of entries with the same prefix within a leaf, linked in key
//! order.

use super::links::NONE;
use super::pages::Pages;
use rand::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug, Clone, Copy)]
struct Run {
    leaf: u32,
    next: u32,
    prefix: u32,
    count: u32,
    /// Its index among the runs of its prefix.
    slot: u32,
}

#[derive(Debug)]
pub(super) struct Blocks {
    block: u64,
    runs: Vec<Run>,
    unused: Vec<u32>,
    prefixes: Vec<Vec<u32>>,
    /// The first run of each leaf.
    first: Vec<u32>,
    last: u32,
}

impl Blocks {
    /// The runs for the rows in `pages`, which are the first rows of the sequence.
    pub(super) fn new(block: u64, count: u64, rows: u64, pages: &Pages) -> Self {
        let mut blocks = Self {
            block,
            runs: Vec::new(),
            unused: Vec::new(),
            prefixes: vec![Vec::new(); count as usize],
            first: Vec::with_capacity(pages.leaves.len()),
            last: NONE,
        };
        let round = block.saturating_mul(count);
        let (full, rest) = (rows / round, rows % round);
        let of = |prefix: u64| full * block + rest.saturating_sub(prefix * block).min(block);
        let (mut prefix, mut left) = (0, of(0));
        for (leaf, state) in pages.leaves.iter().enumerate() {
            blocks.first.push(NONE);
            let mut room = u64::from(state.count);
            while room > 0 {
                if left == 0 {
                    prefix += 1;
                    left = of(prefix);
                }
                let entries = room.min(left);
                let after = blocks.last;
                let run = blocks.add(after, leaf as u32, prefix as u32, entries as u32);
                if blocks.first[leaf] == NONE {
                    blocks.first[leaf] = run;
                }
                room -= entries;
                left -= entries;
            }
        }
        blocks
    }

    fn add(&mut self, after: u32, leaf: u32, prefix: u32, count: u32) -> u32 {
        let next = if after == NONE {
            NONE
        } else {
            self.runs[after as usize].next
        };
        let run = Run {
            leaf,
            next,
            prefix,
            count,
            slot: self.prefixes[prefix as usize].len() as u32,
        };
        let number = match self.unused.pop() {
            Some(number) => {
                self.runs[number as usize] = run;
                number
            }
            None => {
                self.runs.push(run);
                self.runs.len() as u32 - 1
            }
        };
        self.prefixes[prefix as usize].push(number);
        if after != NONE {
            self.runs[after as usize].next = number;
        }
        if after == self.last {
            self.last = number;
        }
        number
    }

    /// The leaf for the insert with this number in the sequence, and the number of entries with its prefix in that
    /// leaf. A key is equally likely in each gap of its prefix, so runs are drawn in proportion to their entries.
    pub(super) fn choose(
        &mut self,
        number: u64,
        capacity: u32,
        pages: &Pages,
        random: &mut Xoshiro256PlusPlus,
    ) -> (u32, u32) {
        let prefix = (number / self.block % self.prefixes.len() as u64) as usize;
        let runs = &self.prefixes[prefix];
        let chosen = if runs.is_empty() {
            // A new prefix is the highest.
            let run = self.add(self.last, pages.rightmost, prefix as u32, 0);
            let first = &mut self.first[pages.rightmost as usize];
            if *first == NONE {
                *first = run;
            }
            run
        } else if runs.len() <= 4 {
            let all: u64 = runs.iter().map(|&run| u64::from(self.runs[run as usize].count)).sum();
            let mut draw = super::below(random, all.max(1));
            *runs
                .iter()
                .find(|&&run| {
                    let count = u64::from(self.runs[run as usize].count);
                    let found = draw < count;
                    draw = draw.wrapping_sub(count);
                    found
                })
                .unwrap_or(&runs[0])
        } else {
            loop {
                let bits = random.next_u64();
                let run = runs[super::scaled(bits as u32, runs.len() as u32) as usize];
                if super::scaled((bits >> 32) as u32, capacity) < self.runs[run as usize].count {
                    break run;
                }
            }
        };
        let run = &mut self.runs[chosen as usize];
        run.count += 1;
        (run.leaf, run.count - 1)
    }

    /// Number of the leaf's entries before those with an insert's prefix.
    pub(super) fn before(&self, leaf: u32, number: u64) -> u32 {
        let prefix = (number / self.block % self.prefixes.len() as u64) as u32;
        let mut before = 0;
        let mut run = self.first[leaf as usize];
        while run != NONE && self.runs[run as usize].leaf == leaf && self.runs[run as usize].prefix != prefix {
            before += self.runs[run as usize].count;
            run = self.runs[run as usize].next;
        }
        before
    }

    /// Redistributes the runs of neighboring leaves, in order, according to new entry counts. Some of the leaves may be
    /// new.
    pub(super) fn spread(&mut self, leaves: &[u32], parts: &[u32]) {
        let mut run = self.first[leaves[0] as usize];
        let mut before = NONE;
        for (&leaf, &part) in leaves.iter().zip(parts) {
            if self.first.len() <= leaf as usize {
                self.first.resize(leaf as usize + 1, NONE);
            }
            let mut room = part;
            let mut fresh = true;
            while room > 0 && run != NONE {
                let Run {
                    count, next, prefix, ..
                } = self.runs[run as usize];
                let taken = count.min(room);
                if taken < count {
                    self.runs[run as usize].count = taken;
                    self.add(run, leaf, prefix, count - taken);
                }
                self.runs[run as usize].leaf = leaf;
                room -= taken;
                let following = if taken < count {
                    self.runs[run as usize].next
                } else {
                    next
                };
                if fresh {
                    self.first[leaf as usize] = run;
                    fresh = false;
                    before = run;
                } else if self.runs[before as usize].prefix == prefix {
                    self.runs[before as usize].count += taken;
                    self.drop_after(before, run);
                } else {
                    before = run;
                }
                run = following;
            }
        }
    }

    fn drop_after(&mut self, before: u32, run: u32) {
        let Run { next, prefix, slot, .. } = self.runs[run as usize];
        self.runs[before as usize].next = next;
        if self.last == run {
            self.last = before;
        }
        let runs = &mut self.prefixes[prefix as usize];
        runs.swap_remove(slot as usize);
        if let Some(&moved) = runs.get(slot as usize) {
            self.runs[moved as usize].slot = slot;
        }
        self.unused.push(run);
    }

    /// Entries per leaf according to the runs.
    #[cfg(test)]
    pub(super) fn entries(&self, leaves: usize) -> Vec<u64> {
        let mut entries = vec![0; leaves];
        for runs in &self.prefixes {
            for &run in runs {
                entries[self.runs[run as usize].leaf as usize] += u64::from(self.runs[run as usize].count);
            }
        }
        entries
    }
}
