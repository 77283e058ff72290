//! Work that a system did for its transactions, by its own counters.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Named counters. All engines use the same names.
///
/// `syncs`: syncs of its log. `log_bytes`: bytes of its log. `page_images`: whole pages in it. `rows`: rows that it
/// wrote (an update to the same values may write nothing). `pages_read`: cache misses. `pages_found`: cache hits.
/// `pages_written`: pages that it wrote to its files, of which `checkpoint_pages` by checkpoints; `checkpoints`: how
/// many of those began.
pub type Counters = BTreeMap<&'static str, f64>;

/// Deferred work, which later transactions pay for.
///
/// `unsynced_bytes`: written to files, and not synced. `log_bytes_since_checkpoint`: bytes of the log whose pages are
/// not written yet. `dirty_pages`, `dirty_bytes`: changed in memory and not written. `old_versions`: row versions that
/// must be removed.
pub type Backlog = BTreeMap<&'static str, f64>;

/// The engine's own counters for a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Observed {
    /// Transactions acknowledged between the readings of the counters, including unmeasured ones.
    pub acknowledged: u64,
    /// The increase of the counters, from before the first session opened until after the last one closed.
    pub counters: Counters,
    /// Deferred work at the end of the window.
    pub backlog: Backlog,
    /// Deferred work before the first session opened.
    pub backlog_before: Backlog,
    /// Why counters are missing, if reading them failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
