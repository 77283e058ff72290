//! DuckDB, as a shared library in the worker's process.
//!
//! The library is loaded at run time, so the worker can be built without it. All sessions share one open database, and
//! each is a connection to it. DuckDB runs a statement in the calling thread and in threads of its own.

mod api;
mod bulk;
mod calls;
mod check;
mod confinement;
mod driver;
mod estimates;
mod external_access;
mod inspect;
mod result;
mod session;
mod statement_types;
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
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Lexical rules of DuckDB.
pub(crate) const SYNTAX: Syntax = Syntax {
    escape_and_dollar_strings: true,
    nested_comments: true,
    ..Syntax::STANDARD
};

/// Notation of its literals.
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

/// The open databases. If a process opened a file twice, DuckDB would treat it as two independent databases.
static OPEN: Mutex<Vec<Weak<Database>>> = Mutex::new(Vec::new());

// SAFETY: several threads may use a DuckDB database; each connection is used by one thread at a time.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// The database of a target, opened if necessary.
    fn of(target: &DuckdbTarget) -> Result<Arc<Self>, Failure> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|database| database.strong_count() > 0);
        let same = |database: &Arc<Self>| database.target.path == target.path && !bulk::in_memory(&target.path);
        if let Some(database) = open.iter().filter_map(Weak::upgrade).find(same) {
            if database.target.settings == target.settings {
                return Ok(database);
            }
            let what = format!("cannot open {}: it is already open with other settings", target.path);
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
        // SAFETY: each function receives valid arguments, and the configuration is destroyed on every path.
        unsafe {
            if (api.create_config)(&raw mut config) != OK {
                return Err(failed("cannot create a configuration".into()));
            }
            // A statement must not download code. Libraries without this setting cannot install extensions.
            (api.set_config)(config, c"autoinstall_known_extensions".as_ptr(), c"false".as_ptr());
            for (name, value) in &target.settings {
                if (api.set_config)(config, text_for_c(name)?.as_ptr(), text_for_c(value)?.as_ptr()) != OK {
                    (api.destroy_config)(&raw mut config);
                    return Err(failed(format!("DuckDB refused the setting {name} = {value}")));
                }
            }
            let state = (api.open_ext)(path.as_ptr(), &raw mut handle, config, &raw mut problem);
            (api.destroy_config)(&raw mut config);
            if state != OK {
                let why = text_of(problem).unwrap_or_else(|| "no reason given".into());
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
        // SAFETY: all connections hold a reference to the database, so none is left.
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
    /// Loads the library and opens the file. `watched`: count and time its file system calls.
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

    // All sessions share the descriptors of the one instance.
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

/// Maps an error to a failure kind by its type (`duckdb_error_type`) and message.
fn kind(code: c_int, message: &str) -> FailureKind {
    const TRANSACTION: c_int = 10;
    const SERIALIZATION: c_int = 9;
    const CONSTRAINT: c_int = 18;
    const INTERRUPT: c_int = 29;
    match code {
        // Conflict with another transaction; no other TRANSACTION error involves a second one.
        TRANSACTION if message.to_lowercase().contains("conflict") => FailureKind::Serialization,
        SERIALIZATION => FailureKind::Serialization,
        CONSTRAINT => FailureKind::Constraint,
        INTERRUPT => FailureKind::Timeout,
        _ => FailureKind::Other,
    }
}

/// A NUL-terminated string.
fn text_for_c(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::new(FailureKind::Other, "a string contains a NUL character"))
}

/// Copies a C string, for messages.
///
/// # Safety The pointer is null or a C string.
unsafe fn text_of(pointer: *const c_char) -> Option<String> {
    // SAFETY: guaranteed by the caller.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
