//! The driver for SQL Server.

use super::{SqlserverEngine, SqlserverTarget, bulk, check, databases, external_access};
use crate::external_access::{find_external_access, others};
use crate::server::net::block_on;
use dbdyno_engine::driver::{Driver, Measure, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Engine as _, Facts, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::plan::document::{self, Load, PrepareMode, Trial};

impl Driver for SqlserverTarget {
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        let engine = SqlserverEngine::new(self, &trial.statements, trial.prepare);
        Ok(measure.measure(&engine, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        SqlserverEngine::new(self, &[], PrepareMode::Once).facts()
    }

    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
        bulk::load(self, load, seed)
    }

    fn writes(&self, task: &document::Writes, _programs: &Programs, _seed: u64) -> Result<Vec<Writes>, Failure> {
        let why = "SQL Server has no read-only transactions";
        Ok(vec![Writes::Unknown(why.into()); task.statements.len()])
    }

    fn external_access(&self, own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        let others = others(&block_on(databases(self))?, own);
        Ok(find_external_access(&external_access::BOUNDS, statements, &others))
    }

    fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
        check::check(self, tell)
    }
}
