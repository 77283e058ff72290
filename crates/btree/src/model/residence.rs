//! How long a page stays in the cache after its last use, by policy.
//!
//! As in the approximation of Che, Tung and Wang ("Hierarchical Web caching systems: modeling, design and experimental results",
//! 2002), a cache of many pages has one characteristic time: here that of the list's length, or of the clock's round. It is
//! the one at which the pages that are still there fill the cache.

use super::locality::Locality;
use crate::input::Policy;

/// A share of uses, and how many inserts later the page must go unless it is used again.
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

/// What is in the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    /// The levels of the tree, from the leaves up.
    pub(super) levels: &'a [Locality],
    /// Pages that each insert fills elsewhere.
    pub(super) other: f64,
    /// Pages of the cache.
    pub(super) pages: f64,
    /// Inserts so far; nothing was used before.
    pub(super) inserts: f64,
}

impl Contents<'_> {
    fn occupied(&self, residence: &Residence, other: f64) -> f64 {
        let pages = |(level, stays): (&Locality, &Vec<Stay>)| resident(level, stays, self.inserts);
        let levels: f64 = self.levels.iter().zip(&residence.levels).map(pages).sum();
        levels + self.other * other.min(self.inserts)
    }

    /// The stays that `of` gives each level.
    fn each(&self, of: impl Fn(&Locality) -> Vec<Stay>) -> Residence {
        Residence {
            levels: self.levels.iter().map(of).collect(),
        }
    }
}

/// Pages that are there: those whose last use is not too long ago.
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
                // A page that was filled by many uses has 5 to lose, and a round more to go.
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

/// Where a rising function passes zero, in inserts.
pub(super) fn root(of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.01_f64.ln(), 1e15_f64.ln());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if of(middle.exp()) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).exp()
}

/// PostgreSQL's count of uses, as a chain from pass to pass of the hand: a page enters with 1 just behind the hand, each use adds
/// 1 up to 5, each pass takes 1, and a pass that finds 0 takes the page.
fn clock(round: f64, recurrence: f64) -> Vec<Stay> {
    const PHASES: usize = 8;
    let uses = round / recurrence;
    // Chance of so many uses in a round, the last for 5 and more.
    let mut chances = [0.0; 6];
    poisson(uses, &mut chances);
    // Visits to each count at the start of a round, until the page goes.
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
    // The page's entry, and uses at any phase of a round.
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

/// InnoDB's list: a page enters the old part; a use takes it to the head of the young part, from where it comes to the old
/// part again. `innodb_old_blocks_time`, and that pages of the young part's first quarter stay in place, are left out.
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
