//! Compares the simulator with the model.

use crate::{estimate, simulate};
use dbdyno_protocol::btree::Figures;
use dbdyno_protocol::btree::*;

const MIDDLE: SplitRule = SplitRule::Middle { rightmost: 0.9 };

fn setting(split: SplitRule, policy: Policy, keys: Keys, start: u64) -> Setting {
    let mut setting = crate::simulator::tests::setting(split, keys, 16);
    // A hundred entries per leaf.
    setting.tree.entry_bytes = 40;
    setting.cache.policy = policy;
    // SQLite commits each insert. In a longer transaction, its changed pages aren't evicted like other pages.
    setting.commit_every = u32::from(policy == Policy::CleanFirst);
    if start > 0 {
        setting.start = Start::Bulk { rows: start, fill: 0.9 };
    }
    setting.checkpoints = Some(Checkpoints {
        every: Distance::Inserts { inserts: 17_000 },
        flush: Flush::Sharp,
    });
    setting
}

fn compare(setting: &Setting, name: &str) -> Vec<String> {
    let (simulated, computed) = (simulate(setting).unwrap(), estimate(setting).unwrap());
    let figures = |f: &Figures| {
        [
            ("fill", f.fill, 0.0),
            ("reads", f.reads, 0.01),
            ("system_hits", f.system_hits, 0.01),
            ("inner_reads", f.inner_reads, 0.01),
            ("inner_system_hits", f.inner_system_hits, 0.01),
            ("dirty_evictions", f.dirty_evictions, 0.01),
            ("checkpoint_writes", f.checkpoint_writes, 0.01),
            ("commit_writes", f.commit_writes, 0.01),
            ("first_changes", f.first_changes, 0.01),
            ("splits", f.splits, 0.01),
            ("overflows", f.overflows, 0.01),
        ]
    };
    let mut apart = Vec::new();
    for (simulated, computed) in simulated.sizes.iter().zip(&computed.sizes) {
        // The formulas assume a cache that has been full for some time, not one that the tree has just outgrown.
        let outgrown = (1.0..1.5).contains(&(simulated.leaves / setting.cache.pages as f64));
        let share = if outgrown { 0.15 } else { 0.1 };
        for ((figure, one, least), (_, other, _)) in figures(simulated).into_iter().zip(figures(computed)) {
            if (one - other).abs() > share * one.abs() + least {
                apart.push(format!(
                    "{name} {}: {figure} simulated {one:.4} computed {other:.4}",
                    simulated.rows
                ));
            }
        }
    }
    apart
}

#[test]
fn simulator_and_model_agree_for_all_engines_and_key_orders() {
    let engines = [
        (MIDDLE, Policy::Clock),
        (
            SplitRule::LastInsert { reserve: true },
            Policy::Midpoint { old_inserts: 0 },
        ),
        (SplitRule::Neighbours { empty_edge: false }, Policy::CleanFirst),
        (MIDDLE, Policy::Lru),
    ];
    let orders = [Keys::Random, Keys::Ordered];
    let mut apart = Vec::new();
    for (split, policy) in engines {
        for keys in orders {
            for start in [0, 200_000] {
                for ratio in [0.1, 0.4, 0.8, 3.0, 30.0] {
                    let mut setting = setting(split, policy, keys, start);
                    setting.sizes = vec![300_000, 500_000];
                    setting.window = 80_000;
                    setting.cache.pages = ((7_000.0 * ratio) as u64).max(16);
                    let name = format!(
                        "{split:?} {policy:?} {keys:?} start {start} pages {}",
                        setting.cache.pages
                    );
                    apart.extend(compare(&setting, &name));
                }
            }
        }
    }
    assert!(apart.is_empty(), "{} apart:\n{}", apart.len(), apart.join("\n"));
}

#[test]
fn simulator_and_model_agree_for_all_other_options() {
    let mut apart = Vec::new();
    for policy in [Policy::Clock, Policy::Lru, Policy::Midpoint { old_inserts: 0 }] {
        let mut base = setting(MIDDLE, policy, Keys::Random, 0);
        (base.sizes, base.window, base.cache.pages) = (vec![400_000], 200_000, 3_000);
        let mut other = base.clone();
        other.tree.other_pages = 0.02;
        apart.extend(compare(&other, &format!("{policy:?} other pages")));
        // InnoDB's flushing. Distances shorter than a few stays in the cache are beyond the formula.
        if matches!(policy, Policy::Midpoint { .. }) {
            for inserts in [20_000, 60_000] {
                let mut fuzzy = base.clone();
                fuzzy.checkpoints = Some(Checkpoints {
                    every: Distance::Inserts { inserts },
                    flush: Flush::Fuzzy,
                });
                apart.extend(compare(&fuzzy, &format!("{policy:?} fuzzy {inserts}")));
            }
        }
        let mut commits = base.clone();
        commits.commit_every = 1;
        apart.extend(compare(&commits, &format!("{policy:?} commits")));
        let mut log = base.clone();
        log.log = Log {
            record_bytes: 100.0,
            image_bytes: 4096.0,
        };
        log.checkpoints = Some(Checkpoints {
            every: Distance::Log { bytes: 20_000_000 },
            flush: Flush::Sharp,
        });
        apart.extend(compare(&log, &format!("{policy:?} log")));
        for system in [1_500, 4_000] {
            let mut behind = base.clone();
            behind.cache.system_pages = system;
            apart.extend(compare(&behind, &format!("{policy:?} system {system}")));
        }
    }
    assert!(apart.is_empty(), "{} apart:\n{}", apart.len(), apart.join("\n"));
}

#[test]
fn the_model_reaches_the_largest_sizes() {
    let mut setting = setting(MIDDLE, Policy::Clock, Keys::Random, 0);
    (setting.sizes, setting.window, setting.cache.pages) = (vec![1_000_000, 1_000_000_000_000], 100_000, 1_000_000);
    let figures = estimate(&setting).unwrap().sizes;
    assert!(figures[0].reads < 1e-9);
    assert!(figures[1].reads > 0.999);
    assert!(figures[1].inner_reads > 0.9);
}
