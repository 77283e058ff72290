//! Checks of settings.

use crate::error::Impossible;
use dbdyno_protocol::btree::{Distance, Keys, Setting, SplitRule, Start};

/// Checks whether such a tree is possible.
pub fn check(setting: &Setting) -> Result<(), Impossible> {
    let tree = &setting.tree;
    let entries = tree.capacity();
    if tree.entry_bytes == 0 || !(4..=60_000).contains(&entries) {
        return Err(Impossible::Leaf {
            leaf_bytes: tree.leaf_bytes,
            entry_bytes: tree.entry_bytes,
            entries,
        });
    }
    let share = "above 0.1 and at most 1";
    let is_share = |value: f64| value > 0.1 && value <= 1.0;
    let range = |field, value, fits: bool, range| {
        if fits {
            Ok(())
        } else {
            Err(Impossible::Range { field, value, range })
        }
    };
    range(
        "leaf_bytes",
        f64::from(tree.leaf_bytes),
        tree.leaf_bytes <= tree.page_bytes,
        "at most page_bytes",
    )?;
    if let Start::Bulk { fill, .. } = setting.start {
        range("fill", fill, is_share(fill), share)?;
    }
    if let SplitRule::Middle { rightmost } = tree.split {
        range("rightmost", rightmost, is_share(rightmost), share)?;
    }
    range("fanout", f64::from(tree.fanout), tree.fanout >= 4, "at least 4")?;
    let other = tree.other_pages;
    range(
        "other_pages",
        other,
        (0.0..=10.0).contains(&other),
        "0 to 10 pages per insert",
    )?;
    range(
        "pages",
        setting.cache.pages as f64,
        setting.cache.pages >= 16,
        "at least 16",
    )?;
    range(
        "window",
        setting.window as f64,
        setting.window >= 1,
        "at least 1 insert",
    )?;
    if let Keys::Blocked { block, count } = setting.keys {
        range("block", block as f64, block >= 1, "at least 1 insert")?;
        range("count", count as f64, count >= 1, "at least 1 prefix")?;
    }
    let bytes = setting.log.record_bytes;
    range("record_bytes", bytes, bytes >= 0.0 && bytes.is_finite(), "at least 0")?;
    match setting.checkpoints.map(|checkpoints| checkpoints.every) {
        Some(Distance::Inserts { inserts }) => range("inserts", inserts as f64, inserts >= 1, "at least 1")?,
        Some(Distance::Log { bytes: distance }) => {
            range("bytes", distance as f64, distance as f64 >= bytes, "at least a record")?;
            range(
                "record_bytes",
                bytes,
                bytes > 0.0,
                "above 0, since checkpoints count the log",
            )?;
        }
        None => {}
    }
    let mut before = setting.start.rows();
    for &size in &setting.sizes {
        if size < before {
            return Err(Impossible::Order { size, before });
        }
        before = size + setting.window;
    }
    Ok(())
}
