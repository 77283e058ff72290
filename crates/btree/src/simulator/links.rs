//! Doubly linked lists in arrays, from the most to the least recent.

/// No element.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    newer: u32,
    older: u32,
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    newest: u32,
    oldest: u32,
    len: u32,
}

/// Two lists over the same elements; each element is in at most one.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    ends: [Ends; 2],
}

impl Links {
    pub(super) fn new(places: usize) -> Self {
        let link = Link {
            newer: NONE,
            older: NONE,
        };
        let ends = Ends {
            newest: NONE,
            oldest: NONE,
            len: 0,
        };
        Self {
            links: vec![link; places],
            ends: [ends; 2],
        }
    }

    pub(super) fn len(&self, list: usize) -> u32 {
        self.ends[list].len
    }

    pub(super) fn newest(&self, list: usize) -> u32 {
        self.ends[list].newest
    }

    pub(super) fn oldest(&self, list: usize) -> u32 {
        self.ends[list].oldest
    }

    pub(super) fn prefetch(&self, place: u32) {
        super::prefetch(&self.links, place);
    }

    pub(super) fn push_newest(&mut self, list: usize, place: u32) {
        let ends = &mut self.ends[list];
        self.links[place as usize] = Link {
            newer: NONE,
            older: ends.newest,
        };
        match ends.newest {
            NONE => ends.oldest = place,
            newest => self.links[newest as usize].newer = place,
        }
        ends.newest = place;
        ends.len += 1;
    }

    pub(super) fn push_oldest(&mut self, list: usize, place: u32) {
        let ends = &mut self.ends[list];
        self.links[place as usize] = Link {
            newer: ends.oldest,
            older: NONE,
        };
        match ends.oldest {
            NONE => ends.newest = place,
            oldest => self.links[oldest as usize].older = place,
        }
        ends.oldest = place;
        ends.len += 1;
    }

    pub(super) fn remove(&mut self, list: usize, place: u32) {
        let Link { newer, older } = self.links[place as usize];
        let ends = &mut self.ends[list];
        match newer {
            NONE => ends.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => ends.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        ends.len -= 1;
    }
}
