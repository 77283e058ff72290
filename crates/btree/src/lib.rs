//! The effect of single-row inserts on the leaves of a B-tree that outgrows its cache: pages read, pages written,
//! splits and fill factor. Two independent methods verify each other.
//!
//! [`simulate`] follows each insert to its leaf and each page through the cache. [`estimate`] computes the same
//! [`Figures`] from formulas, at any size. Both take a [`Setting`] and return a [`Report`].

mod error;
mod input;
mod model;
mod output;
mod simulator;
mod split;

pub use error::Impossible;
pub use input::{Cache, Checkpoints, Distance, Flush, Keys, Log, Policy, Scale, Setting, SplitRule, Start, Tree};
pub use model::estimate;
pub use output::{Figures, Report, Way};
pub use simulator::simulate;

#[cfg(test)]
mod agreement;
