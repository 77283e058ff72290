//! The system's own counters of work below its transactions: device operations, and deferred work.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Named counters, with names common to all engines.
///
/// `syncs`: flushes of the log. `log_bytes`: bytes written to the log. `page_images`: full pages in the log. `rows`:
/// rows written; a statement that sets a row to its current value changes the row but may not write it. `pages_read`:
/// cache misses. `pages_found`: cache hits. `pages_written`: pages written to data files, of which `checkpoint_pages`
/// by checkpoints. `checkpoints`: checkpoints started.
pub type Counters = BTreeMap<&'static str, f64>;

/// Deferred work, which later transactions will pay for.
///
/// `unsynced_bytes`: written to files but not yet flushed. `log_bytes_since_checkpoint`: log whose pages have not been
/// written yet. `dirty_pages`, `dirty_bytes`: changed in memory but not written. `old_versions`: row versions to be
/// removed.
pub type Backlog = BTreeMap<&'static str, f64>;

/// The engine's counters for a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Observed {
    /// Transactions acknowledged between the two readings of the counters, including unmeasured ones.
    pub acknowledged: u64,
    /// Increase of the counters from before the first session opened until after the last one closed.
    pub counters: Counters,
    /// Deferred work when the window ended.
    pub backlog: Backlog,
    /// Deferred work before the first session opened.
    pub backlog_before: Backlog,
    /// Why values are missing, if the engine could not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Increase of the counters. Counters that are new, or that decreased because the server restarted, are left out.
pub fn rise(before: &Counters, after: &Counters) -> Counters {
    let rise = |(name, value): (&&'static str, &f64)| {
        let before = before.get(name)?;
        (value >= before).then_some((*name, value - before))
    };
    after.iter().filter_map(rise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_and_decreased_counters_are_left_out() {
        let before = Counters::from([("syncs", 5.0), ("log_bytes", 100.0)]);
        let after = Counters::from([("syncs", 12.0), ("log_bytes", 3.0), ("page_images", 4.0)]);
        assert_eq!(rise(&before, &after), Counters::from([("syncs", 7.0)]));
    }
}
