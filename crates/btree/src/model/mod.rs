//! Computes the work of inserts with formulas, at any size.
//!
//! There are three parts: the number of leaves (`growth`, `occupancy`), the recency of their uses (`locality`), and how
//! long the cache keeps unused pages (`residence`). All results follow from these parts.

mod growth;
mod locality;
mod occupancy;
mod residence;
mod row;

use crate::check::check;
use crate::error::Impossible;
use dbdyno_protocol::btree::{Distance, Flush, Keys, Setting};
use dbdyno_protocol::btree::{Figures, Report, Way};
use growth::{Growth, Size};
use locality::{Locality, Pattern};
use residence::{Contents, Residence, Stay, resident, root};

/// Parts of a window. Within each, the tree is treated as constant.
const PARTS: usize = 4;
/// Maximum number of levels above the leaves.
const HIGHEST: usize = 8;

/// Computes the work of inserts at each size. The scale and the seed are ignored.
///
/// # Errors
///
/// Fails if such a tree is impossible, or for keys in blocks, which the formulas don't cover.
pub fn estimate(setting: &Setting) -> Result<Report, Impossible> {
    check(setting)?;
    let mut growth = Growth::new(setting)?;
    let sizes = setting
        .sizes
        .iter()
        .map(|&rows| over_window(setting, &mut growth, rows))
        .collect();
    Ok(Report {
        way: Way::Formula,
        sizes,
    })
}

/// Mean over the parts of the window.
fn over_window(setting: &Setting, growth: &mut Growth, rows: u64) -> Figures {
    let part = setting.window as f64 / PARTS as f64;
    let mut sum = Figures::default();
    for place in 0..PARTS {
        let from = (rows as f64 + place as f64 * part).max(1.0);
        let (first, here) = (growth.at(from), growth.at(from + part / 2.0));
        let last = growth.at(from + part);
        add(
            &mut sum,
            &figures(setting, from + part / 2.0, part, growth, [first, here, last]),
        );
    }
    sum.rows = rows;
    sum
}

fn add(sum: &mut Figures, part: &Figures) {
    let pairs = [
        (&mut sum.leaves, part.leaves),
        (&mut sum.fill, part.fill),
        (&mut sum.hit_ratio, part.hit_ratio),
        (&mut sum.reads, part.reads),
        (&mut sum.system_hits, part.system_hits),
        (&mut sum.inner_reads, part.inner_reads),
        (&mut sum.inner_system_hits, part.inner_system_hits),
        (&mut sum.dirty_evictions, part.dirty_evictions),
        (&mut sum.checkpoint_writes, part.checkpoint_writes),
        (&mut sum.commit_writes, part.commit_writes),
        (&mut sum.first_changes, part.first_changes),
        (&mut sum.log_bytes, part.log_bytes),
        (&mut sum.overflows, part.overflows),
        (&mut sum.splits, part.splits),
    ];
    for (sum, part) in pairs {
        *sum += part / PARTS as f64;
    }
}

fn figures(setting: &Setting, middle: f64, window: f64, growth: &Growth, [first, here, last]: [Size; 3]) -> Figures {
    let tree = &setting.tree;
    let inserts = (middle - setting.start.rows() as f64).max(1.0);
    let splits = ((last.leaves - first.leaves) / window).max(0.0);
    let overflows = ((last.overflows - first.overflows) / window).max(0.0);
    let neighbours = match tree.split {
        dbdyno_protocol::btree::SplitRule::Neighbours { empty_edge }
            if !(empty_edge && setting.keys == Keys::Ordered) =>
        {
            2.0 * overflows
        }
        _ => 0.0,
    };
    let pattern = pattern(setting.keys, here.leaves, growth);
    let levels = levels(
        pattern,
        splits + neighbours,
        f64::from(tree.fanout) * std::f64::consts::LN_2,
    );
    let contents = Contents {
        levels: &levels,
        other: tree.other_pages,
        pages: setting.cache.pages as f64,
        inserts,
    };
    let residence = Residence::solve(setting.cache.policy, &contents);
    let missed = |locality: &Locality, stays: &[Stay]| -> f64 {
        stays
            .iter()
            .map(|stay| stay.share * locality.unused(stay.inserts.min(inserts)))
            .sum()
    };
    let (leaves, stays) = (&levels[0], &residence.levels[0]);
    let reads = missed(leaves, stays) * (1.0 + neighbours);
    let distance = distance(setting, leaves);
    let sharp = setting
        .checkpoints
        .is_none_or(|checkpoints| checkpoints.flush == Flush::Sharp);
    let first_changes = if distance.is_finite() && sharp {
        leaves.distinct(distance.min(inserts)) / distance
    } else {
        0.0
    };
    let (mut dirty_evictions, mut checkpoint_writes) = match setting.keys {
        Keys::Random if !sharp => fuzzy(stays, here.leaves, distance, inserts),
        _ => sharp_writes(leaves, stays, distance, inserts),
    };
    let mut commit_writes = 0.0;
    if setting.commit_every > 0 {
        let each = f64::from(setting.commit_every);
        commit_writes = if each > 1.0 {
            leaves.distinct(each) / each
        } else {
            1.0 + splits + neighbours
        };
        (dirty_evictions, checkpoint_writes) = (0.0, first_changes);
    }
    let images = first_changes * setting.log.image_bytes;
    let above = || levels.iter().zip(&residence.levels).skip(1);
    let inner_reads: f64 = above().map(|(level, stays)| missed(level, stays)).sum();
    let (system_hits, inner_system_hits) = if setting.cache.system_pages > 0 {
        let kept = Kept::new(leaves, stays, distance, inserts, reads);
        let pages = setting.cache.system_pages as f64;
        let time = kept.time_in_system(pages, checkpoint_writes, tree.other_pages);
        let answered = |(level, stays): (&Locality, &Vec<Stay>)| {
            // Inner pages are treated as unchanged.
            Kept::new(level, stays, 0.0, inserts, missed(level, stays)).hits(time)
        };
        (kept.hits(time), above().map(answered).sum())
    } else {
        (0.0, 0.0)
    };
    let uses = 1.0 + splits + neighbours;
    Figures {
        rows: 0,
        leaves: here.leaves,
        fill: middle * f64::from(tree.entry_bytes) / (here.leaves * f64::from(tree.leaf_bytes)),
        hit_ratio: 1.0 - reads / uses,
        reads,
        system_hits,
        inner_reads,
        inner_system_hits,
        dirty_evictions,
        checkpoint_writes,
        commit_writes,
        first_changes,
        log_bytes: setting.log.record_bytes + images,
        overflows,
        splits,
    }
}

fn pattern(keys: Keys, leaves: f64, growth: &Growth) -> Pattern {
    match keys {
        Keys::Random => Pattern::Even { pages: leaves },
        Keys::Ordered | Keys::Blocked { .. } => Pattern::Edge {
            per_page: growth.per_leaf(),
        },
    }
}

/// The levels of the tree from the leaves up, with `below` children per page. The root is always cached, and left out.
fn levels(pattern: Pattern, more: f64, below: f64) -> Vec<Locality> {
    let mut levels = vec![Locality::new(pattern, more)];
    let mut pattern = pattern;
    // At the right edge, a level has one or two active pages, so one level represents all inner levels.
    for _ in 0..HIGHEST {
        pattern = match pattern {
            Pattern::Even { pages } if pages > below => Pattern::Even { pages: pages / below },
            Pattern::Edge { per_page } if levels.len() == 1 => Pattern::Edge {
                per_page: per_page * below,
            },
            Pattern::Even { .. } | Pattern::Edge { .. } => break,
        };
        levels.push(Locality::new(pattern, 0.0));
    }
    levels
}

/// Inserts from one checkpoint to the next.
fn distance(setting: &Setting, leaves: &Locality) -> f64 {
    let Some(checkpoints) = setting.checkpoints else {
        return f64::INFINITY;
    };
    match checkpoints.every {
        Distance::Inserts { inserts } => inserts as f64,
        Distance::Log { bytes } => {
            let image = if checkpoints.flush == Flush::Sharp {
                setting.log.image_bytes
            } else {
                0.0
            };
            root(|inserts| inserts * setting.log.record_bytes + image * leaves.distinct(inserts) - bytes as f64)
        }
    }
}

/// Evictions of changed leaves, and writes by sharp checkpoints. An evicted leaf is dirty if its last use is later than
/// the last checkpoint. A checkpoint writes the leaves that were used since the last one and are still cached.
fn sharp_writes(leaves: &Locality, stays: &[Stay], distance: f64, inserts: f64) -> (f64, f64) {
    let evicted = stays
        .iter()
        .filter(|stay| stay.inserts < inserts)
        .map(|stay| stay.share * leaves.ageing(stay.inserts) * (1.0 - stay.inserts / distance).max(0.0))
        .sum();
    if distance.is_infinite() {
        return (evicted, 0.0);
    }
    let written: f64 = stays
        .iter()
        .map(|stay| stay.share * leaves.distinct(stay.inserts.min(distance)))
        .sum();
    (evicted, written / distance)
}

/// The same for fuzzy checkpoints, which write each leaf once its oldest change is `distance` back. Leaves become dirty
/// as often as they are written. The share of dirty leaves that survives the distance is the probability that
/// Poisson-distributed uses have no gap as long as the stay. Stays of several lengths are replaced by one of the mean
/// length at eviction.
fn fuzzy(stays: &[Stay], leaves: f64, distance: f64, inserts: f64) -> (f64, f64) {
    const POINTS: usize = 16;
    let going = |stay: &Stay| stay.share * (-stay.inserts / leaves).exp();
    let unused: f64 = stays.iter().map(going).sum();
    let time = stays
        .iter()
        .map(|stay| going(stay) * stay.inserts.min(inserts))
        .sum::<f64>()
        / unused.max(1e-300);
    if time >= inserts || unused < 1e-12 {
        return (0.0, leaves / (leaves + distance));
    }
    // Probability that no such gap began and ended within `span`: exact up to twice the gap, then extrapolated.
    let survives = |span: f64| {
        let exact = |span: f64| (1.0 - unused * (1.0 + (span - time).max(0.0) / leaves)).max(0.0);
        if span < time {
            1.0
        } else if span <= 2.0 * time {
            exact(span)
        } else {
            exact(2.0 * time) * (-(unused / leaves) * (span - 2.0 * time)).exp()
        }
    };
    // The probability of another use after the write, before the leaf is evicted.
    let span = distance.min(time);
    let places = (0..POINTS).map(|point| survives(distance - (point as f64 + 0.5) / POINTS as f64 * span));
    let mean = places.sum::<f64>() / POINTS as f64;
    let since_change = if distance < time { unused } else { 0.0 };
    let used_again = survives(distance) - since_change - unused / leaves * span * mean;
    let becomes = unused / (1.0 - used_again).max(1e-12);
    (becomes * (1.0 - survives(distance)), becomes * survives(distance))
}

/// The pages in the engine's cache, as seen by the operating system's cache.
struct Kept<'a> {
    level: &'a Locality,
    stays: &'a [Stay],
    distance: f64,
    inserts: f64,
    /// The engine's reads of these pages, per insert.
    reads: f64,
    /// Number of these pages.
    here: f64,
}

impl<'a> Kept<'a> {
    fn new(level: &'a Locality, stays: &'a [Stay], distance: f64, inserts: f64, reads: f64) -> Self {
        Self {
            level,
            stays,
            distance,
            inserts,
            reads,
            here: resident(level, stays, inserts),
        }
    }

    /// Share of pages that are dirty when evicted by the engine after a stay.
    fn changed(&self, stay: &Stay) -> f64 {
        (1.0 - stay.inserts / self.distance).max(0.0)
    }

    /// How long after its last use a page is in either cache, for changed and unchanged pages. The operating system's
    /// cache sees a page when it is read and when it is written. So for an unchanged page, the age there counts from
    /// its read.
    fn until(&self, stay: &Stay, time: f64) -> (f64, f64) {
        let time_here = if self.reads > 0.0 {
            self.here / self.reads
        } else {
            f64::INFINITY
        };
        let unchanged = (time - (time_here - stay.inserts).max(0.0)).max(stay.inserts);
        (stay.inserts + time, unchanged)
    }

    /// Inserts for which the operating system's cache keeps a page that isn't touched again.
    fn time_in_system(&self, pages: f64, checkpoints: f64, other: f64) -> f64 {
        let occupied = |time: f64| {
            let gone: f64 = self
                .stays
                .iter()
                .filter(|stay| stay.inserts < self.inserts)
                .map(|stay| {
                    let (dirty, clean) = self.until(stay, time);
                    let part = self.changed(stay);
                    let distinct = |age: f64| self.level.distinct(age.min(self.inserts));
                    stay.share * (part * distinct(dirty) + (1.0 - part) * distinct(clean) - distinct(stay.inserts))
                })
                .sum();
            let twice = self.here * (1.0 - (-(self.reads + checkpoints) * time / self.here.max(1e-9)).exp());
            gone + twice + other * time
        };
        if occupied(self.inserts.max(1.0)) <= pages {
            self.inserts
        } else {
            root(|time| occupied(time) - pages)
        }
    }

    /// Reads served by the operating system's cache, per insert, if it keeps pages for `time`.
    fn hits(&self, time: f64) -> f64 {
        let missed: f64 = self
            .stays
            .iter()
            .map(|stay| {
                let (dirty, clean) = self.until(stay, time);
                let part = self.changed(stay);
                let unused = |age: f64| self.level.unused(age.min(self.inserts));
                stay.share * (part * unused(dirty) + (1.0 - part) * unused(clean))
            })
            .sum();
        (self.reads - missed).max(0.0)
    }
}
