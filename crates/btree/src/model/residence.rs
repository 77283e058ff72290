//! How long a page stays in the cache after its last use, by policy.
//!
//! As in the approximation of Che, Tung and Wang ("Hierarchical Web caching systems: modeling, design and experimental
//! results", 2002), a large cache has one characteristic time: the time to pass through the list, or the clock's
//! revolution. It is the time at which the resident pages exactly fill the cache.

use super::locality::Locality;
use dbdyno_protocol::btree::Policy;

/// A share of uses, and the number of inserts after which the page is evicted unless it is used again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stay {
    pub(super) share: f64,
    pub(super) inserts: f64,
}

/// Stays of the pages of each level, from the leaves up.
#[derive(Debug, Clone)]
pub(super) struct Residence {
    pub(super) levels: Vec<Vec<Stay>>,
}

/// Contents of the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    /// The levels of the tree, from the leaves up.
    pub(super) levels: &'a [Locality],
    /// Pages that each insert fills elsewhere.
    pub(super) other: f64,
    /// Pages of the cache.
    pub(super) pages: f64,
    /// Inserts so far; the cache was empty before.
    pub(super) inserts: f64,
}

impl Contents<'_> {
    fn occupied(&self, residence: &Residence, other: f64) -> f64 {
        let pages = |(level, stays): (&Locality, &Vec<Stay>)| resident(level, stays, self.inserts);
        let levels: f64 = self.levels.iter().zip(&residence.levels).map(pages).sum();
        levels + self.other * other.min(self.inserts)
    }

    /// Computes the stays of each level.
    fn each(&self, stays_of: impl Fn(&Locality) -> Vec<Stay>) -> Residence {
        Residence {
            levels: self.levels.iter().map(stays_of).collect(),
        }
    }
}

/// Resident pages: those whose last use is recent enough.
pub(super) fn resident(locality: &Locality, stays: &[Stay], inserts: f64) -> f64 {
    stays
        .iter()
        .map(|stay| stay.share * locality.distinct(stay.inserts.min(inserts)))
        .sum()
}

impl Residence {
    pub(super) fn solve(policy: Policy, contents: &Contents<'_>) -> Self {
        let alike = |inserts: f64| contents.each(|_| vec![Stay { share: 1.0, inserts }]);
        let forever = alike(f64::INFINITY);
        if contents.occupied(&forever, f64::INFINITY) <= contents.pages {
            return forever;
        }
        match policy {
            Policy::Lru | Policy::CleanFirst => {
                alike(root(|time| contents.occupied(&alike(time), time) - contents.pages))
            }
            Policy::Clock => {
                let at = |round: f64| contents.each(|level| clock(round, level.recurrence()));
                // A page with many uses has a usage count of 5, so it stays for five decrements and one more
                // revolution.
                at(root(|round| {
                    contents.occupied(&at(round), 6.0 * round) - contents.pages
                }))
            }
            Policy::Midpoint { .. } => {
                let at = |old: f64, young: f64| contents.each(|level| midpoint(old, young, level));
                let young_of = |old: f64| root(|young| contents.occupied(&at(old, young), old) - contents.pages);
                let old = root(|old| {
                    let young = young_of(old);
                    let part = |(level, stays): (&Locality, &Vec<Stay>)| {
                        let first = stays[0].share * level.distinct(old);
                        first + stays[1].share * (level.distinct(old + young) - level.distinct(young))
                    };
                    let pages: f64 = contents.levels.iter().zip(&at(old, young).levels).map(part).sum();
                    pages + contents.other * old - contents.pages * 3.0 / 8.0
                });
                at(old, young_of(old))
            }
        }
    }
}

/// The root of an increasing function, in inserts.
pub(super) fn root(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.01_f64.ln(), 1e15_f64.ln());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if function(middle.exp()) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).exp()
}

/// PostgreSQL's usage count as a Markov chain over the hand's passes: a page starts with 1 just behind the hand, each
/// use increments it up to 5, each pass decrements it, and a pass that finds 0 evicts the page.
fn clock(round: f64, recurrence: f64) -> Vec<Stay> {
    const PHASES: usize = 8;
    let uses = round / recurrence;
    // Probabilities of 0 to 4 uses in a revolution; the last entry is for 5 or more.
    let mut chances = [0.0; 6];
    poisson(uses, &mut chances);
    // Expected visits to each count at the start of a revolution, until eviction.
    let mut visits = [0.0, 1.0, 0.0, 0.0, 0.0];
    for _ in 0..2000 {
        let mut next = [0.0, 1.0, 0.0, 0.0, 0.0];
        for (count, visit) in visits.iter().enumerate() {
            for (more, chance) in chances.iter().enumerate() {
                if let Some(left) = (count + more).min(5).checked_sub(1) {
                    next[left] += visit * chance;
                }
            }
        }
        let change: f64 = next.iter().zip(&visits).map(|(next, visit)| (next - visit).abs()).sum();
        visits = next;
        if change < 1e-9 * visits.iter().sum::<f64>() {
            break;
        }
    }
    // The page's insertion, and uses at any phase of a revolution.
    let mut stays = vec![Stay {
        share: 1.0,
        inserts: 2.0 * round,
    }];
    for phase in 0..PHASES {
        let gone = (phase as f64 + 0.5) / PHASES as f64;
        let mut earlier = [0.0; 6];
        poisson(uses * gone, &mut earlier);
        let mut by_count = [0.0; 6];
        for (count, visit) in visits.iter().enumerate() {
            for (more, chance) in earlier.iter().enumerate() {
                by_count[(count + more + 1).min(5)] += visit * chance * uses / PHASES as f64;
            }
        }
        stays.extend(
            by_count
                .iter()
                .enumerate()
                .filter(|(_, share)| **share > 0.0)
                .map(|(count, &share)| Stay {
                    share,
                    inserts: (count as f64 + 1.0 - gone) * round,
                }),
        );
    }
    let all: f64 = stays.iter().map(|stay| stay.share).sum();
    stays.iter_mut().for_each(|stay| stay.share /= all);
    stays
}

fn poisson(mean: f64, chances: &mut [f64; 6]) {
    let mut chance = (-mean).exp();
    let mut sum = 0.0;
    for (count, slot) in chances.iter_mut().enumerate().take(5) {
        *slot = chance;
        sum += chance;
        chance *= mean / (count + 1) as f64;
    }
    chances[5] = (1.0 - sum).max(0.0);
}

/// InnoDB's list: a page is inserted into the old sublist. A use moves it to the head of the young sublist, from which
/// it returns to the old one. `innodb_old_blocks_time`, and the rule that pages in the first quarter of the young
/// sublist stay in place, are ignored.
fn midpoint(old: f64, young: f64, locality: &Locality) -> Vec<Stay> {
    let used = |time: f64| (1.0 - locality.unused(time)).clamp(0.0, 1.0 - 1e-12);
    let (in_old, in_young) = (used(old), used(young));
    let visits_old = 1.0 / (1.0 - in_old);
    let visits_young = in_old / ((1.0 - in_old) * (1.0 - in_young));
    let share = 1.0 / (1.0 + in_old * visits_old + in_young * visits_young);
    vec![
        Stay { share, inserts: old },
        Stay {
            share: 1.0 - share,
            inserts: old + young,
        },
    ]
}
