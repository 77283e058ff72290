//! Counts of the calls that a trial delays or skips on purpose.

use crate::preloaded::Readings;
use dbdyno_engine::changes::{CallCounts, Changes, Counts, Kind};
use dbdyno_engine::probe::ThreadCounters;
use dbdyno_protocol::event::{Calls, Changed};

/// Combines the counts of the clients' threads and of the server's preloaded library.
pub(crate) fn collect(
    changes: &Changes,
    counted: &CallCounts,
    thread: &ThreadCounters,
    server: Option<Readings>,
) -> Changed {
    let counts_of = |kind: Kind| changes.has(kind).then(|| counted.of(kind));
    // The file layer times its calls itself.
    let file = |kind: Kind, own_ns: u64| counts_of(kind).map(|counts| Counts { own_ns, ..counts });
    let [sync, read, write] = server.unwrap_or([
        file(Kind::Sync, thread.sync_ns),
        file(Kind::Read, thread.read_ns),
        file(Kind::Write, thread.write_ns),
    ]);
    Changed {
        sync: sync.map(calls),
        read: read.map(calls),
        write: write.map(calls),
        message: counts_of(Kind::Message).map(calls),
        connect: counts_of(Kind::Connect).map(calls),
        transaction: counts_of(Kind::Transaction).map(|counts| Calls {
            own_s: None,
            ..calls(counts)
        }),
    }
}

fn calls(counts: Counts) -> Calls {
    Calls {
        calls: counts.calls,
        own_s: Some(counts.own_ns as f64 / 1e9),
        added_s: counts.added_ns as f64 / 1e9,
    }
}

/// Adds the injected delays to the time in calls of the file layer, since clients waited in these calls.
pub(crate) fn add_delays(thread: &mut ThreadCounters, counted: &CallCounts) {
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
    fn each_kind_comes_from_the_side_that_counted_it() {
        let plan = r#"{"sync": {"delay_us": 1}, "connect": {"delay_us": 0}, "transaction": {"delay_us": 1}}"#;
        let changes = Changes::of(&serde_json::from_str(plan).unwrap());
        let thread = ThreadCounters {
            syncs: 3,
            sync_ns: 3_000_000_000,
            read_ns: 7,
            ..ThreadCounters::default()
        };
        let found = collect(changes, &CallCounts::default(), &thread, None);
        assert_eq!(found.sync.and_then(|sync| sync.own_s), Some(3.0));
        assert_eq!(found.read, None, "not in the plan");
        assert_eq!(found.connect.map(|connect| connect.own_s), Some(Some(0.0)));
        assert_eq!(found.transaction.map(|each| each.own_s), Some(None));
        let counts = Counts {
            calls: 2,
            own_ns: 500_000_000,
            added_ns: 250_000_000,
        };
        let found = collect(
            changes,
            &CallCounts::default(),
            &thread,
            Some([None, Some(counts), None]),
        );
        assert_eq!(found.sync, None, "no such call was intercepted in the server");
        let read = Calls {
            calls: 2,
            own_s: Some(0.5),
            added_s: 0.25,
        };
        assert_eq!(found.read, Some(read));
    }
}
