//! The effect of single-row inserts on the leaves of a B-tree that outgrows its cache: pages read, pages written,
//! splits and fill factor. Two independent methods verify each other.
//!
//! [`simulate`] follows each insert to its leaf and each page through the cache. [`estimate`] computes the same
//! [`Figures`](dbdyno_protocol::btree::Figures) from formulas, at any size. Both take a
//! [`Setting`](dbdyno_protocol::btree::Setting) and return a [`Report`](dbdyno_protocol::btree::Report).

mod check;
mod error;
mod model;
mod simulator;
mod split;

pub use error::Impossible;
pub use model::estimate;
pub use simulator::simulate;

#[cfg(test)]
mod agreement;
