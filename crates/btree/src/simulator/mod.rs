//! Simulates inserts one by one: the leaf of each, and the path of each page through the caches.
//!
//! No keys are generated. If keys are drawn from one distribution, the next key is equally likely in each gap between
//! existing keys (they are exchangeable). So an insert selects a leaf with a probability proportional to its entries:
//! an urn model, which produces the same sequence of leaves as keys would (Yao, "On random 2-3 trees", 1978, uses the
//! same property). A leaf is drawn uniformly and accepted with a probability equal to its fill.

mod blocks;
mod cache;
mod links;
mod pages;
mod run;
mod scale;
mod system;

use crate::check::check;
use crate::error::Impossible;
use dbdyno_protocol::btree::Setting;
use dbdyno_protocol::btree::{Figures, Report, Way};
use rand::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Simulates the inserts from the start to the last window.
///
/// # Errors
///
/// Fails if such a tree is impossible, or not at this scale.
pub fn simulate(setting: &Setting) -> Result<Report, Impossible> {
    check(setting)?;
    let (small, way) = scale::shrink(setting)?;
    let factor = match way {
        Way::Simulation { factor, .. } => factor,
        Way::Formula => 1,
    };
    let mut run = run::Run::new(&small);
    let mut sizes = Vec::with_capacity(setting.sizes.len());
    for (&size, &full) in small.sizes.iter().zip(&setting.sizes) {
        run.grow_to(size);
        let figures = run.measure(small.window);
        sizes.push(Figures {
            rows: full,
            leaves: figures.leaves * factor as f64,
            ..figures
        });
    }
    Ok(Report { way, sizes })
}

/// Maps 32 random bits to a number below another (Lemire, "Fast random integer generation in an interval", 2019,
/// without the rejection, which changes probabilities by less than a factor of 2^-8 at 2^24).
fn scaled(bits: u32, below: u32) -> u32 {
    ((u64::from(bits) * u64::from(below)) >> 32) as u32
}

fn below(random: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(below)) >> 64) as u64
}

/// Prefetches the element at an index, if it exists.
#[inline]
fn prefetch<T>(slice: &[T], place: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(place as usize) {
        // SAFETY: the pointer comes from a reference, and a prefetch changes nothing.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, place);
}

#[cfg(test)]
pub(crate) mod tests;
