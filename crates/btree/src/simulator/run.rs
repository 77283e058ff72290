//! A growing tree, and its counters.

use super::blocks::Blocks;
use super::cache::{Cache, Evicted};
use super::links::NONE;
use super::pages::{INNER, OTHER, Pages};
use super::system::System;
use super::{below, scaled};
use crate::split::{Place, Splitter};
use dbdyno_protocol::btree::Figures;
use dbdyno_protocol::btree::{Distance, Flush, Keys, Setting};
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// Leaves drawn in advance, so that their memory is prefetched.
const BATCH: usize = 64;
/// In smaller trees, leaves are not drawn in advance: an insert of the batch could split a leaf drawn for another.
const SMALL: usize = 8192;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) inserts: u64,
    pub(super) uses: u64,
    pub(super) reads: u64,
    pub(super) system_hits: u64,
    pub(super) inner_reads: u64,
    pub(super) inner_system_hits: u64,
    pub(super) dirty_evictions: u64,
    pub(super) checkpoint_writes: u64,
    pub(super) commit_writes: u64,
    pub(super) first_changes: u64,
    pub(super) dirtied: u64,
    pub(super) overflows: u64,
    pub(super) splits: u64,
    pub(super) log: f64,
}

#[derive(Debug)]
pub(super) struct Run {
    setting: Setting,
    splitter: Splitter,
    pub(super) pages: Pages,
    pub(super) cache: Cache,
    system: Option<System>,
    pub(super) blocks: Option<Blocks>,
    pub(super) rows: u64,
    other: f64,
    /// Whether checkpoints write all pages at once.
    sharp: bool,
    epoch: u16,
    /// Position of the next checkpoint, in inserts or bytes of log.
    due: f64,
    changed: VecDeque<(f64, u32)>,
    since: Vec<f64>,
    transaction: Vec<u32>,
    first_since: u64,
    pub(super) counts: Counts,
    /// Counters at the first and last checkpoint of the window.
    at_checkpoints: Option<(Counts, Counts)>,
    random: Xoshiro256PlusPlus,
}

impl Run {
    pub(super) fn new(setting: &Setting) -> Self {
        let tree = &setting.tree;
        let rows = setting.start.rows();
        let pages = Pages::new(rows, setting.bulk(), tree.fanout);
        let blocks = match setting.keys {
            Keys::Blocked { block, count } => Some(Blocks::new(block, count, rows, &pages)),
            _ => None,
        };
        let fuzzy = setting
            .checkpoints
            .is_some_and(|checkpoints| checkpoints.flush == Flush::Fuzzy);
        let frames = setting.cache.pages as usize;
        let mut run = Self {
            splitter: Splitter::new(tree),
            cache: Cache::new(setting.cache.policy, setting.cache.pages as u32),
            system: (setting.cache.system_pages > 0).then(|| System::new(setting.cache.system_pages as u32)),
            pages,
            blocks,
            rows,
            other: 0.0,
            sharp: setting.checkpoints.is_some() && !fuzzy,
            epoch: 1,
            due: 0.0,
            changed: VecDeque::new(),
            since: if fuzzy { vec![-1.0; frames] } else { Vec::new() },
            transaction: Vec::new(),
            first_since: 0,
            counts: Counts::default(),
            at_checkpoints: None,
            random: Xoshiro256PlusPlus::seed_from_u64(setting.seed),
            setting: setting.clone(),
        };
        run.due = run.distance();
        run
    }

    fn distance(&self) -> f64 {
        match self.setting.checkpoints.map(|checkpoints| checkpoints.every) {
            Some(Distance::Inserts { inserts }) => inserts as f64,
            Some(Distance::Log { bytes }) => bytes as f64,
            None => f64::INFINITY,
        }
    }

    fn position(&self) -> f64 {
        match self.setting.checkpoints.map(|checkpoints| checkpoints.every) {
            Some(Distance::Log { .. }) => self.counts.log,
            _ => self.counts.inserts as f64,
        }
    }

    pub(super) fn grow_to(&mut self, rows: u64) {
        self.insert_many(rows.saturating_sub(self.rows));
    }

    /// Inserts the window. Counters that depend on checkpoints are taken from the first to the last checkpoint of the
    /// window, if it has two.
    pub(super) fn measure(&mut self, window: u64) -> Figures {
        let (rows, leaves, start) = (self.rows, self.pages.leaves.len(), self.counts);
        self.at_checkpoints = None;
        self.insert_many(window);
        let end = self.counts;
        let (first, last) = match self.at_checkpoints {
            Some((first, last)) if last.inserts > first.inserts => (first, last),
            _ => (start, end),
        };
        let per = |count: fn(&Counts) -> u64| (count(&end) - count(&start)) as f64 / window as f64;
        let whole = (last.inserts - first.inserts) as f64;
        let per_checkpoint = |count: fn(&Counts) -> u64| (count(&last) - count(&first)) as f64 / whole;
        let leaves = (leaves + self.pages.leaves.len()) as f64 / 2.0;
        let tree = &self.setting.tree;
        let bytes = (rows as f64 + window as f64 / 2.0) * f64::from(tree.entry_bytes);
        Figures {
            rows,
            leaves,
            fill: bytes / (leaves * f64::from(tree.leaf_bytes)),
            hit_ratio: 1.0 - per(|counts| counts.reads) / per(|counts| counts.uses),
            reads: per(|counts| counts.reads),
            system_hits: per(|counts| counts.system_hits),
            inner_reads: per(|counts| counts.inner_reads),
            inner_system_hits: per(|counts| counts.inner_system_hits),
            dirty_evictions: per_checkpoint(|counts| counts.dirty_evictions),
            checkpoint_writes: per_checkpoint(|counts| counts.checkpoint_writes),
            commit_writes: per(|counts| counts.commit_writes),
            first_changes: per_checkpoint(|counts| counts.first_changes),
            log_bytes: (last.log - first.log) / whole,
            overflows: per(|counts| counts.overflows),
            splits: per(|counts| counts.splits),
        }
    }

    fn insert_many(&mut self, inserts: u64) {
        let end = self.rows + inserts;
        while self.rows < end {
            match self.setting.keys {
                Keys::Ordered => self.insert(self.pages.rightmost, None),
                Keys::Blocked { .. } => self.insert_blocked(),
                Keys::Random if self.pages.leaves.len() < SMALL => {
                    let leaf = self.draw();
                    self.insert(leaf, None);
                }
                Keys::Random => self.insert_batch(end),
            }
        }
    }

    fn draw(&mut self) -> u32 {
        let capacity = self.splitter.capacity;
        loop {
            let bits = self.random.next_u64();
            let leaf = scaled(bits as u32, self.pages.leaves.len() as u32);
            let count = u32::from(self.pages.leaves[leaf as usize].count);
            if scaled((bits >> 32) as u32, capacity) < count || self.rows == 0 {
                return leaf;
            }
        }
    }

    fn insert_batch(&mut self, end: u64) {
        let (leaves, capacity) = (self.pages.leaves.len() as u32, self.splitter.capacity);
        let mut drawn = [(0, 0); BATCH];
        for draw in &mut drawn {
            let bits = self.random.next_u64();
            *draw = (scaled(bits as u32, leaves), scaled((bits >> 32) as u32, capacity));
            super::prefetch(&self.pages.leaves, draw.0);
        }
        for &(leaf, least) in &drawn {
            let leaf = self.pages.leaves[leaf as usize];
            if least < u32::from(leaf.count) && leaf.frame != NONE {
                self.cache.prefetch(leaf.frame);
            }
        }
        for (leaf, least) in drawn {
            if least < u32::from(self.pages.leaves[leaf as usize].count) && self.rows < end {
                self.insert(leaf, None);
            }
        }
    }

    fn insert_blocked(&mut self) {
        if let Some(blocks) = &mut self.blocks {
            let (leaf, alike) = blocks.choose(self.rows, self.splitter.capacity, &self.pages, &mut self.random);
            self.insert(leaf, Some(alike));
        }
    }

    /// Inserts one entry. `alike`: the number of entries with its prefix in the leaf, for keys in blocks.
    #[inline]
    fn insert(&mut self, leaf: u32, alike: Option<u32>) {
        let parent = self.pages.leaves[leaf as usize].parent | INNER;
        self.use_page(parent, false);
        self.use_page(leaf, false);
        let state = &mut self.pages.leaves[leaf as usize];
        state.count += 1;
        let count = u32::from(state.count);
        if count > self.splitter.reserved {
            self.overflow(leaf, count, alike);
        }
        self.rows += 1;
        self.counts.inserts += 1;
        self.counts.log += self.setting.log.record_bytes;
        self.other += self.setting.tree.other_pages;
        while self.other >= 1.0 {
            self.other -= 1.0;
            self.enter(OTHER);
        }
        if self.setting.commit_every > 0 && self.counts.inserts.is_multiple_of(u64::from(self.setting.commit_every)) {
            self.commit();
        }
        if self.setting.checkpoints.is_some() {
            self.checkpoint();
        }
    }

    /// Uses a page, and changes it if it is a leaf.
    #[inline]
    fn use_page(&mut self, page: u32, new: bool) {
        let leaf = page & INNER == 0;
        let mut frame = self.pages.frame(page);
        self.counts.uses += u64::from(leaf);
        if frame == NONE {
            if !new {
                let found = self.system.as_mut().is_some_and(|system| system.touch(page));
                if leaf {
                    self.counts.reads += 1;
                    self.counts.system_hits += u64::from(found);
                } else {
                    self.counts.inner_reads += 1;
                    self.counts.inner_system_hits += u64::from(found);
                }
            }
            frame = self.enter(page);
        } else {
            self.cache.hit(frame, self.counts.inserts as u32);
        }
        if !leaf {
            return;
        }
        if self.cache.change(frame) {
            self.counts.dirtied += 1;
            if self.setting.commit_every > 0 {
                self.transaction.push(frame);
            }
            if !self.since.is_empty() {
                let now = self.position();
                self.since[frame as usize] = now;
                self.changed.push_back((now, frame));
            }
        }
        let state = &mut self.pages.leaves[page as usize];
        if state.epoch != self.epoch && self.sharp {
            state.epoch = self.epoch;
            self.counts.first_changes += 1;
            self.counts.log += self.setting.log.image_bytes;
        }
    }

    fn enter(&mut self, page: u32) -> u32 {
        let (frame, evicted) = self.cache.enter(page, self.counts.inserts as u32, &mut self.pages);
        if let Some(Evicted { page, dirty }) = evicted {
            self.counts.dirty_evictions += u64::from(dirty);
            if dirty || page == OTHER {
                self.write(page);
            }
        }
        frame
    }

    /// The operating system's cache sees the write.
    fn write(&mut self, page: u32) {
        if let Some(system) = &mut self.system {
            system.touch(page);
        }
    }

    #[cold]
    fn overflow(&mut self, leaf: u32, count: u32, alike: Option<u32>) {
        let place = self.place(leaf, count, alike);
        if count <= self.splitter.capacity && place == Place::Within {
            return;
        }
        self.counts.overflows += 1;
        let rightmost = leaf == self.pages.rightmost;
        let mut siblings = self.pages.siblings(leaf, &self.splitter);
        let empty_edge = matches!(
            self.splitter.rule,
            dbdyno_protocol::btree::SplitRule::Neighbours { empty_edge: true }
        );
        let parts = if siblings.count == 1 || (empty_edge && place == Place::Edge) {
            siblings.leaves[0] = leaf;
            siblings.count = 1;
            self.splitter.alone(count, rightmost, place)
        } else {
            let all = &siblings.leaves[..siblings.count];
            let entries = all
                .iter()
                .map(|&leaf| u32::from(self.pages.leaves[leaf as usize].count))
                .sum();
            self.splitter.among(entries, siblings.count)
        };
        for &sibling in siblings.leaves[..siblings.count]
            .iter()
            .filter(|&&sibling| sibling != leaf)
        {
            self.use_page(sibling, false);
        }
        let parts = parts.as_slice();
        while siblings.count < parts.len() {
            let new = self.pages.add_after(siblings.leaves[siblings.count - 1]);
            siblings.leaves[siblings.count] = new;
            siblings.count += 1;
            self.counts.splits += 1;
            self.use_page(new, true);
        }
        for (&leaf, &part) in siblings.leaves[..siblings.count].iter().zip(parts) {
            self.pages.leaves[leaf as usize].count = part as u16;
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.spread(&siblings.leaves[..siblings.count], parts);
        }
    }

    /// Position of the entry among its leaf's, as far as the engine's rule needs it.
    fn place(&mut self, leaf: u32, count: u32, alike: Option<u32>) -> Place {
        match self.setting.keys {
            Keys::Ordered => return Place::Edge,
            _ if !self.splitter.looks_at_last() => return Place::Within,
            _ => {}
        }
        // Among the gaps between entries with the same prefix, one is after the last insert and one before it.
        let alike = alike.unwrap_or(count - 1);
        if below(&mut self.random, u64::from(alike) + 1) >= 2 {
            return Place::Within;
        }
        let within = below(&mut self.random, u64::from(alike) + 1) as u32;
        let before = match &self.blocks {
            Some(blocks) => blocks.before(leaf, self.rows) + within,
            None => within,
        };
        Place::BesideLast(before.min(count - 1))
    }

    fn commit(&mut self) {
        let mut transaction = std::mem::take(&mut self.transaction);
        for frame in transaction.drain(..) {
            if self.cache.is_dirty(frame) {
                self.counts.commit_writes += 1;
                self.cache.clean(frame);
                self.write(self.cache.page(frame));
            }
        }
        self.transaction = transaction;
    }

    fn checkpoint(&mut self) {
        let position = self.position();
        if !self.since.is_empty() {
            let oldest = position - self.distance();
            while let Some(&(time, frame)) = self.changed.front().filter(|(time, _)| *time <= oldest) {
                self.changed.pop_front();
                if self.since[frame as usize] == time && self.cache.is_dirty(frame) {
                    self.write_changed(frame);
                }
            }
            return;
        }
        if position < self.due {
            return;
        }
        self.due = position + self.distance();
        if self.setting.commit_every > 0 {
            // Commits wrote the pages to the log; the checkpoint writes each to the file once.
            self.counts.checkpoint_writes += self.counts.first_changes - self.first_since;
            self.first_since = self.counts.first_changes;
        } else {
            for frame in 0..self.cache.frames() {
                if self.cache.is_dirty(frame) {
                    self.write_changed(frame);
                }
            }
        }
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            // The epoch counter wrapped around, so old values must not match.
            self.pages.leaves.iter_mut().for_each(|leaf| leaf.epoch = 0);
            self.epoch = 1;
        }
        let first = self.at_checkpoints.map_or(self.counts, |(first, _)| first);
        self.at_checkpoints = Some((first, self.counts));
    }

    fn write_changed(&mut self, frame: u32) {
        self.counts.checkpoint_writes += 1;
        self.cache.clean(frame);
        self.write(self.cache.page(frame));
    }
}
