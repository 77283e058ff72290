//! What the machine did meanwhile: the clock all measurements share, CPU per process and thread, the disk, and what the
//! storage device itself can do.

pub mod clock;
pub mod cpus;
pub mod device;
pub mod disk;
pub mod flushes;
pub mod locks;
pub mod process;
pub mod quota;
pub mod tree;
pub mod valgrind;

pub use clock::Clock;

/// A probe could not read what it needs.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct ProbeError {
    /// What was read or done, with the file's name.
    pub what: String,
    /// Why it failed.
    #[source]
    pub source: std::io::Error,
}

impl ProbeError {
    pub(crate) fn new(what: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self {
            what: what.into(),
            source: source.into(),
        }
    }
}
