//! What a system did beneath its transactions, by its own counters.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Named figures, in the words that all engines have in common.
///
/// `syncs`: times it had the device make its log durable. `log_bytes`: bytes of its log. `page_images`: whole pages in it.
/// `rows`: rows that it wrote; a statement that sets a row to what it is changes it, and may write nothing.
/// `pages_read`: pages that its cache lacked, `pages_found`: those that it had. `pages_written`: pages that it wrote to its
/// files, of which `checkpoint_pages` by checkpoints; `checkpoints`: how many of those began.
pub type Counters = BTreeMap<&'static str, f64>;

/// What has been put off, so that transactions to come will pay for it.
///
/// `unsynced_bytes`: written to files, and not yet asked of the device. `log_bytes_since_checkpoint`: of the log, whose
/// pages have to be written yet. `dirty_pages`: changed in memory and not written (`dirty_bytes` likewise). `old_versions`:
/// of rows, which are to be removed.
pub type Backlog = BTreeMap<&'static str, f64>;

/// What an engine told of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Observed {
    /// Transactions that were acknowledged between the readings of the counters, those that are not measured included.
    pub acknowledged: u64,
    /// What the counters rose by from before the first session was opened until after the last was closed.
    pub counters: Counters,
    /// What was put off when the window ended.
    pub backlog: Backlog,
    /// What was before the first session was opened.
    pub backlog_before: Backlog,
    /// Why there is no more, where the engine was asked and could not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
