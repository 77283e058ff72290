//! What a plan says of DuckDB.

use crate::os_cache::OsCache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A DuckDB library, a file, and how it is opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuckdbTarget {
    /// The database file.
    pub path: String,
    /// The shared library, which exports DuckDB's C interface.
    pub library: String,
    /// Settings that the database is opened with: name and value.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// DuckDB denies the statements what leads out of the file.
    #[serde(default)]
    pub confined: bool,
    /// The state the operating system's cache of the file is brought into before the trial.
    #[serde(default)]
    pub os_cache: OsCache,
}
