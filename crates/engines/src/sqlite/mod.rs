//! SQLite, as a library in the worker's process.

mod api;
mod bulk;
mod catalog;
mod check;
mod copies;
mod counters;
mod driver;
mod external_access;
mod file;
mod fixed_vfs;
mod inspect;
mod mutex;
mod observe;
mod session;
mod space;
mod target;
mod vfs;
mod writes;

pub use session::{CountedEngine, SqliteSession};
pub use target::SqliteTarget;

use crate::tokens::Syntax;
use api::Api;
use copies::Copies;
use dbdyno_engine::observed::Backlog;
use dbdyno_engine::probe::{Contention, Probe, Slices, ThreadCounters};
use dbdyno_engine::{Engine, Facts, Failure};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::sync::Arc;
use target::{SqliteCache, SqliteMutex, SqliteThreading};

/// Lexical rules of SQLite.
pub(crate) const SYNTAX: Syntax = Syntax {
    backticks: true,
    brackets: true,
    open_comments: true,
    ..Syntax::STANDARD
};

/// Busy timeout in milliseconds of connections that aren't measured. Several processes may inspect a file at the same
/// time, and the last one to close it blocks the others briefly.
const PATIENCE_MS: u32 = 10_000;

/// What to observe in the engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch {
    /// Count and time its file system calls.
    pub io: bool,
    /// Also delay these calls, if the trial changes them. Requires `io`.
    pub changes: bool,
    /// When to time contended mutexes.
    pub mutexes: WatchMutexes,
}

/// When to time contended mutexes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WatchMutexes {
    /// Never: the library's mutexes stay unchanged.
    #[default]
    Never,
    /// In random time slices.
    Sampled,
    /// All the time.
    Always,
}

/// A SQLite library, configured, and a file.
pub struct SqliteEngine {
    api: &'static Api,
    target: SqliteTarget,
    path: CString,
    statements: Arc<[Statement]>,
    prepare: PrepareMode,
    watch: Watch,
    /// Files of clients that have a copy.
    copies: Copies,
}

impl SqliteEngine {
    /// Loads and configures the library. One engine per process, because SQLite's configuration is global.
    #[inline]
    pub fn new(
        target: &SqliteTarget,
        statements: &[Statement],
        prepare: PrepareMode,
        watch: Watch,
    ) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(FailureKind::Connection, message);
        // One library per process, never unloaded.
        let api: &'static Api = Box::leak(Box::new(match &target.library {
            Some(path) => Api::load(Path::new(path))?,
            None => Api::bundled(),
        }));
        let path = CString::new(target.path.as_str())
            .map_err(|_| wrong("the database's path contains a NUL character".into()))?;
        if let Some(mode) = target.config_threading {
            let (option, name) = match mode {
                SqliteThreading::Single => (ffi::SQLITE_CONFIG_SINGLETHREAD, "single"),
                SqliteThreading::Multi => (ffi::SQLITE_CONFIG_MULTITHREAD, "multi"),
                SqliteThreading::Serialized => (ffi::SQLITE_CONFIG_SERIALIZED, "serialized"),
            };
            // SAFETY: these options take no argument, and the library has not been used yet.
            let code = unsafe { (api.config)(option) };
            if code != ffi::SQLITE_OK {
                let reason = "the library was compiled without mutexes (SQLITE_THREADSAFE=0)";
                return Err(wrong(format!(
                    "config_threading = {name}: the library refuses it (code {code}): {reason}"
                )));
            }
        }
        let mut engine = Self {
            api,
            target: target.clone(),
            path,
            statements: statements.into(),
            prepare,
            watch,
            copies: Copies::default(),
        };
        // SAFETY: it only reads a constant of the library.
        let has_mutexes = unsafe { (engine.api.threadsafe)() } != 0;
        if !has_mutexes || target.config_threading == Some(SqliteThreading::Single) {
            engine.watch.mutexes = WatchMutexes::Never;
        }
        if engine.watch.mutexes != WatchMutexes::Never {
            mutex::install(engine.api, engine.watch.mutexes == WatchMutexes::Always)?;
        }
        if watch.io {
            vfs::register(engine.api, watch.changes)?;
        }
        Ok(engine)
    }

    /// Opens a connection like a client's.
    fn open(&self) -> Result<SqliteSession, Failure> {
        self.open_file(&self.path)
    }

    fn open_file(&self, path: &CStr) -> Result<SqliteSession, Failure> {
        let mut session = SqliteSession::open(self, path, self.target.busy_timeout_ms)?;
        if self.target.confined {
            session.confine();
        }
        Ok(session)
    }

    /// Opens a connection that isn't measured, with a longer busy timeout than the clients'.
    fn open_patiently(&self) -> Result<SqliteSession, Failure> {
        SqliteSession::open(self, &self.path, self.target.busy_timeout_ms.max(PATIENCE_MS))
    }

    fn open_flags(&self) -> c_int {
        let mut flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_URI;
        flags |= match self.target.cache {
            None => 0,
            Some(SqliteCache::Private) => ffi::SQLITE_OPEN_PRIVATECACHE,
            Some(SqliteCache::Shared) => ffi::SQLITE_OPEN_SHAREDCACHE,
        };
        flags
            | match self.target.open_mutex {
                None => 0,
                Some(SqliteMutex::Nomutex) => ffi::SQLITE_OPEN_NOMUTEX,
                Some(SqliteMutex::Fullmutex) => ffi::SQLITE_OPEN_FULLMUTEX,
            }
    }
}

impl Engine for SqliteEngine {
    type Session = SqliteSession;

    // The database and its log.
    const FILES: u32 = 2;

    async fn connect(&self, client: u32) -> Result<SqliteSession, Failure> {
        match self.copies.of(client) {
            Some(own) => self.open_file(&own),
            None => self.open(),
        }
    }

    fn facts(&self) -> Result<Facts, Failure> {
        inspect::facts(self)
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

impl Probe for SqliteEngine {
    fn thread_counters(&self) -> ThreadCounters {
        counters::counters()
    }

    fn reset_contention(&self) {
        mutex::reset();
    }

    fn contention(&self) -> Option<Contention> {
        if self.watch.mutexes == WatchMutexes::Never {
            return None;
        }
        mutex::contention()
    }

    fn backlog(&self) -> Option<Result<Backlog, Failure>> {
        Some(Ok(observe::backlog(&self.target.path, self.watch.io)))
    }

    fn slices(&self) -> Option<Slices> {
        (self.watch.mutexes == WatchMutexes::Sampled).then_some(mutex::SLICES)
    }

    fn watch(&self, on: bool) {
        if self.watch.mutexes != WatchMutexes::Never {
            mutex::watch(on);
        }
    }

    fn add_contention(&self, window: &ThreadCounters) {
        mutex::add_total(window.mutex_waits, window.mutex_ns);
    }
}

/// Maps a result code (its lowest byte) to a failure kind.
fn kind(code: c_int) -> FailureKind {
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => FailureKind::Locked,
        ffi::SQLITE_CONSTRAINT => FailureKind::Constraint,
        ffi::SQLITE_INTERRUPT => FailureKind::Timeout,
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_NOTADB => FailureKind::Connection,
        _ => FailureKind::Other,
    }
}
