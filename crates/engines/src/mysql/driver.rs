//! The driver for MariaDB and MySQL.

use super::{DIALECT, MysqlEngine, bulk, check, databases, external_access, ownership_lock, space, writes};
use crate::external_access::{find_external_access, others};
use crate::server::ServerTarget;
use crate::server::net::block_on;
use crate::statements_as_sent::as_sent;
use dbdyno_engine::changes::Changeable;
use dbdyno_engine::driver::{Driver, Measure, Site, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Engine as _, Facts, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::document::{self, Load, PrepareMode, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A MariaDB or MySQL target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MysqlTarget(pub ServerTarget);

impl Driver for MysqlTarget {
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        let engine = MysqlEngine::new(&self.0, &trial.statements, trial.prepare);
        Ok(measure.measure(&engine, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        MysqlEngine::new(&self.0, &[], PrepareMode::Once).facts()
    }

    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure> {
        bulk::load(&self.0, load, seed)
    }

    fn writes(&self, task: &document::Writes, programs: &Programs, seed: u64) -> Result<Vec<Writes>, Failure> {
        let statements = as_sent(task, seed, programs, &DIALECT);
        block_on(writes::writes(&self.0, &statements))
    }

    fn external_access(&self, own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        let others = others(&block_on(databases(&self.0))?, own);
        Ok(find_external_access(&external_access::BOUNDS, statements, &others))
    }

    fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
        check::check(&self.0, tell)
    }

    fn changeable(&self) -> Changeable {
        Changeable {
            files: false,
            copies: false,
            messages: true,
        }
    }

    fn site(&self) -> Site<'_> {
        self.0.site(Path::new(&self.0.host), &["mariadbd", "mysqld"])
    }

    fn space(&self, tables: &[String]) -> Result<Vec<Object>, Failure> {
        block_on(space::space(&self.0, tables))
    }

    fn hold_lock(
        &self,
        token: &str,
        report: &mut dyn FnMut(Vec<String>),
        over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        ownership_lock::hold(&self.0, token, report, over)
    }
}
