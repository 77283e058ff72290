//! Precise delays, and the memory that a worker shares with the library preloaded into a server.
//!
//! The preloaded library includes this crate, so it depends only on libc and never allocates.

mod lateness;
mod page;

pub use lateness::{Lateness, delay, spin};
pub use page::{Call, Counts, MAGIC, Page, SIZE, Shared};
