//! Other programs that held locks on the data.

use schemars::JsonSchema;
use serde::Serialize;

/// Other programs that held a lock that conflicts with the engine's locks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LockHolders {
    /// Samples taken.
    pub samples: u64,
    /// The programs, the most frequent first.
    pub holders: Vec<LockHolder>,
}

/// A program that held a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LockHolder {
    /// Its process; 0 if the kernel does not tell.
    pub pid: u32,
    /// Its command line; empty if it is not known.
    pub command: String,
    /// Samples in which it held the lock.
    pub samples: u64,
}
