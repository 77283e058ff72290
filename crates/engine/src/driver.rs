//! The interface of an engine's folder to the worker: a plan's target is deserialized into a type that implements
//! [`Driver`].

use crate::changes::Changeable;
use crate::rows::Loaded;
use crate::writes::Writes;
use crate::{Engine, Facts, Failure};
use dbdyno_probes::locks::LockRange;
use dbdyno_program::Programs;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::document::{self, FailureKind, Load, Trial};
use std::path::Path;

/// An engine as the worker uses it: it opens sessions to a target, fills its tables, and inspects its statements.
///
/// Required methods have no default. Optional ones return an error with the reason by default.
pub trait Driver {
    /// Prepares the target for a trial and runs `measure` with its engine.
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure>;

    /// Reads the system's version, effective settings and durability.
    fn facts(&self) -> Result<Facts, Failure>;

    /// Creates tables and fills them.
    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure>;

    /// Determines for each statement whether it is known to be read-only, without executing it. `programs`: the
    /// compiled transactions of the task.
    fn writes(&self, task: &document::Writes, programs: &Programs, seed: u64) -> Result<Vec<Writes>, Failure>;

    /// Determines for each statement why it accesses something outside the target's database, if it does. `own`:
    /// databases that were created for the statements.
    fn external_access(&self, own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure>;

    /// Runs the contract checks on the target and reports each result.
    fn check(&self, _tell: Tell<'_>) -> Result<(), Failure> {
        Err(lacks("the engine has no contract checks"))
    }

    /// The kinds of calls that its own layers can delay.
    fn changeable(&self) -> Changeable {
        Changeable::default()
    }

    /// The location of its data and its server on this machine.
    fn site(&self) -> Site<'_> {
        Site::default()
    }

    /// Reports the size of tables and their indexes.
    fn space(&self, _tables: &[String]) -> Result<Vec<Object>, Failure> {
        Err(lacks("the engine does not report table sizes"))
    }

    /// Applies the settings that a database file stores.
    fn set_file(&self) -> Result<(), Failure> {
        Err(lacks("the engine has no file that stores settings"))
    }

    /// Holds a lock that marks the databases with `token` in their names as in use, until `over` returns true. Calls
    /// `report` with the databases that no session holds a lock for. Fails if the token is invalid or another session
    /// holds its lock.
    fn hold_lock(
        &self,
        _token: &str,
        _report: &mut dyn FnMut(Vec<String>),
        _over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        Err(lacks("the engine has no session locks"))
    }
}

fn lacks(what: &str) -> Failure {
    Failure::new(FailureKind::Other, what)
}

/// Work to do with an engine of any type.
pub trait Measure {
    /// Its result.
    type Output;

    /// Does the work. `site`: the location of the system, for the machine's probes.
    fn measure<E: Engine>(self, engine: &E, site: Site<'_>) -> Self::Output;
}

/// The location of a system on this machine. Empty if it is remote.
#[derive(Debug, Clone, Copy, Default)]
pub struct Site<'a> {
    /// A file or directory on the device that stores the data.
    pub storage: Option<&'a Path>,
    /// The main process of the server.
    pub server: Option<u32>,
    /// Byte ranges of the files at `storage` that other programs can lock.
    pub locks: &'static [LockRange],
}

/// Why a check didn't pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It failed: expected and actual behavior.
    Failed(String),
    /// It doesn't apply to this system, with the reason.
    NotApplicable(String),
}

/// Result of a check.
pub type Outcome = Result<(), Problem>;

/// Receives the name and result of each check.
pub type Tell<'a> = &'a mut dyn FnMut(&str, &Outcome);

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failed(format!("failed ({:?}): {failure}", failure.kind))
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("the check's plan is invalid: {error}"))
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
