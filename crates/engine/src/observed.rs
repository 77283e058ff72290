//! The system's own counters of work below its transactions: device operations, and deferred work.

pub use dbdyno_protocol::event::{Backlog, Counters, Observed};

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
