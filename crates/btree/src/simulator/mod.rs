//! Inserts one by one, each to its leaf, and each page through the caches.
//!
//! No key is ever made. Of keys drawn alike, the next is as likely between any two that are there (they are exchangeable), so an
//! insert goes to a leaf with a chance in proportion to the leaf's entries: an urn, which gives the same sequence of leaves as
//! keys would (Yao, "On random 2-3 trees", 1978, rests on the same). A leaf is drawn at random and taken as often as it is full.

mod blocks;
mod cache;
mod links;
mod pages;
mod run;
mod scale;
mod system;

use crate::error::Impossible;
use crate::input::Setting;
use crate::output::{Figures, Report, Way};
use rand::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Simulates the inserts from the start to the last window.
///
/// # Errors
///
/// Where no such tree can be, or not on this scale.
pub fn simulate(setting: &Setting) -> Result<Report, Impossible> {
    setting.check()?;
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

/// 32 random bits made a number below another (Lemire, "Fast random integer generation in an interval", 2019, without the
/// rejection, whose absence shifts chances by less than 2^-8 of themselves at 2^24).
fn scaled(bits: u32, below: u32) -> u32 {
    ((u64::from(bits) * u64::from(below)) >> 32) as u32
}

fn below(random: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(below)) >> 64) as u64
}

/// Has the processor fetch what is at a place, if there is one.
#[inline]
fn prefetch<T>(slice: &[T], place: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(place as usize) {
        // SAFETY: the pointer is that of a reference, and a prefetch changes nothing.
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
