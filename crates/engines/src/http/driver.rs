//! The HTTP driver.

use super::request::SAFE;
use super::target::Version;
use super::{HttpEngine, HttpTarget, check, inspect};
use crate::server::ServerProcess;
use dbdyno_engine::changes::Changeable;
use dbdyno_engine::driver::{Driver, Measure, Site, Tell};
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Facts, Failure};
use dbdyno_program::Programs;
use dbdyno_protocol::plan::document::{self, FailureKind, Load, Trial};

impl Driver for HttpTarget {
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure> {
        Ok(measure.measure(&HttpEngine::new(self, &trial.statements)?, self.site()))
    }

    fn facts(&self) -> Result<Facts, Failure> {
        inspect::facts(self)
    }

    fn load(&self, _load: &Load, _seed: u64) -> Result<Vec<Loaded>, Failure> {
        let problem = "dbdyno can't load tables into an HTTP service";
        Err(Failure::new(FailureKind::Other, problem))
    }

    /// Decides by the method (RFC 9110, 9.2.1): dbdyno cannot see what the service does with a request.
    fn writes(&self, task: &document::Writes, _programs: &Programs, _seed: u64) -> Result<Vec<Writes>, Failure> {
        let method = |statement: &document::Statement| statement.request.as_ref().map(|request| request.method.clone());
        let writes = task.statements.iter().map(|statement| match method(statement) {
            Some(method) if SAFE.contains(&method.as_str()) => Writes::No,
            Some(method) => Writes::Yes(format!("`{method}` may change data")),
            None => Writes::Unknown("it is not an HTTP request".into()),
        });
        Ok(writes.collect())
    }

    /// Requests go to the service and nowhere else.
    fn external_access(&self, _own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure> {
        Ok(vec![None; statements.len()])
    }

    fn check(&self, tell: Tell<'_>) -> Result<(), Failure> {
        check::check(self, tell)
    }

    fn changeable(&self) -> Changeable {
        Changeable {
            files: false,
            copies: false,
            // HTTP/2 sends more messages than requests and replies.
            messages: self.version == Version::One,
        }
    }

    fn site(&self) -> Site<'_> {
        ServerProcess::site(self.process.as_ref())
    }
}
