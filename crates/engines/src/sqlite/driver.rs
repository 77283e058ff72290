//! The driver for SQLite.

use super::copies::Copies;
use super::{
    CountedEngine, SqliteEngine, SqliteTarget, Watch, WatchMutexes, bulk, check, external_access, file, space, writes,
};
use dbdyno_engine::changes::Changeable;
use dbdyno_engine::driver::{Driver, Measure, Site, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Engine as _, Facts, Failure};
use dbdyno_probes::locks::LockRange;
use dbdyno_program::Programs;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::changes::Changes;
use dbdyno_protocol::plan::document::{self, FailureKind, Load, PrepareMode, Trial};
use std::path::Path;

/// The bytes of SQLite's locks. In the `-shm` file: writer, checkpoint and recovery locks. In the database file: writer
/// and reader locks. In WAL mode, each open connection holds a shared lock on the database file.
const LOCKS: &[LockRange] = &[
    LockRange {
        suffix: "-shm",
        start: 120,
        length: 3,
        shared_harmless_with: None,
    },
    LockRange {
        suffix: "",
        start: 0x4000_0000,
        length: 512,
        shared_harmless_with: Some("-shm"),
    },
];

impl Driver for SqliteTarget {
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        self.os_cache.bring(Path::new(&self.path))?;
        let changes_files = trial.changes.as_ref().is_some_and(Changes::files);
        if let Some(groups) = &trial.record.groups {
            if changes_files {
                let problem = "`record.groups` counts instructions and cannot be combined with changes";
                return Err(Failure::new(FailureKind::Other, problem));
            }
            let engine = CountedEngine::new(self, &trial.statements, trial.prepare, groups)?;
            return Ok(measure.measure(&engine, self.site()));
        }
        let watch = Watch {
            io: trial.record.io || changes_files,
            changes: changes_files,
            mutexes: match trial.record.mutexes {
                Some(true) => WatchMutexes::Always,
                Some(false) => WatchMutexes::Never,
                // With a single client, mutexes are never contended.
                None if trial.clients == 1 => WatchMutexes::Never,
                None => WatchMutexes::Sampled,
            },
        };
        let mut engine = SqliteEngine::new(self, &trial.statements, trial.prepare, watch)?;
        if trial.changes.as_ref().is_some_and(|changes| changes.own_files) {
            engine.copies = Copies::make(&self.path, trial.clients)?;
        }
        Ok(measure.measure(&engine, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        SqliteEngine::new(self, &[], PrepareMode::Once, Watch::default())?.facts()
    }

    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
        bulk::load(self, load, seed)
    }

    fn writes(&self, task: &document::Writes, _programs: &Programs, _seed: u64) -> Result<Vec<Writes>, Failure> {
        writes::writes(self, task.statements.iter().map(|each| each.sql.as_str()))
    }

    fn external_access(&self, _own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        external_access::find_external_access(statements)
    }

    fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
        check::check(self, tell);
        Ok(())
    }

    fn changeable(&self) -> Changeable {
        Changeable {
            files: true,
            messages: false,
            copies: true,
        }
    }

    fn site(&self) -> Site<'_> {
        Site {
            storage: Some(Path::new(&self.path)),
            server: None,
            locks: LOCKS,
        }
    }

    fn space(&self, tables: &[String]) -> Result<Vec<Object>, Failure> {
        space::space(self, tables)
    }

    fn set_file(&self) -> Result<(), Failure> {
        file::set_file(self)
    }
}
