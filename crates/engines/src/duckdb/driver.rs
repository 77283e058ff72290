//! The driver for DuckDB.

use super::confinement::confined;
use super::{DuckdbEngine, DuckdbTarget, bulk, check, external_access, writes};
use crate::external_access::find_external_access;
use dbdyno_engine::driver::{Driver, Measure, Site, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Engine as _, Facts, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::plan::document::{self, Load, PrepareMode, Trial};
use std::path::Path;

impl Driver for DuckdbTarget {
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        let target = if self.confined {
            confined(self, &trial.statements)?
        } else {
            self.clone()
        };
        self.os_cache.bring(Path::new(&self.path))?;
        let engine = DuckdbEngine::new(&target, &trial.statements, trial.prepare, trial.record.io)?;
        Ok(measure.measure(&engine, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        DuckdbEngine::new(self, &[], PrepareMode::Once, false)?.facts()
    }

    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
        bulk::load(self, load, seed)
    }

    fn writes(&self, task: &document::Writes, _programs: &Programs, _seed: u64) -> Result<Vec<Writes>, Failure> {
        writes::writes(self, task.statements.iter().map(|each| each.sql.as_str()))
    }

    fn external_access(&self, _own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        Ok(find_external_access(&external_access::BOUNDS, statements, &[]))
    }

    fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
        check::check(self, tell);
        Ok(())
    }

    fn site(&self) -> Site<'_> {
        Site {
            storage: Some(Path::new(&self.path)),
            server: None,
            locks: &[],
        }
    }
}
