//! The SQLite target of a plan.

use crate::os_cache::OsCache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A SQLite library, a file, and how each client opens it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqliteTarget {
    /// The database file.
    pub path: String,
    /// A shared library to load instead of the bundled one.
    #[serde(default)]
    pub library: Option<String>,
    /// The open flag for the page cache, if any.
    #[serde(default)]
    pub cache: Option<SqliteCache>,
    /// The open flag for the connection's mutex, if any.
    #[serde(default)]
    pub open_mutex: Option<SqliteMutex>,
    /// The threading mode to set with `sqlite3_config` before the library starts, if any.
    #[serde(default)]
    pub config_threading: Option<SqliteThreading>,
    /// Busy timeout of a connection in milliseconds.
    #[serde(default)]
    pub busy_timeout_ms: u32,
    /// PRAGMAs to run in this order on each new connection: name and value.
    #[serde(default)]
    pub pragmas: Vec<(String, String)>,
    /// PRAGMAs that the file stores: `set_file` sets them once, and connections don't repeat them.
    #[serde(default)]
    pub file_pragmas: Vec<(String, String)>,
    /// Use SQLite's authorizer to deny access outside the file, for clients' statements and for loading.
    #[serde(default)]
    pub confined: bool,
    /// The state of the operating system's cache of the file at the start of the trial.
    #[serde(default)]
    pub os_cache: OsCache,
}

impl SqliteTarget {
    /// An empty in-memory database with the bundled library.
    pub(super) fn in_memory() -> Self {
        Self {
            path: ":memory:".to_owned(),
            library: None,
            cache: None,
            open_mutex: None,
            config_threading: None,
            busy_timeout_ms: 0,
            pragmas: Vec::new(),
            file_pragmas: Vec::new(),
            confined: false,
            os_cache: OsCache::default(),
        }
    }
}

/// `SQLITE_OPEN_PRIVATECACHE` or `SQLITE_OPEN_SHAREDCACHE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteCache {
    /// Each connection has its own page cache.
    Private,
    /// The connections of a process share one page cache.
    Shared,
}

/// `SQLITE_OPEN_NOMUTEX` or `SQLITE_OPEN_FULLMUTEX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteMutex {
    /// Connections have no mutex ("multi-thread").
    Nomutex,
    /// Connections have a mutex ("serialized").
    Fullmutex,
}

/// `SQLITE_CONFIG_SINGLETHREAD`, `SQLITE_CONFIG_MULTITHREAD` or `SQLITE_CONFIG_SERIALIZED`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteThreading {
    /// No mutex at all.
    Single,
    /// The library is thread-safe, connections are not.
    Multi,
    /// The library and connections are thread-safe.
    Serialized,
}
