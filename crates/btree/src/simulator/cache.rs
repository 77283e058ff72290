//! The engine's cache: frames, and the choice of the frame to evict.

use super::links::{Links, NONE};
use super::pages::{OTHER, Pages};
use dbdyno_protocol::btree::Policy;

const USES: u8 = 0b111;
const DIRTY: u8 = 1 << 3;
/// In the second list: for the midpoint policy the old sublist, for SQLite the changed pages.
const SECOND: u8 = 1 << 4;
/// PostgreSQL's `BM_MAX_USAGE_COUNT`.
const MOST_USES: u8 = 5;
/// Tolerance of the length of InnoDB's old sublist in pages (`BUF_LRU_OLD_TOLERANCE`).
const TOLERANCE: u32 = 20;

#[derive(Debug)]
pub(super) struct Cache {
    policy: Policy,
    capacity: u32,
    page: Vec<u32>,
    meta: Vec<u8>,
    /// The clock's hand.
    hand: u32,
    /// Empty for the clock policy.
    links: Links,
    /// For the midpoint policy: when a page was first used, and the number of evictions when it was moved to the head.
    first_use: Vec<u32>,
    stamp: Vec<u32>,
    freed: u32,
}

/// An evicted page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evicted {
    pub(super) page: u32,
    pub(super) dirty: bool,
}

impl Cache {
    pub(super) fn new(policy: Policy, capacity: u32) -> Self {
        let linked = !matches!(policy, Policy::Clock);
        let timed = matches!(policy, Policy::Midpoint { .. });
        let places = |wanted| if wanted { capacity as usize } else { 0 };
        Self {
            policy,
            capacity,
            page: Vec::with_capacity(capacity as usize),
            meta: Vec::with_capacity(capacity as usize),
            hand: 0,
            links: Links::new(places(linked)),
            first_use: vec![0; places(timed)],
            stamp: vec![0; places(timed)],
            freed: 0,
        }
    }

    pub(super) fn frames(&self) -> u32 {
        self.page.len() as u32
    }

    pub(super) fn page(&self, frame: u32) -> u32 {
        self.page[frame as usize]
    }

    pub(super) fn is_dirty(&self, frame: u32) -> bool {
        self.meta[frame as usize] & DIRTY != 0
    }

    pub(super) fn prefetch(&self, frame: u32) {
        super::prefetch(&self.meta, frame);
        self.links.prefetch(frame);
    }

    /// Marks a page as changed. Returns whether it was clean.
    pub(super) fn change(&mut self, frame: u32) -> bool {
        let was = self.meta[frame as usize];
        self.meta[frame as usize] |= DIRTY;
        if matches!(self.policy, Policy::CleanFirst) && was & SECOND == 0 {
            self.relist(frame, 1);
        }
        was & DIRTY == 0
    }

    /// Marks a page as written.
    pub(super) fn clean(&mut self, frame: u32) {
        self.meta[frame as usize] &= !DIRTY;
        if matches!(self.policy, Policy::CleanFirst) && self.meta[frame as usize] & SECOND != 0 {
            self.relist(frame, 0);
        }
    }

    fn list(&self, frame: u32) -> usize {
        usize::from(self.meta[frame as usize] & SECOND != 0)
    }

    fn relist(&mut self, frame: u32, list: usize) {
        self.links.remove(self.list(frame), frame);
        self.links.push_newest(list, frame);
        self.meta[frame as usize] = self.meta[frame as usize] & !SECOND | if list == 1 { SECOND } else { 0 };
    }

    /// Records a use of a cached page.
    #[inline]
    pub(super) fn hit(&mut self, frame: u32, now: u32) {
        match self.policy {
            Policy::Clock => {
                let meta = &mut self.meta[frame as usize];
                if *meta & USES < MOST_USES {
                    *meta += 1;
                }
            }
            Policy::Lru | Policy::CleanFirst => self.relist(frame, self.list(frame)),
            Policy::Midpoint { old_inserts } => {
                let place = frame as usize;
                let old = self.meta[place] & SECOND != 0;
                // `buf_page_peek_if_too_old`: a young page is moved to the head only if it is behind the first quarter.
                let ready = if old {
                    u64::from(now.wrapping_sub(self.first_use[place])) >= old_inserts
                } else {
                    self.freed.wrapping_sub(self.stamp[place]) > self.capacity / 32 * 5
                };
                if ready {
                    self.relist(frame, 0);
                    self.stamp[place] = self.freed;
                    self.balance();
                }
            }
        }
    }

    /// Adds a page. Returns its frame, and the evicted page if any.
    #[inline]
    pub(super) fn enter(&mut self, page: u32, now: u32, pages: &mut Pages) -> (u32, Option<Evicted>) {
        let (frame, evicted) = if self.frames() < self.capacity {
            self.page.push(page);
            self.meta.push(0);
            (self.frames() - 1, None)
        } else {
            let frame = self.victim(pages);
            let old = self.page[frame as usize];
            pages.set_frame(old, NONE);
            let evicted = Evicted {
                page: old,
                dirty: self.is_dirty(frame),
            };
            self.page[frame as usize] = page;
            self.meta[frame as usize] = 0;
            (frame, Some(evicted))
        };
        pages.set_frame(page, frame);
        match self.policy {
            // A page that is being filled is used by many inserts.
            Policy::Clock => self.meta[frame as usize] = if page == OTHER { MOST_USES } else { 1 },
            Policy::Lru | Policy::CleanFirst => self.links.push_newest(0, frame),
            Policy::Midpoint { .. } => {
                self.meta[frame as usize] = SECOND;
                self.links.push_newest(1, frame);
                self.first_use[frame as usize] = now;
                self.balance();
            }
        }
        (frame, evicted)
    }

    fn victim(&mut self, pages: &Pages) -> u32 {
        match self.policy {
            Policy::Clock => loop {
                let frame = self.hand;
                self.hand = if frame + 1 == self.capacity { 0 } else { frame + 1 };
                if let Some(&ahead) = self.page.get(frame as usize + 16) {
                    super::prefetch(&pages.leaves, ahead);
                }
                let meta = &mut self.meta[frame as usize];
                if *meta & USES == 0 {
                    return frame;
                }
                *meta -= 1;
            },
            Policy::Lru | Policy::CleanFirst => {
                // Changed pages only if there is no clean one.
                let list = usize::from(self.links.len(0) == 0);
                let frame = self.links.oldest(list);
                self.links.remove(list, frame);
                self.prefetch_oldest(list, pages);
                frame
            }
            Policy::Midpoint { .. } => {
                let list = usize::from(self.links.len(1) > 0);
                let frame = self.links.oldest(list);
                self.links.remove(list, frame);
                self.freed = self.freed.wrapping_add(1);
                self.prefetch_oldest(list, pages);
                frame
            }
        }
    }

    fn prefetch_oldest(&self, list: usize, pages: &Pages) {
        let oldest = self.links.oldest(list);
        if oldest != NONE {
            super::prefetch(&pages.leaves, self.page[oldest as usize]);
        }
    }

    /// Keeps 3/8 of the pages in the old sublist (`buf_LRU_old_adjust_len`).
    fn balance(&mut self) {
        let all = self.links.len(0) + self.links.len(1);
        let wanted = (u64::from(all) * 3 / 8) as u32;
        let tolerance = TOLERANCE.min(all / 16);
        while self.links.len(1) > wanted + tolerance {
            let frame = self.links.newest(1);
            self.links.remove(1, frame);
            self.links.push_oldest(0, frame);
            self.meta[frame as usize] &= !SECOND;
            self.stamp[frame as usize] = self.freed;
        }
        while self.links.len(1) + tolerance < wanted {
            let frame = self.links.oldest(0);
            self.links.remove(0, frame);
            self.links.push_newest(1, frame);
            self.meta[frame as usize] |= SECOND;
        }
    }
}
