use super::run::Run;
use dbdyno_protocol::btree::*;
use proptest::prelude::*;

pub(crate) fn setting(split: SplitRule, keys: Keys, pages: u64) -> Setting {
    Setting {
        tree: Tree {
            page_bytes: 4096,
            leaf_bytes: 4000,
            entry_bytes: 100,
            fanout: 100,
            split,
            other_pages: 0.0,
        },
        keys,
        start: Start::Empty,
        cache: Cache {
            pages,
            policy: Policy::Lru,
            system_pages: 0,
        },
        checkpoints: None,
        log: Log::default(),
        commit_every: 0,
        sizes: vec![],
        window: 1,
        seed: 1,
        scale: Scale::Full,
    }
}

fn rules() -> impl Strategy<Value = SplitRule> {
    prop_oneof![
        Just(SplitRule::Middle { rightmost: 0.9 }),
        any::<bool>().prop_map(|reserve| SplitRule::LastInsert { reserve }),
        any::<bool>().prop_map(|empty_edge| SplitRule::Neighbours { empty_edge }),
    ]
}

fn keys() -> impl Strategy<Value = Keys> {
    prop_oneof![
        Just(Keys::Random),
        Just(Keys::Ordered),
        (1..400u64, 1..40u64).prop_map(|(block, count)| Keys::Blocked { block, count }),
    ]
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Clock),
        (0..500u64).prop_map(|old_inserts| Policy::Midpoint { old_inserts }),
        Just(Policy::Lru),
        Just(Policy::CleanFirst),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn entries_and_pages_are_consistent(
        rule in rules(), keys in keys(), policy in policies(), pages in 16..300u64, start in 0..3000u64,
        distance in prop::option::of((1..2000u64, any::<bool>())), commit_every in 0..4u32, other in 0..3u32, system in 0..200u64,
    ) {
        let mut setting = setting(rule, keys, pages);
        setting.cache.policy = policy;
        setting.cache.system_pages = system;
        setting.start = Start::Bulk { rows: start, fill: 0.9 };
        setting.commit_every = commit_every;
        setting.tree.other_pages = f64::from(other) / 40.0;
        setting.checkpoints = distance.map(|(inserts, fuzzy)| Checkpoints {
            every: Distance::Inserts { inserts },
            flush: if fuzzy { Flush::Fuzzy } else { Flush::Sharp },
        });
        let mut run = Run::new(&setting);
        run.grow_to(start + 12_000);
        let counts: Vec<u64> = run.pages.leaves.iter().map(|leaf| u64::from(leaf.count)).collect();
        prop_assert_eq!(counts.iter().sum::<u64>(), start + 12_000);
        prop_assert!(counts.iter().all(|&count| count <= 40));
        prop_assert_eq!(run.pages.in_order().count(), counts.len());
        if let Some(blocks) = &run.blocks {
            prop_assert_eq!(blocks.entries(counts.len()), counts.clone());
        }
        // Frames and pages refer to each other.
        let resident = run.pages.leaves.iter().enumerate().filter(|(_, leaf)| leaf.frame != u32::MAX);
        for (leaf, state) in resident {
            prop_assert_eq!(run.cache.page(state.frame), leaf as u32);
        }
        prop_assert!(u64::from(run.cache.frames()) <= pages);
        let dirty = (0..run.cache.frames()).filter(|&frame| run.cache.is_dirty(frame)).count() as u64;
        let written = run.counts.dirty_evictions + run.counts.commit_writes
            + if commit_every > 0 && distance.is_some_and(|(_, fuzzy)| !fuzzy) { 0 } else { run.counts.checkpoint_writes };
        prop_assert_eq!(written + dirty, run.counts.dirtied);
        prop_assert!(run.counts.reads <= run.counts.uses);
    }
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let mut setting = setting(SplitRule::Middle { rightmost: 0.9 }, Keys::Random, 100);
    (setting.sizes, setting.window) = (vec![20_000, 400_000], 10_000);
    let first = super::simulate(&setting).unwrap();
    assert_eq!(first, super::simulate(&setting).unwrap());
    setting.seed = 2;
    assert_ne!(first, super::simulate(&setting).unwrap());
}

#[test]
fn a_scaled_tree_represents_the_full_one() {
    let cases = [
        (Keys::Random, 20_000),
        (Keys::Ordered, 20_000),
        (
            Keys::Blocked {
                block: 200_000,
                count: 8,
            },
            1_500,
        ),
        (
            Keys::Blocked {
                block: 1_000,
                count: 1_024,
            },
            4_000,
        ),
    ];
    for (keys, pages) in cases {
        let mut setting = setting(SplitRule::Middle { rightmost: 0.9 }, keys, pages);
        setting.cache.policy = Policy::Clock;
        setting.checkpoints = Some(Checkpoints {
            every: Distance::Inserts { inserts: 100_000 },
            flush: Flush::Sharp,
        });
        (setting.sizes, setting.window) = (vec![3_000_000], 1_000_000);
        let full = super::simulate(&setting).unwrap().sizes[0];
        setting.scale = Scale::Factor { factor: 16 };
        let small = super::simulate(&setting).unwrap().sizes[0];
        let figures = |f: &dbdyno_protocol::btree::Figures| {
            [
                f.fill,
                f.reads,
                f.dirty_evictions,
                f.checkpoint_writes,
                f.first_changes,
                f.splits,
                f.hit_ratio,
            ]
        };
        for (place, (full, small)) in figures(&full).into_iter().zip(figures(&small)).enumerate() {
            assert!(
                (full - small).abs() <= 0.05 * full.abs() + 0.002,
                "{keys:?} {place}: {full} {small}"
            );
        }
    }
}
