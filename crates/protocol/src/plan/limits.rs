//! The greatest numbers that a plan may hold: beyond them a trial would not end, or not fit into memory.
//!
//! The controller checks the numbers of an experiment against the same limits, mostly in `dbdyno.model.limits`, and
//! names the key.

use crate::plan::document::{DeviceTask, Load, Trial};
use crate::plan::error::PlanError;

/// Clients of a trial.
pub const MOST_CLIENTS: u32 = 100_000;
/// Seconds of a window, a warm-up or a pause: a year.
pub const LONGEST_S: f64 = 31_536_000.0;
/// Transactions per second of an open loop.
pub const HIGHEST_RATE: f64 = 1e7;
/// Intervals of the timeline of a window.
pub const MOST_INTERVALS: f64 = 100_000.0;
/// Characters of a generated text.
pub const LONGEST_TEXT: u32 = 100_000_000;
/// Words of a generated text.
pub const MOST_WORDS: u32 = 10_000_000;
/// Repetitions of a step.
pub const MOST_REPETITIONS: u64 = 1_000_000_000;
/// Tries of a transaction.
pub const MOST_ATTEMPTS: u32 = 1_000_000;
/// Rows of a table, and uses of a counter before a trial.
pub const MOST_ROWS: u64 = 1_000_000_000_000;
/// Bytes of the scratch file of a device measurement.
const MOST_BYTES: u64 = 1 << 40;
/// Reads under way at once in a device measurement.
const DEEPEST: u32 = 1024;

/// Fails unless a number is within its bounds. `place`: its path in the plan.
pub fn within<N: PartialOrd + std::fmt::Display + Copy>(
    number: N,
    least: N,
    most: N,
    place: &str,
) -> Result<(), PlanError> {
    // NaN is not within any bounds.
    if least <= number && number <= most {
        return Ok(());
    }
    Err(PlanError::invalid(
        place,
        format!("{number} is out of range: give a number from {least} to {most}"),
    ))
}

impl Trial {
    /// Checks the numbers that the types of a trial do not limit.
    pub fn check_limits(&self) -> Result<(), PlanError> {
        within(self.clients, 1, MOST_CLIENTS, "task.clients")?;
        within(self.warmup.seconds, 0.0, LONGEST_S, "task.warmup.seconds")?;
        within(self.retry.attempts, 1, MOST_ATTEMPTS, "task.retry.attempts")?;
        within(self.retry.wait_ms, 0.0, LONGEST_S * 1e3, "task.retry.wait_ms")?;
        within(self.first_use, 0, MOST_ROWS, "task.first_use")?;
        let longest_ms = (LONGEST_S * 1e3) as u64;
        within(self.record.interval_ms, 1, longest_ms, "task.record.interval_ms")?;
        if let Some(seconds) = self.window.seconds {
            within(seconds, f64::MIN_POSITIVE, LONGEST_S, "task.window.seconds")?;
            let intervals = seconds * 1e3 / self.record.interval_ms as f64;
            if intervals > MOST_INTERVALS {
                let problem =
                    format!("the window has {intervals:.0} intervals of this length: at most {MOST_INTERVALS}");
                return Err(PlanError::invalid("task.record.interval_ms", problem));
            }
        }
        if let crate::plan::document::Arrival::Open { rate, stages, .. } = &self.arrival {
            within(*rate, f64::MIN_POSITIVE, HIGHEST_RATE, "task.arrival.rate")?;
            for (number, stage) in stages.iter().enumerate() {
                let place = |name| format!("task.arrival.stages[{number}].{name}");
                within(stage.seconds, f64::MIN_POSITIVE, LONGEST_S, &place("seconds"))?;
                within(stage.from, 0.0, HIGHEST_RATE, &place("from"))?;
                within(stage.to, 0.0, HIGHEST_RATE, &place("to"))?;
            }
        }
        for (number, beside) in self.beside.iter().enumerate() {
            let place = |name| format!("task.beside[{number}].{name}");
            within(beside.at_s, 0.0, LONGEST_S, &place("at_s"))?;
            within(beside.every_s.unwrap_or(LONGEST_S), 1e-3, LONGEST_S, &place("every_s"))?;
        }
        if let Some(interleaving) = self.interleaving {
            within(
                interleaving.length_ms,
                1.0,
                LONGEST_S * 1e3,
                "task.interleaving.length_ms",
            )?;
        }
        Ok(())
    }
}

impl Load {
    /// Checks the numbers that the types of a load do not limit.
    pub fn check_limits(&self) -> Result<(), PlanError> {
        for (number, table) in self.tables.iter().enumerate() {
            within(table.rows, 0, MOST_ROWS, &format!("task.tables[{number}].rows"))?;
            within(table.first, 0, MOST_ROWS, &format!("task.tables[{number}].first"))?;
        }
        Ok(())
    }
}

impl DeviceTask {
    /// Checks the numbers that the types of a device measurement do not limit.
    pub fn check_limits(&self) -> Result<(), PlanError> {
        within(self.seconds, f64::MIN_POSITIVE, 3600.0, "task.seconds")?;
        within(self.bytes, 1, MOST_BYTES, "task.bytes")?;
        for (number, depth) in self.depths.iter().enumerate() {
            within(*depth, 1, DEEPEST, &format!("task.depths[{number}]"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn problem(change: &Value) -> String {
        let mut plan = json!({
            "target": {"engine": "null"}, "clients": 1, "window": {"seconds": 1}, "statements": [], "transactions": [],
        });
        for (name, value) in change.as_object().unwrap() {
            plan[name] = value.clone();
        }
        let trial: Trial = serde_json::from_value(plan).unwrap();
        trial
            .check_limits()
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_their_place() {
        for (change, expected) in [
            (
                json!({"clients": 4_294_967_295_u32}),
                "task.clients: 4294967295 is out of range: give a number from 1 to 100000",
            ),
            (json!({"clients": 0}), "task.clients: 0 is out of range"),
            (json!({"window": {"seconds": 1e300}}), "task.window.seconds: "),
            (
                json!({"window": {"seconds": 0}}),
                "task.window.seconds: 0 is out of range",
            ),
            (
                json!({"window": {"seconds": 1000}, "record": {"interval_ms": 1}}),
                "task.record.interval_ms: ",
            ),
            (json!({"record": {"interval_ms": 0}}), "task.record.interval_ms: "),
            (json!({"warmup": {"seconds": -1}}), "task.warmup.seconds: "),
            (
                json!({"arrival": {"loop": "open", "rate": 1e12}}),
                "task.arrival.rate: ",
            ),
            (
                json!({"arrival": {"loop": "open", "rate": 1, "stages": [{"seconds": 1, "from": 1, "to": -1}]}}),
                "task.arrival.stages[0].to: ",
            ),
            (
                json!({"beside": [{"name": "x", "at_s": 0, "every_s": 0, "statements": [], "steps": []}]}),
                "task.beside[0].every_s: ",
            ),
            (
                json!({"retry": {"attempts": 4_294_967_295_u32}}),
                "task.retry.attempts: ",
            ),
            (json!({"first_use": u64::MAX}), "task.first_use: "),
            (
                json!({"interleaving": {"length_ms": 0.5, "index": 0, "of": 2}}),
                "task.interleaving.length_ms: ",
            ),
        ] {
            assert!(problem(&change).contains(expected), "{change}: {}", problem(&change));
        }
        assert_eq!(
            problem(&json!({"clients": MOST_CLIENTS, "window": {"seconds": 3600}})),
            ""
        );
        assert!(within(f64::NAN, 0.0, 1.0, "x").is_err());
    }
}
