//! What a system did beneath its transactions, as it counts itself: what it asked of the device, and what it put off.

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

/// What counters rose by. One that was not there before, or fell because the server was started anew, is left out.
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
    fn counters_that_fell_or_were_not_there_say_nothing() {
        let before = Counters::from([("syncs", 5.0), ("log_bytes", 100.0)]);
        let after = Counters::from([("syncs", 12.0), ("log_bytes", 3.0), ("page_images", 4.0)]);
        assert_eq!(rise(&before, &after), Counters::from([("syncs", 7.0)]));
    }
}
