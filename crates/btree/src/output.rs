//! The output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures at all requested sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How they were computed.
    pub way: Way,
    /// One per size, in the same order.
    pub sizes: Vec<Figures>,
}

/// How figures were computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by", deny_unknown_fields)]
pub enum Way {
    /// By simulation.
    Simulation {
        /// Scale factor of the simulated tree; 1 at full scale.
        factor: u64,
        /// The part of the factor by which the number of blocks was reduced instead of their size; 1 for keys without
        /// blocks.
        fewer_blocks: u64,
    },
    /// By formulas.
    Formula,
}

/// The effect of an insert at one size: means over the window. For leaves only unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Rows before the first insert of the window.
    pub rows: u64,
    /// Leaves in the middle of the window, at full scale.
    pub leaves: f64,
    /// Mean fill factor of the leaves in the middle of the window.
    pub fill: f64,
    /// Hit ratio of leaf uses in the engine's cache; new leaves count as hits.
    pub hit_ratio: f64,
    /// Leaves read because they were not in the engine's cache, per insert.
    pub reads: f64,
    /// Reads of leaves served by the operating system's cache, per insert.
    pub system_hits: f64,
    /// Pages of the level above the leaves that were not in the engine's cache, per insert.
    pub inner_reads: f64,
    /// Reads of these pages served by the operating system's cache, per insert.
    pub inner_system_hits: f64,
    /// Changed leaves written because of evictions, per insert.
    pub dirty_evictions: f64,
    /// Leaves written by checkpoints, per insert. If commits write pages, leaves copied from the log to the file.
    pub checkpoint_writes: f64,
    /// Leaves written by commits, per insert.
    pub commit_writes: f64,
    /// First changes of leaves since the last checkpoint, per insert: PostgreSQL's full-page images. 0 without sharp
    /// checkpoints.
    pub first_changes: f64,
    /// Bytes of log per insert: the record, and the page image of first changes if the engine logs it.
    pub log_bytes: f64,
    /// Leaves without space for the entry, per insert.
    pub overflows: f64,
    /// New leaves, per insert.
    pub splits: f64,
}
