//! Contract checks for DuckDB.

use super::{DuckdbEngine, DuckdbTarget, bulk};
use dbdyno_contract::statements::{MODES, row};
use dbdyno_contract::systems::{
    COUNT, INSERT, System, UPDATE_ONE, WRONG, as_load, statements, system_checks, unreadable,
};
use dbdyno_contract::{Check, Fails as _, Outcome, carry_out, ensure, same};
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Control, Failure};
use dbdyno_program::value::Value as Sent;
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};
use dbdyno_protocol::plan::transaction::BeginMode;
use serde_json::{Value, json};
use std::io;

/// Runs the checks on files next to the target's.
pub fn check(target: &DuckdbTarget, tell: Tell<'_>) {
    carry_out::<Duckdb>(|number| Ok(Duckdb::new(target, number)), tell);
}

/// A separate file.
pub struct Duckdb {
    target: DuckdbTarget,
}

impl Duckdb {
    fn new(target: &DuckdbTarget, number: u32) -> Self {
        let mut target = target.clone();
        target.path = format!("{}-{number}", target.path);
        Self { target }
    }
}

impl System for Duckdb {
    type Engine = DuckdbEngine;

    const TEXT: &str = "varchar";
    const BYTES: &str = "blob";
    const KEY: &str = "SCAN";
    const NAMES: &[&str] = &["DuckDB"];
    const SHOWN: &str = "threads";
    const UNPREPARED: &str = "nowhere";

    fn checks() -> Vec<Check<Self>> {
        let mut all = system_checks::<Self>();
        for check in &mut all {
            if check.name == "failures_have_their_kind_and_leave_the_session_usable" {
                check.run = failures_have_their_kind;
            }
        }
        all.push(Check {
            name: "a_file_that_is_not_a_database_is_reported",
            run: a_file_that_is_not_a_database_is_reported,
        });
        all
    }

    fn table(&self) -> &str {
        "t"
    }

    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<DuckdbEngine, Failure> {
        DuckdbEngine::new(&self.target, &statements(texts), prepare, false)
    }

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        let mut target = serde_json::to_value(&self.target).map_err(unreadable)?;
        target["engine"] = json!("duckdb");
        bulk::load(&self.target, &as_load(load, &target)?, seed)
    }

    fn clean(&self) -> Result<(), Failure> {
        for end in ["", ".wal"] {
            let path = format!("{}{end}", self.target.path);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Failure::new(FailureKind::Other, format!("{path}: {error}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn a_file_that_is_not_a_database_is_reported(system: &Duckdb) -> Outcome {
    std::fs::write(&system.target.path, vec![b'x'; 4096])?;
    let failure = system
        .client(PrepareMode::default())
        .and_then(|mut client| client.run(COUNT, &[]))
        .failure()?;
    ensure!(failure.kind == FailureKind::Connection, "{:?}: {failure}", failure.kind);
    Ok(())
}

/// Like the suite's check, except that no session waits for another's row: the second session to change a row fails at
/// once.
fn failures_have_their_kind(system: &Duckdb) -> Outcome {
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        client.run(INSERT, &row(1))?;
        for _ in 0..2 {
            let twice = client.run(INSERT, &row(1)).failure()?;
            same!(twice.kind, FailureKind::Constraint, "{twice}");
        }
        let wrong = client.run(WRONG, &[]).failure()?;
        same!(wrong.kind, FailureKind::Other);
        let mut other = system.client(prepare)?;
        other.control(Control::Begin(BeginMode::Immediate))?;
        other.run(UPDATE_ONE, &[Sent::Integer(1)])?;
        let second = client.run(UPDATE_ONE, &[Sent::Integer(1)]).failure()?;
        same!(second.kind, FailureKind::Serialization, "{second}");
        other.control(Control::Rollback)?;
        same!(client.run(UPDATE_ONE, &[Sent::Integer(1)])?.changed, 1);
    }
    Ok(())
}
