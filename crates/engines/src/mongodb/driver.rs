//! The driver for MongoDB.

use super::{MongodbEngine, MongodbTarget, bulk, check, writes};
use crate::server::ServerProcess;
use dbdyno_engine::changes::Changeable;
use dbdyno_engine::driver::{Driver, Measure, Site, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Engine as _, Facts, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::plan::document::{self, Load, Trial};

impl Driver for MongodbTarget {
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        Ok(measure.measure(&MongodbEngine::new(self, &trial.statements)?, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        MongodbEngine::new(self, &[])?.facts()
    }

    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
        bulk::load(self, load, seed)
    }

    fn writes(&self, task: &document::Writes, _programs: &Programs, _seed: u64) -> Result<Vec<Writes>, Failure> {
        Ok(task.statements.iter().map(|each| writes::writes(&each.sql)).collect())
    }

    fn external_access(&self, own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        Ok(statements
            .iter()
            .map(|command| writes::find_external_access(command, own))
            .collect())
    }

    fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
        check::check(self, tell)
    }

    fn changeable(&self) -> Changeable {
        Changeable {
            files: false,
            copies: false,
            messages: true,
        }
    }

    fn site(&self) -> Site<'_> {
        ServerProcess::site(self.process.as_ref())
    }
}
