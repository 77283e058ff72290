//! What is answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures at all sizes that were asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How they were found.
    pub way: Way,
    /// One per size, in the same order.
    pub sizes: Vec<Figures>,
}

/// How figures were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by", deny_unknown_fields)]
pub enum Way {
    /// Simulated.
    Simulation {
        /// Factor by which the simulated tree was smaller; 1 at full scale.
        factor: u64,
        /// Of the factor, the part by which blocks are fewer rather than smaller; 1 for keys without blocks.
        fewer_blocks: u64,
    },
    /// Computed.
    Formula,
}

/// What an insert does at one size: means over the window. Leaves alone unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Rows before the first insert of the window.
    pub rows: u64,
    /// Leaves in the middle of the window, at full scale.
    pub leaves: f64,
    /// Mean share of the leaves' usable bytes that is used, in the middle of the window.
    pub fill: f64,
    /// Share of the uses of leaves that find them in the engine's cache; new leaves count as found.
    pub hit_ratio: f64,
    /// Leaves read because the engine's cache had them not, per insert.
    pub reads: f64,
    /// Of these, reads that the operating system's cache answered, per insert.
    pub system_hits: f64,
    /// Pages of the level above the leaves that the engine's cache had not, per insert.
    pub inner_reads: f64,
    /// Of these, reads that the operating system's cache answered, per insert.
    pub inner_system_hits: f64,
    /// Changed leaves written because their room was needed, per insert.
    pub dirty_evictions: f64,
    /// Leaves written by checkpoints, per insert; where commits write pages, leaves brought from the log to the file.
    pub checkpoint_writes: f64,
    /// Leaves written by commits, per insert.
    pub commit_writes: f64,
    /// Changes of leaves that are the first since the last checkpoint, per insert: PostgreSQL's full-page images. Without
    /// sharp checkpoints 0.
    pub first_changes: f64,
    /// Bytes of log, per insert: the record, and a page per first change where that logs the page.
    pub log_bytes: f64,
    /// Leaves that found no room for the entry, per insert.
    pub overflows: f64,
    /// Leaves that came to be, per insert.
    pub splits: f64,
}
