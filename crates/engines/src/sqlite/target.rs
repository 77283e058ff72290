//! What a plan says of SQLite.

use crate::os_cache::OsCache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A SQLite library, a file, and how each client opens it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqliteTarget {
    /// The database file.
    pub path: String,
    /// A shared library to load in place of the bundled one.
    #[serde(default)]
    pub library: Option<String>,
    /// The open flag for the page cache; left out: none is given.
    #[serde(default)]
    pub cache: Option<SqliteCache>,
    /// The open flag for the connection's mutex; left out: none is given.
    #[serde(default)]
    pub open_mutex: Option<SqliteMutex>,
    /// The threading mode set by `sqlite3_config` before the library starts; left out: none is set.
    #[serde(default)]
    pub config_threading: Option<SqliteThreading>,
    /// Milliseconds a connection waits for a lock.
    #[serde(default)]
    pub busy_timeout_ms: u32,
    /// PRAGMAs in the order they are given to each new connection: name and value.
    #[serde(default)]
    pub pragmas: Vec<(String, String)>,
    /// PRAGMAs that the file keeps: `set_file` gives them to it, and no connection is given them again.
    #[serde(default)]
    pub file_pragmas: Vec<(String, String)>,
    /// SQLite's authorizer denies the clients' statements, and those that load, what leads out of the file.
    #[serde(default)]
    pub confined: bool,
    /// The state the operating system's cache of the file is brought into before the trial.
    #[serde(default)]
    pub os_cache: OsCache,
}

impl SqliteTarget {
    /// An empty database in memory, of the bundled library.
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
    /// Each connection has a page cache of its own.
    Private,
    /// The connections of the process share one.
    Shared,
}

/// `SQLITE_OPEN_NOMUTEX` or `SQLITE_OPEN_FULLMUTEX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteMutex {
    /// The connection has no mutex of its own ("multi-thread").
    Nomutex,
    /// The connection has one ("serialized").
    Fullmutex,
}

/// `SQLITE_CONFIG_SINGLETHREAD`, `SQLITE_CONFIG_MULTITHREAD` or `SQLITE_CONFIG_SERIALIZED`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqliteThreading {
    /// No mutex at all.
    Single,
    /// The library is safe, a connection is not.
    Multi,
    /// Both are safe.
    Serialized,
}
