//! The operating system's cache behind the engine's, with LRU eviction. It sees pages when the engine reads and writes
//! them, but not when the engine evicts a clean page.

use super::links::{Links, NONE};
use super::pages::{INNER, OTHER};

#[derive(Debug)]
pub(super) struct System {
    capacity: usize,
    page: Vec<u32>,
    links: Links,
    leaves: Vec<u32>,
    inner: Vec<u32>,
}

impl System {
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            capacity: capacity as usize,
            page: Vec::with_capacity(capacity as usize),
            links: Links::new(capacity as usize),
            leaves: Vec::new(),
            inner: Vec::new(),
        }
    }

    fn place(&mut self, page: u32) -> &mut u32 {
        let (places, index) = if page & INNER == 0 {
            (&mut self.leaves, page as usize)
        } else {
            (&mut self.inner, (page & !INNER) as usize)
        };
        if places.len() <= index {
            places.resize(index + 1, NONE);
        }
        &mut places[index]
    }

    /// Reads or writes a page. Returns whether it was cached.
    pub(super) fn touch(&mut self, page: u32) -> bool {
        let found = if page == OTHER { NONE } else { *self.place(page) };
        if found != NONE {
            self.links.remove(0, found);
            self.links.push_newest(0, found);
            return true;
        }
        let frame = if self.page.len() < self.capacity {
            self.page.push(page);
            self.page.len() as u32 - 1
        } else {
            let frame = self.links.oldest(0);
            self.links.remove(0, frame);
            let old = std::mem::replace(&mut self.page[frame as usize], page);
            if old != OTHER {
                *self.place(old) = NONE;
            }
            frame
        };
        self.links.push_newest(0, frame);
        if page != OTHER {
            *self.place(page) = frame;
        }
        false
    }
}
