//! Measurements of the machine: the clock shared by all measurements, CPU use per process and thread, the disk, and the
//! performance of the storage device.

pub mod clock;
pub mod cpus;
pub mod device;
pub mod disk;
pub mod flushes;
pub mod listeners;
pub mod locks;
pub mod process;
pub mod quota;
pub mod tree;
pub mod valgrind;

pub use clock::Clock;

/// A probe could not read its source.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct ProbeError {
    /// What was read or done, including the file name.
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
