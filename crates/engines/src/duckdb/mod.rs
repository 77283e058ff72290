//! DuckDB, as a shared library in the worker's own process.
//!
//! Its library is found at run time, so that the worker needs none to be built. One database is opened for all sessions;
//! each is a connection to it. DuckDB runs a statement in the thread that asks for it and in threads of its own.

mod api;
mod bulk;
mod calls;
mod check;
mod confinement;
mod driver;
mod estimates;
mod inspect;
mod kinds;
mod reach;
mod result;
mod session;
mod target;
mod writes;

pub use session::DuckdbSession;
pub use target::DuckdbTarget;

use crate::sql_text::Dialect;
use crate::tokens::Syntax;
use api::{Api, Handle, OK};
use dbdyno_engine::observed::{Backlog, Counters};
use dbdyno_engine::probe::{Probe, ThreadCounters};
use dbdyno_engine::{Engine, Facts, Failure};
use dbdyno_plan::document::{FailureKind, PrepareMode, Statement};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The lexical rules of DuckDB.
pub(crate) const SYNTAX: Syntax = Syntax {
    escape_and_dollar_strings: true,
    nested_comments: true,
    ..Syntax::STANDARD
};

/// How its statements are written.
const DIALECT: Dialect = Dialect {
    bytes: ("unhex('", "')"),
    not_finite: ["'nan'::double", "'inf'::double", "'-inf'::double"],
    ..Dialect::STANDARD
};

/// An open database.
struct Database {
    api: Api,
    handle: Handle,
    target: DuckdbTarget,
}

/// Those that are open. A file that a process opened twice would be two databases to it, each with changes of its own.
static OPEN: Mutex<Vec<Weak<Database>>> = Mutex::new(Vec::new());

// SAFETY: DuckDB's databases may be used by several threads; each connection is used by one at a time.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// The database of a target, which is opened if it is not yet.
    fn of(target: &DuckdbTarget) -> Result<Arc<Self>, Failure> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|database| database.strong_count() > 0);
        let same = |database: &Arc<Self>| database.target.path == target.path && !bulk::in_memory(&target.path);
        if let Some(database) = open.iter().filter_map(Weak::upgrade).find(same) {
            if database.target.settings == target.settings {
                return Ok(database);
            }
            let what = format!("opening {}: it is open with other settings", target.path);
            return Err(Failure::new(FailureKind::Connection, what));
        }
        let database = Arc::new(Self::open(target)?);
        open.push(Arc::downgrade(&database));
        Ok(database)
    }

    fn open(target: &DuckdbTarget) -> Result<Self, Failure> {
        let api = Api::load(&target.library)?;
        let failed = |what: String| Failure::new(FailureKind::Connection, format!("opening {}: {what}", target.path));
        let path = text_for_c(&target.path)?;
        let mut config = null_mut();
        let mut handle = null_mut();
        let mut problem: *mut c_char = null_mut();
        // SAFETY: each function is given what it asks for, and the configuration is destroyed on every way out.
        unsafe {
            if (api.create_config)(&raw mut config) != OK {
                return Err(failed("no configuration could be made".into()));
            }
            // A statement must not download code. Libraries without the setting have no extensions to install either.
            (api.set_config)(config, c"autoinstall_known_extensions".as_ptr(), c"false".as_ptr());
            for (name, value) in &target.settings {
                if (api.set_config)(config, text_for_c(name)?.as_ptr(), text_for_c(value)?.as_ptr()) != OK {
                    (api.destroy_config)(&raw mut config);
                    return Err(failed(format!("there is no setting {name} = {value}")));
                }
            }
            let state = (api.open_ext)(path.as_ptr(), &raw mut handle, config, &raw mut problem);
            (api.destroy_config)(&raw mut config);
            if state != OK {
                let why = text_of(problem).unwrap_or_else(|| "it says no reason".into());
                (api.free)(problem.cast());
                return Err(failed(why));
            }
        }
        let target = target.clone();
        Ok(Self { api, handle, target })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: all connections hold the database, so that none is left.
        unsafe { (self.api.close)(&raw mut self.handle) };
    }
}

/// A database and the statements its sessions run.
pub struct DuckdbEngine {
    database: Arc<Database>,
    statements: Arc<[Statement]>,
    prepare: PrepareMode,
    watched: bool,
}

impl DuckdbEngine {
    /// Loads the library and opens the file. `watched`: what it asks of the file system is counted and timed.
    pub fn new(
        target: &DuckdbTarget,
        statements: &[Statement],
        prepare: PrepareMode,
        watched: bool,
    ) -> Result<Self, Failure> {
        let database = Database::of(target)?;
        if watched {
            calls::watch(database.api.library_version as *const _)?;
        }
        Ok(Self {
            database,
            statements: statements.into(),
            prepare,
            watched,
        })
    }

    fn open(&self) -> Result<DuckdbSession, Failure> {
        DuckdbSession::open(&self.database, &self.statements, self.prepare)
    }
}

impl Engine for DuckdbEngine {
    type Session = DuckdbSession;

    // All share those of the one instance.
    const FILES: u32 = 0;

    async fn connect(&self, _client: u32) -> Result<DuckdbSession, Failure> {
        self.open()
    }

    fn facts(&self) -> Result<Facts, Failure> {
        inspect::facts(self)
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for DuckdbEngine {
    fn thread_counters(&self) -> ThreadCounters {
        calls::counters()
    }

    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        let log = std::fs::metadata(format!("{}.wal", self.database.target.path)).map_or(0, |log| log.len());
        Some(Ok(Backlog::from([("log_bytes_since_checkpoint", log as f64)])))
    }

    fn counters(&self) -> Option<Result<Counters, Failure>> {
        self.watched
            .then(|| Ok(Counters::from([("syncs", calls::syncs() as f64)])))
    }
}

/// The kind under which an error is counted, by its type (`duckdb_error_type`) and its words.
fn kind(code: c_int, message: &str) -> FailureKind {
    const TRANSACTION: c_int = 10;
    const SERIALIZATION: c_int = 9;
    const CONSTRAINT: c_int = 18;
    const INTERRUPT: c_int = 29;
    match code {
        // Another transaction changed the row; of the others of this type, none is about two transactions.
        TRANSACTION if message.to_lowercase().contains("conflict") => FailureKind::Serialization,
        SERIALIZATION => FailureKind::Serialization,
        CONSTRAINT => FailureKind::Constraint,
        INTERRUPT => FailureKind::Timeout,
        _ => FailureKind::Other,
    }
}

/// A text that ends as C's do.
fn text_for_c(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::new(FailureKind::Other, "a text has a zero byte"))
}

/// A pointer of C to text, for messages.
///
/// # Safety
/// It is null, or a C string.
unsafe fn text_of(pointer: *const c_char) -> Option<String> {
    // SAFETY: the caller says so.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
