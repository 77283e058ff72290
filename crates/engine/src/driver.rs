//! What an engine's folder gives the worker: a type that a plan's target is read into, which is its [`Driver`].

use crate::changes::Changeable;
use crate::rows::Loaded;
use crate::space::Object;
use crate::writes::Writes;
use crate::{Engine, Facts, Failure};
use dbdyno_plan::document::{self, FailureKind, Load, Trial};
use dbdyno_probes::locks::LockRange;
use dbdyno_program::Programs;
use std::path::Path;

/// An engine as the worker drives it: how sessions to a target are opened, its tables filled, its statements asked about.
///
/// What an engine must have has no default. What only some have is refused by default, with the reason.
pub trait Driver {
    /// Makes the target ready for a trial, and has its engine measured.
    fn measure<M: Measure>(&self, trial: &Trial, measure: M) -> Result<M::Output, Failure>;

    /// Reads back what the system is: version, settings in force, durability.
    fn facts(&self) -> Result<Facts, Failure>;

    /// Creates tables and fills them.
    fn load(&self, load: &Load, seed: u64) -> Result<Vec<Loaded>, Failure>;

    /// Tells of each statement whether it is known to be a read, and executes none. `programs`: the compiled transactions of the
    /// task.
    fn writes(&self, task: &document::Writes, programs: &Programs, seed: u64) -> Result<Vec<Writes>, Failure>;

    /// Tells of each statement why it leads beyond the database of the target, if it does. `own`: the databases that were made
    /// for the statements.
    fn reach(&self, own: &[String], statements: &[String]) -> Result<Vec<Option<String>>, Failure>;

    /// Makes the checks of the contract suite on the target, and tells of each as it ends.
    fn check(&self, _tell: Tell<'_>) -> Result<(), Failure> {
        Err(lacks("the engine answers nothing that could be checked"))
    }

    /// Which kinds of calls its own layers can delay, where a trial asks for that.
    fn changeable(&self) -> Changeable {
        Changeable::default()
    }

    /// Where its data lie and its server runs, as far as that is on this machine.
    fn site(&self) -> Site<'_> {
        Site::default()
    }

    /// Tells the space that tables and their indexes take.
    fn space(&self, _tables: &[String]) -> Result<Vec<Object>, Failure> {
        Err(lacks("the engine does not tell how large its tables are"))
    }

    /// Gives the database file the settings that it keeps.
    fn set_file(&self) -> Result<(), Failure> {
        Err(lacks("the engine has no file that keeps settings"))
    }

    /// Holds a lock that stands for the databases whose names have a token, until it is `over`. Tells `say` the names of the
    /// databases that no session holds a lock for. Fails for a token that is none, or that another session holds.
    fn hold(&self, _token: &str, _say: &mut dyn FnMut(Vec<String>), _over: &dyn Fn() -> bool) -> Result<(), Failure> {
        Err(lacks("the engine has no locks that belong to sessions"))
    }
}

fn lacks(what: &str) -> Failure {
    Failure::new(FailureKind::Other, what)
}

/// What is done with an engine, whichever it is.
pub trait Measure {
    /// What comes of it.
    type Output;

    /// Does it. `site`: where the machine's probes find the system.
    fn measure<E: Engine>(self, engine: &E, site: Site<'_>) -> Self::Output;
}

/// Where a system is on this machine; nothing of it, where it is elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct Site<'a> {
    /// A file or a directory on the device that holds the data.
    pub storage: Option<&'a Path>,
    /// The main process of the server.
    pub server: Option<u32>,
    /// Bytes of the files at `storage` by which other programs can lock the data.
    pub locks: &'static [LockRange],
}

/// Why a check gave no yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It does not hold: what was expected, and what was seen.
    Failed(String),
    /// It cannot be made on this system: why.
    NotApplicable(String),
}

/// How a check ended.
pub type Outcome = Result<(), Problem>;

/// Is told of each check: its name, and how it ended.
pub type Tell<'a> = &'a mut dyn FnMut(&str, &Outcome);

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failed(format!("it failed ({:?}): {failure}", failure.kind))
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("a plan of the check's own is wrong: {error}"))
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
