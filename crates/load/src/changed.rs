//! What a trial found of the calls that it changes on purpose.

use crate::preloaded::Readings;
use dbdyno_engine::changes::{Changes, Counted, Counts, Kind};
use dbdyno_engine::probe::ThreadCounters;
use schemars::JsonSchema;
use serde::Serialize;

/// Calls that were changed, by kind; null where the plan does not name the kind, or the server was never seen to make such a
/// call: then it may make them in a way that the preloaded library does not see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// Flushes of the device.
    pub sync: Option<Calls>,
    /// Reads from data files.
    pub read: Option<Calls>,
    /// Writes to data files.
    pub write: Option<Calls>,
    /// Messages to the server and their answers.
    pub message: Option<Calls>,
    /// Openings of sessions.
    pub connect: Option<Calls>,
    /// Transactions.
    pub transaction: Option<Calls>,
}

/// What was counted of a kind of call in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// Seconds in the calls themselves: of a message, from its sending until its answer began to come; null for transactions.
    pub own_s: Option<f64>,
    /// Seconds that were added to them, by the clock.
    pub added_s: f64,
}

impl Changed {
    /// Puts together what the clients' threads counted, and what the server's library did.
    pub(crate) fn of(changes: &Changes, counted: &Counted, thread: &ThreadCounters, server: Option<Readings>) -> Self {
        let of = |kind: Kind| changes.has(kind).then(|| counted.of(kind));
        // The file layer times its calls itself.
        let file = |kind: Kind, own_ns: u64| of(kind).map(|counts| Counts { own_ns, ..counts });
        let [sync, read, write] = server.unwrap_or([
            file(Kind::Sync, thread.sync_ns),
            file(Kind::Read, thread.read_ns),
            file(Kind::Write, thread.write_ns),
        ]);
        Self {
            sync: sync.map(calls),
            read: read.map(calls),
            write: write.map(calls),
            message: of(Kind::Message).map(calls),
            connect: of(Kind::Connect).map(calls),
            transaction: of(Kind::Transaction).map(|counts| Calls {
                own_s: None,
                ..calls(counts)
            }),
        }
    }
}

fn calls(counts: Counts) -> Calls {
    Calls {
        calls: counts.calls,
        own_s: Some(counts.own_ns as f64 / 1e9),
        added_s: counts.added_ns as f64 / 1e9,
    }
}

/// Adds to the time in calls of the file layer by how much they were delayed: clients waited in them for so long.
pub(crate) fn add_delays(thread: &mut ThreadCounters, counted: &Counted) {
    let added = |kind: Kind| counted.of(kind).added_ns;
    thread.sync_ns += added(Kind::Sync);
    thread.read_ns += added(Kind::Read);
    thread.read_wait_ns += added(Kind::Read);
    thread.write_ns += added(Kind::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_comes_from_who_counted_it() {
        let plan = r#"{"sync": {"delay_us": 1}, "connect": {"delay_us": 0}, "transaction": {"delay_us": 1}}"#;
        let changes = Changes::of(&serde_json::from_str(plan).unwrap());
        let thread = ThreadCounters {
            syncs: 3,
            sync_ns: 3_000_000_000,
            read_ns: 7,
            ..ThreadCounters::default()
        };
        let found = Changed::of(changes, &Counted::default(), &thread, None);
        assert_eq!(found.sync.and_then(|sync| sync.own_s), Some(3.0));
        assert_eq!(found.read, None, "the plan does not name it");
        assert_eq!(found.connect.map(|connect| connect.own_s), Some(Some(0.0)));
        assert_eq!(found.transaction.map(|each| each.own_s), Some(None));
        let counts = Counts {
            calls: 2,
            own_ns: 500_000_000,
            added_ns: 250_000_000,
        };
        let found = Changed::of(changes, &Counted::default(), &thread, Some([None, Some(counts), None]));
        assert_eq!(found.sync, None, "the server makes no such calls that are seen");
        let read = Calls {
            calls: 2,
            own_s: Some(0.5),
            added_s: 0.25,
        };
        assert_eq!(found.read, Some(read));
    }
}
