//! Scales a tree down to a smaller one that represents it.

use crate::error::Impossible;
use dbdyno_protocol::btree::Way;
use dbdyno_protocol::btree::{Distance, Keys, Scale, Setting};

/// Minimum number of leaves of a block when it is scaled down.
const BLOCK_LEAVES: u64 = 8;
/// Minimum number of prefixes when their number is reduced.
const LEAST_BLOCKS: u64 = 8;
/// Minimum cache size in pages: the number of pages at the right edge doesn't scale down.
const LEAST_PAGES: u64 = 64;

/// Maximum number of inserts relative to the requested one, if the corresponding factor is too large.
const MOST_TIMES: u64 = 4;

/// The scaled setting and its scale.
pub(super) fn shrink(setting: &Setting) -> Result<(Setting, Way), Impossible> {
    match setting.scale {
        Scale::Full => by(setting, 1),
        Scale::Factor { factor } => by(setting, factor.max(1)),
        Scale::Inserts { most } => {
            let rows = last(setting);
            let mut factor = rows.div_ceil(most.max(1)).max(1);
            loop {
                match by(setting, factor) {
                    Err(Impossible::Scale { .. }) if factor > 1 => factor = (factor * 3 / 4).max(1),
                    _ if rows / factor > most.saturating_mul(MOST_TIMES) => return Err(Impossible::TooMany { rows }),
                    result => return result,
                }
            }
        }
    }
}

/// Rows at the end.
fn last(setting: &Setting) -> u64 {
    setting.sizes.last().copied().unwrap_or(0) + setting.window
}

/// Rows, caches, the window and the checkpoint distance are divided by one factor, so each leaf keeps its probability
/// of being used again before eviction. A block is scaled down as long as it has enough leaves to choose from. Beyond
/// that, the number of blocks is reduced, because a few leaves cannot be scaled down.
fn by(setting: &Setting, factor: u64) -> Result<(Setting, Way), Impossible> {
    let last = last(setting);
    let mut small = setting.clone();
    let mut fewer_blocks = 1;
    if factor > 1 {
        for size in &mut small.sizes {
            *size /= factor;
        }
        small.window = (setting.window / factor).max(1);
        if let dbdyno_protocol::btree::Start::Bulk { rows, .. } = &mut small.start {
            *rows /= factor;
        }
        small.cache.pages = least("the cache, pages", factor, setting.cache.pages / factor, LEAST_PAGES)?;
        if setting.cache.system_pages > 0 {
            let pages = setting.cache.system_pages / factor;
            small.cache.system_pages = least("the system's cache, pages", factor, pages, LEAST_PAGES)?;
        }
        if let Some(checkpoints) = &mut small.checkpoints {
            let (Distance::Inserts { inserts: distance } | Distance::Log { bytes: distance }) = &mut checkpoints.every;
            *distance = least("the distance of checkpoints", factor, *distance / factor, 1)?;
        }
        if let Keys::Blocked { block, count } = &mut small.keys {
            let smaller = (*block / (BLOCK_LEAVES * u64::from(setting.tree.capacity()))).clamp(1, factor);
            fewer_blocks = factor.div_ceil(smaller);
            *block = (*block as f64 * fewer_blocks as f64 / factor as f64).round().max(1.0) as u64;
            *count = least("the blocks", factor, *count / fewer_blocks, LEAST_BLOCKS.min(*count))?;
        }
    }
    let leaves = last / factor / u64::from(setting.tree.capacity()).div_ceil(2);
    let cache = small.cache.pages + small.cache.system_pages;
    let prefixes = match small.keys {
        Keys::Blocked { count, .. } => count,
        _ => 0,
    };
    if leaves.max(cache).max(prefixes / 2) > 1 << 28 {
        return Err(Impossible::TooLarge { leaves, cache });
    }
    Ok((small, Way::Simulation { factor, fewer_blocks }))
}

fn least(what: &'static str, factor: u64, value: u64, least: u64) -> Result<u64, Impossible> {
    if value < least {
        return Err(Impossible::Scale {
            factor,
            what,
            value,
            least,
        });
    }
    Ok(value)
}
