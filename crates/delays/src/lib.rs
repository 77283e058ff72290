//! Delays that are as long as they say, and the memory that a worker shares with the library that a server preloads.
//!
//! This is a part of that library too, so that it needs nothing but libc, and allocates nothing.

mod lateness;
mod page;

pub use lateness::{Lateness, hold, spin};
pub use page::{Call, Counts, MAGIC, Page, SIZE, Shared};
