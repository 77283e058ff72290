//! Contract checks for SQLite.

use super::{SqliteEngine, SqliteTarget, Watch, bulk};
use dbdyno_contract::systems::{COUNT, System, as_load, statements, system_checks, unreadable};
use dbdyno_contract::{Check, Fails as _, Outcome, carry_out, ensure};
use dbdyno_engine::Failure;
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};
use serde_json::{Value, json};
use std::io;

/// Runs the checks on files next to the target's.
pub fn check(target: &SqliteTarget, tell: Tell<'_>) {
    carry_out::<Sqlite>(|number| Ok(Sqlite::new(target, number)), tell);
}

/// A separate file.
pub struct Sqlite {
    target: SqliteTarget,
}

impl Sqlite {
    /// Uses a file next to the target's.
    pub fn new(target: &SqliteTarget, number: u32) -> Self {
        let mut target = target.clone();
        target.path = format!("{}-{number}", target.path);
        target.busy_timeout_ms = 50;
        Self { target }
    }
}

impl System for Sqlite {
    type Engine = SqliteEngine;

    const TEXT: &str = "text";
    const BYTES: &str = "blob";
    const KEY: &str = "PRIMARY KEY";
    const NAMES: &[&str] = &["sqlite"];
    const SHOWN: &str = "busy_timeout";
    const UNPREPARED: &str = "already exists";

    fn checks() -> Vec<Check<Self>> {
        let mut all = system_checks();
        all.push(Check {
            name: "a_file_that_is_not_a_database_is_reported",
            run: a_file_that_is_not_a_database_is_reported,
        });
        all
    }

    fn table(&self) -> &str {
        "t"
    }

    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Result<SqliteEngine, Failure> {
        SqliteEngine::new(&self.target, &statements(texts), prepare, Watch::default())
    }

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        let mut target = serde_json::to_value(&self.target).map_err(unreadable)?;
        target["engine"] = json!("sqlite");
        bulk::load(&self.target, &as_load(load, &target)?, seed)
    }

    fn clean(&self) -> Result<(), Failure> {
        for end in ["", "-journal", "-wal", "-shm"] {
            match std::fs::remove_file(format!("{}{end}", self.target.path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Failure::new(
                        FailureKind::Other,
                        format!("{}: {error}", self.target.path),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn a_file_that_is_not_a_database_is_reported(system: &Sqlite) -> Outcome {
    std::fs::write(&system.target.path, vec![b'x'; 4096])?;
    let failure = system
        .client(PrepareMode::default())
        .and_then(|mut client| client.run(COUNT, &[]))
        .failure()?;
    ensure!(failure.kind == FailureKind::Connection, "{:?}: {failure}", failure.kind);
    Ok(())
}
